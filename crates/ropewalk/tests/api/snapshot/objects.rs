//! Instances, memories, tables, globals, segments and objects in snapshots.

use super::*;

#[test]
fn memories_tables_globals_and_dropped_segments_survive() {
    let source = r#"
    (module
      (memory $m (export "memory") 1 10)
      (memory $other 1) (data $d "passive") (data $gone "gone") (data (i32.const 4) "active")
      (table $t 2 20 funcref) (elem $e func $one $two) (elem (i32.const 0) $one)
      (global $i (mut i32) (i32.const 1)) (global $d (mut f64) (f64.const 0))
      (global $v (mut v128) (v128.const i64x2 0 0)) (global $f (mut funcref) (ref.null func))
      (global $constant i32 (i32.const 99))
      (func $one (result i32) (i32.const 1)) (func $two (result i32) (i32.const 2))
      (type $r (func (result i32)))
      (func (export "begin")
        (drop (memory.grow $m (i32.const 3)))
        (i32.store (i32.const 200000) (i32.const 12345))
        (i32.store $other (i32.const 100) (i32.const 5))
        (i32.store8 (i32.const 4) (i32.const 65))
        (data.drop $gone)
        (drop (table.grow $t (ref.func $two) (i32.const 3)))
        (table.set $t (i32.const 1) (ref.func $two))
        (global.set $i (i32.const 42)) (global.set $d (f64.const 2.5))
        (global.set $v (v128.const i64x2 7 8)) (global.set $f (ref.func $one)))
      (func (export "step") (result i32 i32 i32 i32 i32 i32 i32 f64 i64 i32)
        (memory.init $d (i32.const 300) (i32.const 0) (i32.const 7))
        (memory.size $m)
        (i32.load (i32.const 200000))
        (i32.load $other (i32.const 100))
        (i32.load (i32.const 4))
        (i32.load (i32.const 300))
        (table.size $t)
        (i32.add (global.get $i)
          (i32.add (call_indirect $t (type $r) (i32.const 1)) (call_indirect $t (type $r) (i32.const 4))))
        (global.get $d)
        (i64x2.extract_lane 1 (global.get $v))
        (i32.add (global.get $constant) (call_ref $r (ref.cast (ref $r) (global.get $f)))))
      (func (export "gone") (memory.init $gone (i32.const 0) (i32.const 0) (i32.const 1))))"#;
    let module = Module::new(&engine(), source).unwrap();
    let (mut store, instance) = start(&module);
    call::<()>(&mut store, instance, "begin");
    let (mut other, same) = restored(&module, &mut store, instance);
    type Seen = (i32, i32, i32, i32, i32, i32, i32, f64, i64, i32);
    let expected = (4, 12345, 5, 0x69_74_63_41, 0x73_73_61_70, 5, 46, 2.5, 8, 100);
    assert_eq!(call::<Seen>(&mut other, same, "step"), expected);
    assert_eq!(call::<Seen>(&mut store, instance, "step"), expected);
    let error = invoke::<(), ()>(&mut other, same, "gone", ()).unwrap_err();
    assert_eq!(error.downcast_ref::<Trap>().unwrap().code(), TrapCode::MemoryOutOfBounds);
}

#[test]
fn objects_keep_their_types_and_their_identity() {
    let source = r#"
    (module
      (type $r (func (result i32)))
      (rec (type $node (sub (struct (field $value (mut i32)) (field $next (mut (ref null $node))))))
           (type $leaf (sub $node (struct (field $value (mut i32)) (field $next (mut (ref null $node)))
             (field $f (mut (ref null $r))) (field $l (mut i64)) (field $b (mut i8))))))
      (type $list (array (mut anyref))) (type $bytes (array (mut i8)))
      (type $functions (array (mut funcref))) (tag $e (param i32 anyref))
      (global $all (mut (ref null $list)) (ref.null $list))
      (global $thrown (mut exnref) (ref.null exn))
      (global $functions (mut (ref null $functions)) (ref.null $functions))
      (elem declare func $nine)
      (func $nine (result i32) (i32.const 9))
      (func (export "begin") (local $a (ref null $node)) (local $garbage i32)
        (loop $more
          (drop (struct.new $node (i32.const 0) (ref.null $node)))
          (br_if $more (i32.lt_u (local.tee $garbage (i32.add (local.get $garbage) (i32.const 1))) (i32.const 1000))))
        (local.set $a (struct.new $leaf (i32.const 5) (ref.null $node) (ref.func $nine) (i64.const -2) (i32.const 200)))
        (struct.set $node $next (local.get $a) (local.get $a))
        (global.set $all (array.new_fixed $list 5 (local.get $a) (local.get $a)
          (ref.i31 (i32.const 6)) (ref.null any) (array.new $bytes (i32.const 7) (i32.const 300))))
        (global.set $functions (array.new $functions (ref.func $nine) (i32.const 3)))
        (block $caught (result i32 anyref exnref)
          (try_table (catch_ref $e $caught) (throw $e (i32.const 3) (local.get $a)))
          (unreachable))
        (global.set $thrown) (drop) (drop))
      (func (export "step") (result i32) (local $a (ref null $leaf)) (local $n i32) (local $x anyref)
        (local.set $a (ref.cast (ref $leaf) (array.get $list (global.get $all) (i32.const 0))))
        (struct.set $node $value (local.get $a) (i32.add (struct.get $node $value (local.get $a)) (i32.const 1)))
        (block $caught (result i32 anyref)
          (try_table (catch $e $caught) (throw_ref (global.get $thrown))) (unreachable))
        (local.set $x) (local.set $n)
        (if (i32.eqz (ref.eq (ref.cast (ref eq) (local.get $x)) (local.get $a))) (then (unreachable)))
        (if (i32.eqz (ref.eq (local.get $a) (struct.get $node $next (local.get $a)))) (then (unreachable)))
        (if (i32.eqz (ref.eq (local.get $a) (ref.cast (ref eq) (array.get $list (global.get $all) (i32.const 1))))) (then (unreachable)))
        (i32.add (local.get $n)
          (i32.add (struct.get $node $value (local.get $a))
            (i32.add (call_ref $r (struct.get $leaf $f (local.get $a)))
              (i32.add (struct.get_u $leaf $b (local.get $a))
                (i32.add
                  (call_ref $r (ref.cast (ref $r) (array.get $functions (global.get $functions) (i32.const 2))))
                  (array.get_u $bytes (ref.cast (ref $bytes) (array.get $list (global.get $all) (i32.const 4))) (i32.const 299)))))))))"#;
    let module = Module::new(&engine(), source).unwrap();
    let mut store = Store::new(module.engine(), ());
    let mut instance = Instance::new(&mut store, &module, &[]).unwrap();
    call::<()>(&mut store, instance, "begin");
    for step in 0..3 {
        (store, instance) = restored(&module, &mut store, instance);
        assert_eq!(call::<i32>(&mut store, instance, "step"), 3 + 6 + step + 9 + 200 + 9 + 7);
        store.gc();
    }
}

