//! A program that uses all parts of a store, and a store that runs it.

use super::acts::{Act, Actor};
use anyhow::ensure;
use ropewalk::*;
use std::time::Duration;

const TEXT: &str = r#"(module
  (import "host" "act" (func $act (param i32) (result i32)))
  (import "host" "fail" (func $fail))
  (import "host" "wait" (func $wait (param i32) (result i32)))
  (import "host" "wait concurrently" (func $concurrently (param i32) (result i32)))
  (import "host" "later" (func $later (param i32) (result i32)))
  (memory (export "memory") 1 10000) (table (export "table") 1 100000 externref)
  (type $f (func (param i32) (result i32))) (type $k (cont $f)) (type $resumed (func (result i32)))
  (type $r (cont $resumed)) (type $s (struct (field (mut i32)) (field (ref null $s))))
  (type $a (array (mut i64))) (tag $yield (export "yield") (param i32))
  (global $kept (export "kept") (mut externref) (ref.null extern))
  (global $rest (mut (ref null $r)) (ref.null $r))

  (func $deep (export "deep") (param $n i32) (result i32) (local i64 i64 i64 i64)
    (if (result i32) (i32.eqz (local.get $n))
      (then (i32.const 0))
      (else (i32.add (i32.const 1) (call $deep (i32.sub (local.get $n) (i32.const 1)))))))

  ;; Suspends at a depth, and returns it.
  (func $body (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (suspend $yield (i32.const 0)) (return (i32.const 0))))
    (i32.add (i32.const 1) (call $body (i32.sub (local.get $n) (i32.const 1)))))
  (elem declare func $body)
  (func $begin (param $n i32) (result (ref $r))
    (block $on (result i32 (ref $r))
      (resume $k (on $yield $on) (local.get $n) (cont.new $k (ref.func $body)))
      (unreachable))
    (return) (unreachable))
  (func $suspended (export "suspended") (param $n i32) (result i32)
    (local $rest (ref null $r)) (local $x i32)
    (block $on (result i32 (ref $r))
      (return (resume $k (on $yield $on) (local.get $n) (cont.new $k (ref.func $body)))))
    (local.set $rest) (drop)
    (resume $r (local.get $rest)))
  (func (export "hold") (param $n i32)
    (block $on (result i32 (ref $r))
      (resume $k (on $yield $on) (local.get $n) (cont.new $k (ref.func $body)))
      (return (drop)))
    (global.set $rest) (drop))
  (func (export "clone") (result i32) (resume $r (cont.clone $r (global.get $rest))))

  (func $objects (export "objects") (param $n i32) (result i32) (local $list (ref null $s))
    (loop $more
      (local.set $list (struct.new $s (local.get $n) (local.get $list)))
      (drop (array.new_default $a (i32.const 100)))
      (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (struct.get $s 0 (local.get $list)))

  ;; Does a bit of everything; returns its argument.
  (func (export "busy") (param $n i32) (result i32)
    (drop (call $objects (local.get $n)))
    (drop (memory.grow (i32.const 1)))
    (i32.store (i32.const 0) (call $deep (i32.mul (local.get $n) (i32.const 50))))
    (if (i32.ne (i32.load (i32.const 0)) (i32.mul (local.get $n) (i32.const 50)))
      (then (unreachable)))
    (call $suspended (local.get $n)))
  (func (export "fault") (result i32) (i32.load (i32.const -1)))
  (func (export "spin") (param $n i32) (result i64)
    (local $a i64) (local $b i64) (local $c f64) (local $d v128)
    (loop $more
      (local.set $a (i64.add (local.get $a) (i64.const 1)))
      (local.set $b (i64.add (local.get $b) (i64.const 3)))
      (local.set $c (f64.add (local.get $c) (f64.const 0.5)))
      (local.set $d (i32x4.add (local.get $d) (v128.const i32x4 1 2 3 4)))
      (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (i64.add (i64.add (local.get $a) (local.get $b))
      (i64.add (i64.trunc_f64_s (local.get $c))
        (i64.extend_i32_s (i32x4.extract_lane 3 (local.get $d))))))

  (func (export "act") (param i32) (result i32) (call $act (local.get 0)))
  (func (export "fail") (call $fail))
  (func (export "wait") (param i32) (result i32) (call $wait (local.get 0)))
  (func (export "wait concurrently") (param i32) (result i32) (call $concurrently (local.get 0)))
  (func (export "later") (param i32) (result i32) (call $later (local.get 0)))
  (func (export "grow memory") (param i32) (result i32) (memory.grow (local.get 0)))
  (func (export "grow table") (param i32) (result i32)
    (table.grow (ref.null extern) (local.get 0))))
"#;

/// The program in an engine with these settings.
pub fn module(config: &Config) -> Module {
    Module::new(&Engine::new(config).unwrap(), TEXT).unwrap()
}

/// The program in a store, and the actor of its callees.
pub struct Program {
    pub module: Module,
    pub linker: Linker<()>,
    pub store: Store<()>,
    pub instance: Instance,
    pub actor: Actor,
}

impl Program {
    pub fn new(module: &Module, act: Act) -> Program {
        let engine = module.engine();
        let mut store = Store::new(engine, ());
        store.set_fuel(u64::MAX / 2).unwrap();
        let actor = Actor::new(module, act, store.interrupt_handle().unwrap());
        let mut linker = Linker::new(engine);
        super::callees::define(&mut linker, &actor).unwrap();
        let instance = linker.instantiate(&mut store, module).unwrap();
        Program { module: module.clone(), linker, store, instance, actor }
    }

    pub fn func<P: WasmParams, R: WasmResults>(&mut self, name: &str) -> TypedFunc<P, R> {
        self.instance.get_typed_func(&mut self.store, name).unwrap()
    }

    /// Calls an exported function.
    pub fn call(&mut self, name: &str, argument: i32) -> Result<i32> {
        self.func::<i32, i32>(name).call(&mut self.store, argument)
    }

    /// Fails unless everything works.
    pub fn works(&mut self) -> Result<()> {
        // An interruption while nothing runs ends the next call.
        let _ = self.call("deep", 1);
        self.store.limiter(StoreLimits::default());
        self.store.set_fuel(u64::MAX / 2)?;
        self.store.set_timeout(Duration::from_secs(1000))?;
        self.store.set_time_slice(None)?;
        for _ in 0..2 {
            ensure!(self.call("busy", 40)? == 40, "it is busy");
            ensure!(self.call("act", 5)? == 5, "it calls the host");
            ensure!(self.call("grow memory", 1)? >= 1, "memory grows");
            ensure!(self.call("grow table", 1)? >= 1, "tables grow");
            self.store.gc();
        }
        let value = ExternRef::new(&mut self.store, 7_i32)?.own(&mut self.store)?;
        self.store.gc();
        let value = value.get(&mut self.store)?;
        ensure!(value.data(&self.store)?.downcast_ref() == Some(&7_i32), "a value of the host");
        ensure!(self.store.pending_calls() == 0, "no call waits");
        let another = self.linker.instantiate(&mut self.store, &self.module)?;
        let busy = another.get_typed_func::<i32, i32>(&mut self.store, "busy")?;
        ensure!(busy.call(&mut self.store, 10)? == 10, "another instance is busy");
        self.survives()
    }

    /// Fails unless a snapshot can be restored.
    fn survives(&mut self) -> Result<()> {
        let mut options = SnapshotOptions::new();
        options.name_instance("main", self.instance).write_host_values(|_| Ok(Vec::new()));
        let snapshot = self.store.snapshot(&options)?;
        let mut restoring = Restoring::new(self.module.engine(), [self.module.clone()]);
        restoring.functions(&self.linker)?.read_host_values(|_| Ok(Box::new(())));
        let mut restored = snapshot.restore_by(&restoring, ())?;
        let instance = restored.instance("main")?;
        let store = &mut restored.store;
        store.set_fuel(u64::MAX / 2)?;
        let busy = instance.get_typed_func::<i32, i32>(&mut *store, "busy")?;
        ensure!(busy.call(store, 20)? == 20, "the restored store is busy");
        Ok(())
    }
}
