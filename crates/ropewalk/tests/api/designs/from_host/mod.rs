//! Tasks, fibers and stacks that the host continues.

mod all_designs;
mod bag;
mod fibers;
mod first_class;
mod tasks;

use crate::common::*;
use ropewalk::*;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

fn all_engines() -> Vec<Engine> {
    let mut all = engines();
    all.push(engine(CHECK));
    all.extend(few_generations(0));
    all.extend(few_generations(1));
    all
}

fn i32s(values: &[Val]) -> Vec<i32> {
    values.iter().map(|value| value.i32().expect("an i32")).collect()
}

fn get<R: WasmResults>(store: &mut Store<()>, instance: Instance, name: &str) -> R {
    let func = instance.get_typed_func::<(), R>(&mut *store, name).unwrap();
    func.call(store, ()).unwrap()
}

fn tag(store: &mut Store<()>, instance: Instance, name: &str) -> Tag {
    instance.get_tag(store, name).expect("exported")
}

/// Fails unless only this many stacks are alive.
fn check_live(store: &mut Store<()>, live: usize) {
    store.gc();
    assert_eq!(store.stack_statistics().live, live);
}

/// Polls a future until it is ready. Also returns how often it was pending.
fn wait<R>(future: impl Future<Output = R>) -> (R, usize) {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for polled in 0..1000 {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return (result, polled);
        }
    }
    panic!("it is never ready");
}

/// A future that is ready at the second poll.
struct Again(bool);

impl Future for Again {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.0, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

/// An instance whose host function waits once and returns its argument.
fn waiting(engine: &Engine, text: &str) -> (Store<()>, Instance) {
    let module = Module::new(engine, text).unwrap();
    let mut linker = Linker::new(engine);
    linker
        .func_wrap_async("host", "wait", |_: Caller<'_, ()>, (x,): (i32,)| {
            Box::new(async move {
                Again(false).await;
                x
            })
        })
        .unwrap();
    let mut store = Store::new(engine, ());
    let instance = linker.instantiate(&mut store, &module).unwrap();
    (store, instance)
}

/// The event that came back.
fn event(mounted: Result<Mounted>) -> (Tag, Vec<Val>) {
    match mounted.unwrap() {
        Mounted::Event { tag, values } => (tag, values),
        Mounted::NotHandled => panic!("it is handled"),
    }
}

/// Like [`waiting`], but the host function does not wait.
fn with_ready(engine: &Engine, text: &str) -> (Store<()>, Instance) {
    let module = Module::new(engine, text).unwrap();
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "wait", |x: i32| x).unwrap();
    let mut store = Store::new(engine, ());
    let instance = linker.instantiate(&mut store, &module).unwrap();
    (store, instance)
}

/// The number and the stack that came back.
fn back(switched: Result<Switched>) -> (i64, Option<BagStack>) {
    let Switched { values, from } = switched.unwrap();
    assert_eq!(values.len(), 1);
    (values[0].i64().expect("an i64"), from)
}
