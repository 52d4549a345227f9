//! Host functions that suspend: handled by WebAssembly and by the host, on stacks of every kind,
//! with values of every class.

use crate::common::*;
use ropewalk::*;

const MODULE: &str = r#"(module
    (import "host" "ask" (func $ask (param i32) (result i32)))
    (import "host" "tell" (func $tell
      (param i32 i64 f32 f64 i32 v128) (result i32 i64 f32 f64 i32 v128)))
    (import "host" "nothing" (func $nothing))
    (import "tags" "ask" (tag $asked (param i32) (result i32)))
    (type $s (struct (field i32))) (type $f (func (param i32) (result i32))) (type $k (cont $f))
    (type $t (task (param i32) (result i32))) (elem declare func $work $ask $inside)
    (tag $error (export "error") (param i32))

    (func $work (export "work") (param $x i32) (result i32) (local $mine (ref null $s))
      (local.set $mine (struct.new $s (i32.const 1)))
      (i32.add
        (i32.add (call $ask (local.get $x)) (call $ask (i32.const 20)))
        (struct.get $s 0 (local.get $mine))))
    (func $inside (param i32) (result i32) (resume $k (local.get 0) (cont.new $k (ref.func $work))))
    (func (export "deep") (param i32) (result i32)
      (resume $k (local.get 0) (cont.new $k (ref.func $inside))))
    (func $in-task (param $me (ref null $t)) (param i32) (result i32) (call $work (local.get 1)))
    (func (export "in a task") (param i32) (result i32)
      (task.resume $t (task.new $t $in-task) (local.get 0)))
    (func (export "the host itself") (param i32) (result i32)
      (resume $k (local.get 0) (cont.new $k (ref.func $ask))))

    ;; A scheduler in WebAssembly replies with three times the number.
    (func (export "scheduler") (param $x i32) (result i32) (local $k (ref null $k))
      (local.set $k (cont.new $k (ref.func $inside)))
      (loop $more
        (block $h (result i32 (ref $k))
          (return (resume $k (on $asked $h) (local.get $x) (local.get $k))))
        (local.set $k)
        (local.set $x (i32.mul (i32.const 3))) (br $more))
      (unreachable))
    (func (export "tells") (param i32 i64 f32 f64 i32 v128) (result i32 i64 f32 f64 i32 v128)
      (call $tell (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4)
        (local.get 5)))
    (func (export "does nothing") (result i32) (call $nothing) (i32.const 5))
    (func (export "catches") (param i32) (result i32)
      (block $h (result i32)
        (try_table (result i32) (catch $error $h) (call $work (local.get 0)))))
    (func $recurse (export "to the end of the stack") (param i32) (result i32)
      (if (i32.eqz (local.get 0)) (then (return (call $ask (i32.const 1)))))
      (i32.add (i32.const 1) (call $recurse (i32.sub (local.get 0) (i32.const 1))))))"#;

struct Setup {
    store: Store<()>,
    instance: Instance,
}

fn setup(engine: &Engine) -> Setup {
    use ValType::*;
    let module = Module::new(engine, MODULE).unwrap();
    let mut store = Store::new(engine, ());
    let mut tag = |ty: FuncType| Tag::new(&mut store, TagType { ty }).unwrap();
    let ask = tag(FuncType::new([I32], [I32]));
    let all = [I32, I64, F32, F64, I32, V128];
    let tell = tag(FuncType::new(all, all));
    let nothing = tag(FuncType::new([], []));
    let mut linker = Linker::new(engine);
    linker.define(&mut store, "tags", "ask", ask).unwrap();
    linker.host("ask", move |x: i32| -> Result<i32> {
        Err(Suspension::new(ask, &[x.into()]).into())
    });
    let ty = FuncType::new(all, all);
    linker.host_new("tell", ty, move |_, values, _| Err(Suspension::new(tell, values).into()));
    linker.host("nothing", move || -> Result<()> { Err(Suspension::new(nothing, &[]).into()) });
    let instance = linker.instantiate(&mut store, &module).unwrap();
    Setup { store, instance }
}

