//! A store with one of everything.

use crate::common::{Define, block_on};
use ropewalk::*;
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// A module with an export of each kind, which makes a stack of each design.
const TEXT: &str = r#"(module
    (import "host" "wait" (func $wait (result anyref)))
    (type $pair (struct (field (mut NUMBER)) (field (mut OBJECT)))) (type $row (array (mut OBJECT)))
    (type $body (func (param OBJECT) (result NUMBER))) (type $k (cont $body))
    (type $t (task (param OBJECT) (result NUMBER))) (type $b (stack (param OBJECT) (ref null $b)))
    (tag $ask (export "ask") (param i32) (result i32)) (tag $failure (export "failure") (param i32))
    (tag $holds (export "holds") (param OBJECT)) (tag $go (export "go") (param i32))
    (tag $end (export "end") (param NUMBER)) (event $event (export "event") (param OBJECT stackref))
    (memory (export "memory") 1) (table (export "table") 4 8 funcref)
    (table (export "anys") 4 8 anyref)
    (global (export "global") (mut i32) (i32.const 1))
    (global (export "any") (mut anyref) (ref.null any))
    (elem declare func $body)
    (func (export "run") (result i32) (i32.const 42))
    (func (export "spin") (loop $again (br $again)))
    (func (export "wait") (result anyref) (call $wait))
    (func $body (export "body") (param OBJECT) (result NUMBER) (unreachable))
    (func (export "takes func") (param funcref))
    (func (export "takes cont") (param contref))
    (func (export "takes extern") (param externref))
    (func (export "takes exn") (param exnref))
    (func (export "takes struct") (param structref))
    (func (export "takes array") (param arrayref))
    (func (export "fails") (throw $failure (i32.const 1)))
    (func (export "pair") (result (ref $pair)) (struct.new_default $pair))
    (func (export "row") (result (ref $row)) (array.new_default $row (i32.const 3)))
    (func (export "k") (result (ref $k)) (cont.new $k (ref.func $body)))
    (func $task (param (ref null $t)) (param OBJECT) (result NUMBER) (unreachable))
    (func (export "task") (result (ref $t)) (task.new $t $task))
    (func $fiber (param fiberref) (param $x i32) (result NUMBER) (unreachable))
    (func (export "fiber") (result fiberref) (fiber.new $end (on $go $fiber)))
    (func $bag (param $x OBJECT) (param $back (ref null $b))
      (switch_retire $b (local.get $x) (local.get $back)))
    (func (export "bag") (result (ref $b)) (stack.new $b $bag)))"#;

/// The module of a home.
pub fn module() -> String {
    TEXT.replace("NUMBER", "i64").replace("OBJECT", "anyref")
}

/// The same with numbers and objects exchanged. An engine that loads this module first has other
/// types of the same kinds under the same indices.
pub fn decoy() -> String {
    TEXT.replace("NUMBER", "anyref").replace("OBJECT", "i64")
}

pub struct Home {
    pub engine: Engine,
    pub module: Module,
    pub store: Store<()>,
    pub instance: Instance,
}

impl Home {
    pub fn new(engine: &Engine, module: &Module) -> Home {
        let mut store = Store::new(engine, ());
        let instance = linker(engine).instantiate(&mut store, module).unwrap();
        Home { engine: engine.clone(), module: module.clone(), store, instance }
    }

    /// Fails unless the store works as before.
    pub fn check_whole(&mut self) {
        self.store.gc();
        let run = self.instance.get_typed_func::<(), i32>(&mut self.store, "run").unwrap();
        assert_eq!(run.call(&mut self.store, ()).unwrap(), 42);
    }

    pub fn linker(&self) -> Linker<()> {
        linker(&self.engine)
    }

    pub fn func(&mut self, name: &str) -> Func {
        self.instance.get_func(&mut self.store, name).unwrap()
    }

    pub fn typed<P: WasmParams, R: WasmResults>(&mut self, name: &str) -> TypedFunc<P, R> {
        self.func(name).typed(&self.store).unwrap()
    }

    /// What an exported function returns.
    pub fn get<R: WasmResults>(&mut self, name: &str) -> R {
        self.typed::<(), R>(name).call(&mut self.store, ()).unwrap()
    }

