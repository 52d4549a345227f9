//! Host functions that switch to a stack of a bag.

use super::*;

const BAG: &str = r#"(module
    (rec
      (type $ping (stack (param i32) (ref null $pong)))
      (type $pong (stack (param i32) (ref null $ping))))
    (type $bound (stack (ref null $pong))) (type $rest (stack (ref null $ping)))
    (type $f (func (param i32) (result i32))) (type $k (cont $f)) (type $s (struct (field i32)))
    (import "host" "swap" (func $swap (param (ref null $ping) i32) (result i32 (ref null $ping))))
    (elem declare func $inside)
    (tag $thrown (param i32 (ref null $ping)))

    ;; Sends ten times its number, and with zero retires.
    (func $tens (param $x i32) (param $back (ref null $pong)) (local $all (ref null $s))
      (loop $more
        (if (i32.eqz (local.get $x))
          (then (switch_retire $pong (i32.const 1000) (local.get $back))))
        (local.set $all (struct.new $s (i32.mul (local.get $x) (i32.const 10))))
        (switch $pong (struct.get $s 0 (local.get $all)) (local.get $back))
        (local.set $back) (local.set $x) (br $more)))
    (func $run (export "run") (param $x i32) (result i32)
      (local $stack (ref null $ping)) (local $sum i32) (local $mine (ref $s))
      (local.set $mine (struct.new $s (i32.const 1)))
      (local.set $stack (stack.new $ping $tens))
      (loop $more
        (call $swap (local.get $stack) (local.get $x))
        (local.set $stack)
        (local.set $sum (i32.add (local.get $sum)))
        (if (i32.eqz (ref.is_null (local.get $stack)))
          (then (local.set $x (i32.sub (local.get $x) (i32.const 1))) (br $more))))
      (i32.add (local.get $sum) (struct.get $s 0 (local.get $mine))))
    ;; The same in a continuation on a stack of the bag.
    (func $inside (param i32) (result i32) (call $run (local.get 0)))
    (func $deep (param $x i32) (param $back (ref null $pong))
      (switch_retire $pong
        (resume $k (local.get $x) (cont.new $k (ref.func $inside)))
        (local.get $back)))
    (func (export "deep") (param i32) (result i32)
      (switch $ping (local.get 0) (stack.new $ping $deep)) (drop))
    (func (export "deep stack") (result (ref $ping)) (stack.new $ping $deep))

    ;; The stack that is left is continued by an exception, and with a value that was bound.
    (func $throws (param $x i32) (param $back (ref null $pong))
      (switch_throw $pong $thrown (i32.const 77) (local.get $back)) (drop) (drop))
    (func (export "thrown into") (result i32)
      (block $caught (result i32 (ref null $ping))
        (try_table (catch $thrown $caught)
          (call $swap (stack.new $ping $throws) (i32.const 0)) (drop) (drop))
        (unreachable))
      (drop))
    (func $binds (param $x i32) (param $back (ref null $pong))
      (switch_retire $rest (stack.bind $pong $rest (i32.const 88) (local.get $back))))
    (func (export "bound") (result i32)
      (call $swap (stack.new $ping $binds) (i32.const 0)) (drop))
    (func $clones (param $x i32) (param $back (ref null $pong))
      (switch_retire $pong (i32.const 1) (stack.clone $pong (local.get $back))))
    (func (export "cloned") (result i32)
      (call $swap (stack.new $ping $clones-inside) (i32.const 0)) (drop))
    (func $clones-inside (param $x i32) (param $back (ref null $pong))
      (call $swap (stack.new $ping $clones) (i32.const 0)) (drop) (drop)
      (switch_retire $pong (i32.const 1) (local.get $back)))

    ;; Keeps the stack that is left beyond the call of the host.
    (global $kept (mut (ref null $pong)) (ref.null $pong))
    (func $keeps (param $x i32) (param $back (ref null $pong))
      (global.set $kept (local.get $back))
      (unreachable))
    (func (export "keeps") (result i32)
      (call $swap (stack.new $ping $keeps) (i32.const 0)) (drop))
    (func (export "to the kept one") (result i32)
      (switch $pong (i32.const 0) (global.get $kept)) (drop) (drop) (i32.const 0))
    (func (export "null") (result i32) (call $swap (ref.null $ping) (i32.const 0)) (drop)))"#;