impl Setup {
    fn make(&mut self, name: &str) -> Continuation {
        let func = self.instance.get_func(&mut self.store, name).unwrap();
        Continuation::new(&mut self.store, func).unwrap()
    }

    /// Resumes with ten times the payload until the function returns.
    fn run(&mut self, name: &str, argument: i32) -> i32 {
        let (mut rest, mut reply) = (self.make(name), argument);
        loop {
            self.store.gc();
            match rest.resume(&mut self.store, &[Val::I32(reply)]).unwrap() {
                Resumed::Returned(values) => return values[0].i32().unwrap(),
                Resumed::Suspended { values, continuation, .. } => {
                    reply = values[0].i32().unwrap() * 10;
                    rest = continuation;
                }
            }
        }
    }

    fn check_empty(mut self) {
        check_live(&mut self.store, 0);
    }
}

#[test]
fn the_host_handles_suspensions_of_its_functions() {
    for mut setup in all_engines().iter().map(setup) {
        for name in ["work", "deep", "in a task", "catches"] {
            assert_eq!(setup.run(name, 3), 231, "{name}");
        }
        assert_eq!(setup.run("the host itself", 3), 30);
        setup.check_empty();
    }
}

#[test]
fn webassembly_handles_suspensions_of_host_functions() {
    for mut setup in all_engines().iter().map(setup) {
        let found = number(&mut setup.store, setup.instance, "scheduler", &[5]).unwrap();
        assert_eq!(found, 15 + 60 + 1);
        setup.check_empty();
    }
}

#[test]
fn values_of_every_class_become_results() {
    for mut setup in all_engines().iter().map(setup) {
        let values = [
            Val::I32(-1),
            Val::I64(-2),
            Val::F32(3),
            Val::F64(4),
            Val::I32(5),
            Val::V128(u128::MAX - 7),
        ];
        let replies =
            [Val::I32(9), Val::I64(8), Val::F32(7), Val::F64(6), Val::I32(5), Val::V128(4)];
        let rest = setup.make("tells");
        let (_, found, continuation) = suspended(rest.resume(&mut setup.store, &values));
        assert_eq!(format!("{found:?}"), format!("{values:?}"));
        let found = results(continuation.resume(&mut setup.store, &replies));
        assert_eq!(format!("{found:?}"), format!("{replies:?}"));
        let rest = setup.make("does nothing");
        let (.., continuation) = suspended(rest.resume(&mut setup.store, &[]));
        let found = results(continuation.resume(&mut setup.store, &[]));
        assert_eq!(found[0].i32(), Some(5));
        setup.check_empty();
    }
}

#[test]
fn a_host_call_that_is_suspended_shows_its_caller_and_can_be_thrown_into() {
    for mut setup in all_engines().iter().map(setup) {
        let suspended = |setup: &mut Setup, name: &str| {
            let rest = setup.make(name);
            match rest.resume(&mut setup.store, &[Val::I32(1)]).unwrap() {
                Resumed::Suspended { continuation, .. } => continuation,
                Resumed::Returned(values) => panic!("it returned {values:?}"),
            }
        };
        let rest = suspended(&mut setup, "deep");
        let backtrace = rest.backtrace(&setup.store).unwrap();
        assert_eq!(frames(&backtrace), ["work", "inside", "deep"]);
        drop(rest);
        let error = setup.instance.get_tag(&mut setup.store, "error").unwrap();
        let exception = Exception::new(&mut setup.store, error, &[Val::I32(12)]).unwrap();
        let rest = suspended(&mut setup, "catches");
        assert_eq!(returned(rest.resume_throw(&mut setup.store, &exception)), 12);
        let rest = suspended(&mut setup, "deep");
        let failed = rest.resume_throw(&mut setup.store, &exception).unwrap_err();
        assert!(failed.downcast_ref::<Exception>().is_some());
        setup.check_empty();
    }
}

#[test]
fn where_nothing_handles_the_tag_the_program_traps() {
    for mut setup in all_engines().iter().map(setup) {
        for name in ["work", "deep", "in a task"] {
            traps(number(&mut setup.store, setup.instance, name, &[1]), TrapCode::UnhandledTag);
        }
        setup.check_empty();
    }
}