    pub fn run(&mut self) -> Func {
        self.func("run")
    }

    pub fn memory(&mut self) -> Memory {
        self.instance.get_memory(&mut self.store, "memory").unwrap()
    }

    /// The table of functions.
    pub fn table(&mut self) -> Table {
        self.instance.get_table(&mut self.store, "table").unwrap()
    }

    /// The table of objects.
    pub fn anys(&mut self) -> Table {
        self.instance.get_table(&mut self.store, "anys").unwrap()
    }

    pub fn global(&mut self) -> Global {
        self.instance.get_global(&mut self.store, "global").unwrap()
    }

    pub fn tag(&mut self, name: &str) -> Tag {
        self.instance.get_tag(&mut self.store, name).unwrap()
    }

    pub fn pair(&mut self) -> StructRef {
        self.get("pair")
    }

    /// An object, as a value.
    pub fn object(&mut self) -> Val {
        self.pair().into()
    }

    pub fn row(&mut self) -> ArrayRef {
        self.get("row")
    }

    pub fn any(&mut self) -> AnyRef {
        self.pair().into()
    }

    pub fn external(&mut self) -> ExternRef {
        ExternRef::new(&mut self.store, 5).unwrap()
    }

    pub fn exception(&mut self) -> Exception {
        let tag = self.tag("failure");
        Exception::new(&mut self.store, tag, &[Val::I32(1)]).unwrap()
    }

    pub fn exn(&mut self) -> ExnRef {
        let exception = self.exception();
        exception.reference(&mut self.store).unwrap()
    }

    pub fn cont_ref(&mut self) -> ContRef {
        self.get("k")
    }

    pub fn continuation(&mut self) -> Continuation {
        let body = self.func("body");
        Continuation::new(&mut self.store, body).unwrap()
    }

    pub fn typed_continuation(&mut self) -> TypedContinuation<Option<AnyRef>, i64> {
        self.continuation().typed(&self.store).unwrap()
    }

    pub fn task(&mut self) -> Task {
        self.get("task")
    }

    pub fn fiber(&mut self) -> Fiber {
        self.get::<Option<Fiber>>("fiber").unwrap()
    }

    pub fn bag_stack(&mut self) -> BagStack {
        self.get("bag")
    }

    pub fn first_class_stack(&mut self) -> FirstClassStack {
        FirstClassStack::new(&mut self.store, None).unwrap()
    }

    /// A reference to a continuation that the host does not own.
    pub fn stack_ref(&mut self) -> ContRef {
        ContRef::new_stack(&mut self.store, None).unwrap()
    }

    /// The type of its structs.
    pub fn pair_type(&mut self) -> StructType {
        let pair = self.pair();
        pair.ty(&self.store).unwrap()
    }

    /// The type of its arrays.
    pub fn row_type(&mut self) -> ArrayType {
        let row = self.row();
        row.ty(&self.store).unwrap()
    }

    /// The type of references to its structs.
    pub fn reference(&mut self) -> RefType {
        self.pair_type().reference(true)
    }

    pub fn snapshot(&mut self) -> Snapshot {
        self.store.snapshot(&SnapshotOptions::new()).unwrap()
    }

    /// A restored store with a waiting call.
    pub fn restored(&mut self) -> (Restored<()>, RestoredCall) {
        let wait = self.typed::<(), Option<AnyRef>>("wait");
        let snapshot = block_on(self.store.run_concurrent(async |accessor| {
            let mut call = pin!(wait.call_concurrent(accessor, ()));
            let polled = poll_fn(|context| Poll::Ready(call.as_mut().poll(context))).await;
            assert!(polled.is_pending());
            accessor.snapshot(&SnapshotOptions::new())
        }));
        let modules = std::slice::from_ref(&self.module);
        let restored = snapshot.unwrap().restore(&self.linker(), modules, ());
        let mut restored = restored.unwrap();
        let call = restored.calls.pop().unwrap();
        (restored, call)
    }
}

fn linker(engine: &Engine) -> Linker<()> {
    let mut linker = Linker::new(engine);
    linker
        .host_concurrent("wait", |_: &Accessor<()>, (): ()| Box::pin(pending::<Option<AnyRef>>()));
    linker
}