fn swap(values: &[Val]) -> Result<()> {
    let [Val::ContRef(stack), x] = values else { panic!("{values:?}") };
    let stack = stack.ok_or_else(|| Error::msg("null"))?;
    Err(Suspension::switch_to(stack, &[*x]).into())
}

fn setup(engine: &Engine) -> (Store<()>, Instance) {
    let module = Module::new(engine, BAG).unwrap();
    let mut linker = Linker::new(engine);
    linker.host_new("swap", import_type(&module), |_, values, _| swap(values));
    start_with(&linker, (), &module)
}

fn import_type(module: &Module) -> FuncType {
    match module.imports().next().map(|import| import.ty().clone()) {
        Some(ExternType::Func(ty)) => ty,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_host_function_switches_from_the_root() {
    for (mut store, instance) in traced_too().iter().map(setup) {
        // 40 + 30 + 20 + 10 + 1000 + 1
        assert_eq!(number(&mut store, instance, "run", &[4]).unwrap(), 1101);
        check_live(&mut store, 0);
    }
}

#[test]
fn a_host_function_switches_from_a_stack_with_others_on_it() {
    for (mut store, instance) in traced_too().iter().map(setup) {
        assert_eq!(number(&mut store, instance, "deep", &[4]).unwrap(), 1101);
        check_live(&mut store, 0);
    }
}

#[test]
fn a_stack_that_was_left_continues_in_another_activation() {
    // The host function switches to a stack that keeps its caller, which the host then continues.
    let text = r#"(module
        (rec
          (type $ping (stack (param i32) (ref null $pong)))
          (type $pong (stack (param i32) (ref null $ping))))
        (import "host" "swap" (func $swap (param (ref null $ping) i32) (result i32 (ref null $ping))))
        (global $kept (mut (ref null $pong)) (ref.null $pong))
        (global $host (mut (ref null $pong)) (ref.null $pong))
        (func $keeps (param $x i32) (param $back (ref null $pong))
          (global.set $kept (local.get $back))
          (switch_retire $pong (i32.const -1) (global.get $host)))
        (func $body (param $x i32) (param $back (ref null $pong))
          (global.set $host (local.get $back))
          (call $swap (stack.new $ping $keeps) (i32.const 0))
          (drop) (local.set $x (i32.add (local.get $x)))
          (switch_retire $pong (local.get $x) (global.get $host)))
        (func (export "new") (result (ref $ping)) (stack.new $ping $body))
        (func (export "finish") (param i32) (result i32)
          (switch $ping (i32.const 0) (stack.new $ping $finish)) (drop))
        (func $finish (param $x i32) (param $back (ref null $pong))
          (global.set $host (local.get $back))
          (switch_retire $pong (i32.const 500) (global.get $kept))))"#;
    for engine in traced_too() {
        let module = Module::new(&engine, text).unwrap();
        let mut linker = Linker::new(&engine);
        linker.host_new("swap", import_type(&module), |_, values, _| swap(values));
        let (mut store, instance) = start_with(&linker, (), &module);
        let stack: BagStack = get(&mut store, instance, "new");
        let Switched { values, from } = stack.switch(&mut store, &[Val::I32(7)]).unwrap();
        assert!(from.is_none());
        assert_eq!(i32s(&values), [-1]);
        disturb(&mut store);
        assert_eq!(store.stack_statistics().live, 1);
        assert_eq!(number(&mut store, instance, "finish", &[0]).unwrap(), 507);
        check_live(&mut store, 0);
    }
}

#[test]
fn a_call_that_was_left_gets_exceptions_and_bound_values() {
    for (mut store, instance) in traced_too().iter().map(setup) {
        assert_eq!(call_i32(&mut store, instance, "thrown into"), 77);
        assert_eq!(call_i32(&mut store, instance, "bound"), 88);
        check_live(&mut store, 0);
    }
}

#[test]
fn a_call_that_was_left_cannot_be_copied() {
    for (mut store, instance) in traced_too().iter().map(setup) {
        traps(number(&mut store, instance, "cloned", &[]), TrapCode::NotCopied);
        check_live(&mut store, 0);
    }
}

#[test]
fn a_root_that_was_left_ends_with_its_activation() {
    for (mut store, instance) in traced_too().iter().map(setup) {
        traps(number(&mut store, instance, "keeps", &[]), TrapCode::Unreachable);
        traps(number(&mut store, instance, "to the kept one", &[]), TrapCode::StackUsed);
        fails_with(number(&mut store, instance, "null", &[]), "null");
        assert_eq!(number(&mut store, instance, "run", &[1]).unwrap(), 1011);
        check_live(&mut store, 0);
    }
}

#[test]
fn values_of_other_types_are_refused() {
    let text = r#"(module
        (type $end (stack (ref null $end)))
        (import "host" "swap" (func $swap (param (ref null $end) i32) (result i32)))
        (func $body (param $back (ref null $end)) (unreachable))
        (func (export "run") (result i32) (call $swap (stack.new $end $body) (i32.const 0))))"#;
    for engine in traced_too() {
        let module = Module::new(&engine, text).unwrap();
        let mut linker = Linker::new(&engine);
        linker.host_new("swap", import_type(&module), |_, values, _| swap(values));
        let (mut store, instance) = start_with(&linker, (), &module);
        let part = "cannot suspend with a switch to the stack: the values that come back would be";
        fails_because(number(&mut store, instance, "run", &[]), part);
        check_live(&mut store, 0);

        let module = Module::new(&engine, BAG).unwrap();
        let mut linker = Linker::new(&engine);
        linker.host_new("swap", import_type(&module), |_, values, _| {
            let [Val::ContRef(Some(stack)), _] = values else { panic!("{values:?}") };
            Err(Suspension::switch_to(*stack, &[Val::I64(1)]).into())
        });
        let (mut store, instance) = start_with(&linker, (), &module);
        let part = "in the values of a suspension";
        fails_because(number(&mut store, instance, "run", &[1]), part);
        check_live(&mut store, 0);
    }
}