#[test]
fn a_tag_that_does_not_fit_is_refused() {
    let (mut store, _) = instantiate("(module)");
    let tag = Tag::with_params(&mut store, [ValType::I32]).unwrap();
    let (mut other, _) = instantiate("(module)");
    let foreign = Tag::with_params(&mut other, []).unwrap();
    let mut failed = |tag: Tag, values: &'static [Val]| {
        let func = Func::wrap(&mut store, move || -> Result<i32> {
            Err(Suspension::new(tag, values).into())
        });
        let rest = Continuation::new(&mut store, func).unwrap();
        let error = rest.resume(&mut store, &[]).unwrap_err();
        format!("{:#}", error)
    };
    let message = failed(tag, &[Val::I32(1)]);
    assert!(
        message.contains(
            "a host function of type [] -> [i32] cannot suspend with a tag [i32] -> []: \
             the results of the tag would be its results"
        ),
        "{message}"
    );
    let message = failed(foreign, &[]);
    assert!(message.contains("a tag was used with a store"), "{message}");
    let fitting = TagType { ty: FuncType::new([ValType::I32], [ValType::I32]) };
    let fitting = Tag::new(&mut store, fitting).unwrap();
    let func = Func::wrap(&mut store, move || -> Result<i32> {
        Err(Suspension::new(fitting, &[Val::I64(1)]).into())
    });
    let rest = Continuation::new(&mut store, func).unwrap();
    fails_because(
        rest.resume(&mut store, &[]),
        "expected a value of type i32, found one of type i64",
    );
}

#[test]
fn a_full_stack_has_no_room_for_a_suspension_and_that_is_a_trap() {
    let engine =
        Engine::new(Config::new().stack_size(16 << 10).stress(|stress| stress.fail_to_grow = true))
            .unwrap();
    let mut setup = setup(&engine);
    let mut trapped = 0;
    for depth in 0..1100 {
        let rest = setup.make("to the end of the stack");
        match rest.resume(&mut setup.store, &[Val::I32(depth)]) {
            Ok(Resumed::Suspended { continuation, .. }) => {
                assert_eq!(
                    returned(continuation.resume(&mut setup.store, &[Val::I32(7)])),
                    7 + depth
                );
            }
            Ok(Resumed::Returned(values)) => panic!("it returned {values:?}"),
            Err(error) => {
                assert_eq!(trap(&error).code(), TrapCode::CallStackExhausted);
                trapped += 1;
            }
        }
    }
    assert!(0 < trapped && trapped < 1100, "{trapped}");
    setup.check_empty();
}

#[test]
fn values_are_bound_to_a_host_call_that_is_suspended() {
    let text = r#"(module
        (type $f (func (result i32))) (type $k (cont $f))
        (type $g (func (param v128) (result i32))) (type $h (cont $g))
        (import "host" "ask" (func $ask (result v128)))
        (import "tags" "ask" (tag $asked (result v128)))
        (func $body (result i32) (i32x4.extract_lane 2 (call $ask)))
        (elem declare func $body)
        (func (export "run") (result i32) (local (ref null $h))
          (block $on (result (ref $h))
            (resume $k (on $asked $on) (cont.new $k (ref.func $body)))
            (return))
          (local.set 0)
          (resume $k (cont.bind $h $k (v128.const i32x4 1 2 3 4) (local.get 0)))))"#;
    for engine in all_engines() {
        let mut store = Store::new(&engine, ());
        let ty = TagType { ty: FuncType::new([], [ValType::V128]) };
        let tag = Tag::new(&mut store, ty.clone()).unwrap();
        let mut linker = Linker::new(&engine);
        linker.define(&mut store, "tags", "ask", tag).unwrap();
        linker.host_new("ask", ty.ty, move |_, _, _| Err(Suspension::new(tag, &[]).into()));
        let module = Module::new(&engine, text).unwrap();
        let instance = linker.instantiate(&mut store, &module).unwrap();
        assert_eq!(call_i32(&mut store, instance, "run"), 3);
        check_live(&mut store, 0);
    }
}
