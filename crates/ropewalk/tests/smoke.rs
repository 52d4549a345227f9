use ropewalk::*;

#[test]
fn fib() -> Result<()> {
    let engine = Engine::default();
    let module = Module::new(
        &engine,
        r#"(module (func $fib (export "run") (param $n i64) (result i64)
  (if (result i64) (i64.lt_u (local.get $n) (i64.const 2)) (then (local.get $n))
   (else (i64.add (call $fib (i64.sub (local.get $n) (i64.const 1))) (call $fib (i64.sub (local.get $n) (i64.const 2)))))))
   (func $rec (export "rec") (call $rec))
   (func (export "trap") unreachable)
   (memory 1)
   (func (export "oob") (result i32) (i32.load (i32.const 65536))))"#,
    )?;
    let mut store = Store::new(&engine, ());
    let instance = Instance::new(&mut store, &module, &[])?;
    let run = instance.get_typed_func::<i64, i64>(&mut store, "run")?;
    assert_eq!(run.call(&mut store, 20)?, 6765);
    for name in ["rec", "trap", "oob"] {
        let f = instance.get_func(&mut store, name).unwrap();
        let mut r = vec![Val::I32(0); f.ty(&store)?.results().len()];
        let e = f.call(&mut store, &[], &mut r).unwrap_err();
        println!("{e:?}");
    }
    Ok(())
}
