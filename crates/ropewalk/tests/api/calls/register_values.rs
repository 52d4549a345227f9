//! Values in registers between the host and WebAssembly, in both directions.
//!
//! They keep their order, in both register classes, also when a call waits and continues.

use crate::common::*;
use ropewalk::*;

async fn wait_and_collect(mut caller: Caller<'_, ()>) {
    After(1).await;
    caller.gc();
}

const NUMBERS: [ValType; 4] = [ValType::I32, ValType::I64, ValType::F32, ValType::F64];

/// All lists of up to three types, and some lists of four and five.
fn lists() -> Vec<Vec<ValType>> {
    let mut all = vec![vec![]];
    let mut begin = 0;
    for _ in 0..3 {
        let end = all.len();
        for list in begin..end {
            all.extend(NUMBERS.map(|ty| [all[list].clone(), vec![ty]].concat()));
        }
        begin = end;
    }
    for bits in 0..32 {
        let class = |i: u32| if bits >> i & 1 == 0 { ValType::I64 } else { ValType::F64 };
        all.push((0..4).map(class).collect());
        all.push((0..5).map(class).collect());
    }
    all
}

/// The argument at this index.
fn argument(place: usize, ty: ValType) -> Val {
    let number = place as i32 * 3 - 4;
    match ty {
        ValType::I32 => Val::I32(number),
        ValType::I64 => Val::I64(i64::from(number) << 33 | 5),
        ValType::F32 => Val::F32((number as f32 + 0.5).to_bits()),
        _ => Val::F64((f64::from(number) + 0.25).to_bits()),
    }
}

fn constant(value: &Val) -> String {
    match value {
        Val::I32(x) => format!("(i32.const {x})"),
        Val::I64(x) => format!("(i64.const {x})"),
        Val::F32(x) => format!("(f32.const {})", f32::from_bits(*x)),
        Val::F64(x) => format!("(f64.const {})", f64::from_bits(*x)),
        other => unreachable!("no constant: {other:?}"),
    }
}

/// For each parameter list, a module imports a function that returns its last argument, and exports
/// a caller named after the number of the list.
fn module(lists: &[Vec<ValType>]) -> String {
    let (mut imports, mut functions) = (String::new(), String::new());
    for (number, params) in lists.iter().enumerate() {
        let types: String = params.iter().map(|ty| format!(" {ty}")).collect();
        let result = params.last().map_or(String::new(), |ty| format!("(result {ty})"));
        let arguments: String =
            params.iter().enumerate().map(|(i, ty)| constant(&argument(i, *ty))).collect();
        imports +=
            &format!("(import \"host\" \"{number}\" (func $h{number} (param{types}) {result}))\n");
        functions +=
            &format!("(func (export \"{number}\") {result} (call $h{number} {arguments}))\n");
    }
    format!("(module {imports} {functions})")
}

/// What a host function does before it returns.
#[derive(Clone, Copy, Debug)]
enum Then {
    Returns,
    IsReady,
    Waits,
}

fn define(linker: &mut Linker<()>, number: usize, params: &[ValType], then: Then) {
    let ty = FuncType::new(params.to_vec(), params.last().copied());
    let name = number.to_string();
    let expected: Vec<_> = params.iter().enumerate().map(|(i, ty)| argument(i, *ty)).collect();
    let run = move |arguments: &[Val], results: &mut [Val]| {
        assert_eq!(format!("{arguments:?}"), format!("{expected:?}"));
        results.clone_from_slice(&arguments[arguments.len() - results.len()..]);
    };
    let defined = match then {
        Then::Returns => linker.func_new("host", &name, ty, move |_, arguments, results| {
            run(arguments, results);
            Ok(())
        }),
        Then::IsReady | Then::Waits => {
            let run = std::sync::Arc::new(run);
            linker.func_new_async("host", &name, ty, move |_, arguments, results| {
                let run = run.clone();
                Box::new(async move {
                    if let Then::Waits = then {
                        After(1).await;
                    }
                    run(arguments, results);
                    Ok(())
                })
            })
        }
    };
    defined.unwrap();
}