#[test]
fn a_host_function_switches_to_the_root() {
    let text = r#"(module
        (rec
          (type $ping (stack (param i32) (ref null $pong)))
          (type $pong (stack (param i32) (ref null $ping))))
        (import "host" "swap" (func $swap (param (ref null $pong) i32) (result i32 (ref null $pong))))
        (func $body (param $x i32) (param $back (ref null $pong))
          (loop $more
            (call $swap (local.get $back) (i32.mul (local.get $x) (i32.const 10)))
            (local.set $back) (local.set $x)
            (br_if $more (local.get $x)))
          (switch_retire $pong (i32.const 1000) (local.get $back)))
        (func (export "run") (result i32) (local $sum i32) (local $stack (ref null $ping))
          (switch $ping (i32.const 3) (stack.new $ping $body))
          (local.set $stack) (local.set $sum)
          (switch $ping (i32.const 4) (local.get $stack))
          (local.set $stack) (local.set $sum (i32.add (local.get $sum)))
          (switch $ping (i32.const 0) (local.get $stack))
          (drop) (i32.add (local.get $sum)))
        (func (export "outer") (result i32)
          (switch $ping (i32.const 3) (stack.new $ping $body)) (drop)))"#;
    for engine in traced_too() {
        let module = Module::new(&engine, text).unwrap();
        let mut linker = Linker::new(&engine);
        linker.host_new("swap", import_type(&module), |_, values, _| swap(values));
        let (mut store, instance) = start_with(&linker, (), &module);
        assert_eq!(call_i32(&mut store, instance, "run"), 1070);
        check_live(&mut store, 0);

        // The root of another activation is behind a frame of the host.
        let (mut linker, ty) = (Linker::new(&engine), import_type(&module));
        linker.host_new("swap", ty.clone(), move |mut caller, values, results| {
            let again = Func::new(&mut caller, ty.clone(), |_, values, _| swap(values));
            again?.call(&mut caller, values, results)
        });
        let (mut store, instance) = start_with(&linker, (), &module);
        traps(number(&mut store, instance, "outer", &[]), TrapCode::AcrossHostFrame);
        check_live(&mut store, 0);
    }
}

#[test]
fn an_async_host_function_switches_after_it_has_waited() {
    for engine in traced_too() {
        let module = Module::new(&engine, BAG).unwrap();
        let mut linker = Linker::new(&engine);
        let ty = import_type(&module);
        linker
            .func_new_async("host", "swap", ty, |_, values, _| {
                Box::new(async move {
                    After(1).await;
                    swap(values)
                })
            })
            .unwrap();
        let (mut store, instance) = start_with(&linker, (), &module);
        for (name, expected) in [("run", 1061), ("deep", 1061)] {
            let run = instance.get_typed_func::<i32, i32>(&mut store, name).unwrap();
            assert_eq!(block_on(run.call_async(&mut store, 3)).unwrap(), expected);
        }
        check_live(&mut store, 0);
    }
}