#[test]
fn instances_are_linked_as_they_were() {
    let engine = engine();
    let [library, user] = [
        r#"(module $library
          (import "host" "base" (func $base (result i32)))
          (memory (export "memory") 1) (table (export "table") 3 funcref)
          (global (export "counter") (mut i32) (i32.const 0)) (tag (export "t") (param i32))
          (func (export "bump") (result i32)
            (global.set 0 (i32.add (global.get 0) (i32.const 1)))
            (i32.add (global.get 0) (call $base)))
          (export "base" (func $base)))"#,
        r#"(module $user
          (import "library" "bump" (func $bump (result i32))) (import "library" "base" (func $base (result i32)))
          (import "library" "memory" (memory 1)) (import "library" "table" (table 3 funcref))
          (import "library" "counter" (global $counter (mut i32))) (import "library" "t" (tag $t (param i32)))
          (import "own" "memory" (memory $own 1)) (import "own" "global" (global $g (mut i64)))
          (elem declare func $bump)
          (func (export "begin")
            (table.set 0 (i32.const 1) (ref.func $bump)) (i32.store $own (i32.const 0) (i32.const 6))
            (global.set $g (i64.const 70)))
          (func (export "step") (result i32)
            (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 10)))
            (i32.add (call_indirect 0 (result i32) (i32.const 1))
              (i32.add (i32.load (i32.const 0)) (i32.add (global.get $counter)
                (i32.add (call $base) (i32.add (i32.load $own (i32.const 0)) (i32.wrap_i64 (global.get $g))))))))) "#,
    ]
    .map(|source| Module::new(&engine, source).unwrap());
    let mut store = Store::new(&engine, ());
    let mut functions = Linker::new(&engine);
    functions.host("base", || 1000);
    let mut linker = functions.clone();
    let own = Memory::new(&mut store, MemoryType::new(1, None)).unwrap();
    let ty = GlobalType { content: ValType::I64, mutable: true };
    let global = Global::new(&mut store, ty, Val::I64(0)).unwrap();
    linker.define(&mut store, "own", "memory", own).unwrap();
    linker.define(&mut store, "own", "global", global).unwrap();
    let first = linker.instantiate(&mut store, &library).unwrap();
    linker.instance(&mut store, "library", first).unwrap();
    let instance = linker.instantiate(&mut store, &user).unwrap();
    call::<()>(&mut store, instance, "begin");
    assert_eq!(call::<i32>(&mut store, instance, "step"), 1001 + 10 + 1 + 1000 + 76);
    let mut options = SnapshotOptions::new();
    let snapshot = store
        .snapshot(options.name_instance("user", instance).name_instance("library", first))
        .unwrap();
    // Modules in another order, with an unrelated one.
    let other = Module::new(&engine, "(module)").unwrap();
    let mut restored = snapshot.restore(&functions, &[user, other, library], ()).unwrap();
    let (user, library) =
        (restored.instance("user").unwrap(), restored.instance("library").unwrap());
    let store = &mut restored.store;
    assert_eq!(call::<i32>(store, user, "step"), 1002 + 20 + 2 + 1000 + 76);
    assert_eq!(call::<i32>(store, library, "bump"), 1003);
    assert_eq!(call::<i32>(store, user, "step"), 1004 + 30 + 4 + 1000 + 76);
}