#[test]
fn words_of_both_classes_arrive_in_order() {
    let lists = lists();
    let text = module(&lists);
    for engine in all_engines() {
        for then in [Then::Returns, Then::IsReady, Then::Waits] {
            let mut linker = Linker::new(&engine);
            for (number, params) in lists.iter().enumerate() {
                define(&mut linker, number, params, then);
            }
            let (mut store, instance) = link(&linker, (), &text);
            for (number, params) in lists.iter().enumerate() {
                let func = instance.get_func(&mut store, &number.to_string()).unwrap();
                let expected = params.iter().enumerate().next_back();
                let expected: Vec<_> =
                    expected.map(|(i, ty)| argument(i, *ty)).into_iter().collect();
                let mut results = vec![Val::I32(0); expected.len()];
                block_on(func.call_async(&mut store, &[], &mut results)).unwrap();
                let (results, expected) = (format!("{results:?}"), format!("{expected:?}"));
                assert_eq!(results, expected, "{params:?}, {then:?}");
            }
        }
    }
}

/// Host functions with Rust types, which return the third of four parameters.
const TYPED: &str = r#"(module
    (import "host" "int" (func $int (param f64 i32 i64 f32) (result i64)))
    (import "host" "float" (func $float (param i64 f64 f32 i32) (result f32)))
    (import "host" "pause" (func $pause))
    (type $s (struct (field i64)))
    (func (export "int") (param f64 i32 i64 f32) (result i64) (local $mine (ref $s))
      (local.set $mine (struct.new $s (i64.const 1000)))
      (i64.add
        (call $int (local.get 0) (local.get 1) (local.get 2) (local.get 3))
        (struct.get $s 0 (local.get $mine))))
    (func (export "float") (param i64 f64 f32 i32) (result f32)
      (call $pause)
      (f32.add
        (call $float (local.get 0) (local.get 1) (local.get 2) (local.get 3))
        (f32.const 1000))))"#;

fn typed(engine: &Engine, waits: bool) -> (Store<()>, Instance) {
    let mut linker = Linker::new(engine);
    let int = |a: f64, b: i32, c: i64, d: f32| {
        assert_eq!((a, b, d), (0.5, -2, 4.5));
        c
    };
    let float = |a: i64, b: f64, c: f32, d: i32| {
        assert_eq!((a, b, d), (-1, 2.5, -4));
        c
    };
    if waits {
        let defined = linker.func_wrap_async("host", "int", move |caller, (a, b, c, d)| {
            Box::new(async move {
                wait_and_collect(caller).await;
                int(a, b, c, d)
            })
        });
        defined.unwrap();
        let defined = linker.func_wrap_async("host", "float", move |caller, (a, b, c, d)| {
            Box::new(async move {
                wait_and_collect(caller).await;
                float(a, b, c, d)
            })
        });
        defined.unwrap();
        let defined = linker.func_wrap_async("host", "pause", |_, ()| Box::new(After(1)));
        defined.unwrap();
    } else {
        linker.host("int", int);
        linker.host("float", float);
        linker.host("pause", || ());
    }
    link(&linker, (), TYPED)
}

#[test]
fn words_with_rusts_types_arrive_in_order() {
    for (mut store, instance) in all_engines().iter().map(|engine| typed(engine, false)) {
        assert_eq!(
            invoke::<(f64, i32, i64, f32), i64>(
                &mut store,
                instance,
                "int",
                (0.5, -2, 1 << 40, 4.5)
            )
            .unwrap(),
            (1 << 40) + 1000
        );
        let float = instance.get_typed_func::<(i64, f64, f32, i32), f32>(&mut store, "float");
        assert_eq!(float.unwrap().call(&mut store, (-1, 2.5, 3.5, -4)).unwrap(), 1003.5);
    }
}

#[test]
fn words_arrive_where_a_call_was_left() {
    for (mut store, instance) in all_engines().iter().map(|engine| typed(engine, true)) {
        let int = instance.get_typed_func::<(f64, i32, i64, f32), i64>(&mut store, "int").unwrap();
        let call = int.call_async(&mut store, (0.5, -2, 1 << 40, 4.5));
        assert_eq!(block_on(call).unwrap(), (1 << 40) + 1000);
        let float = instance.get_typed_func::<(i64, f64, f32, i32), f32>(&mut store, "float");
        let float = float.unwrap();
        assert_eq!(block_on(float.call_async(&mut store, (-1, 2.5, 3.5, -4))).unwrap(), 1003.5);
    }
}
