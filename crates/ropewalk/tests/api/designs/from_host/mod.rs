//! Tasks, fibers and stacks that the host continues.

mod all_designs;
mod bag;
mod fibers;
mod first_class;
mod tasks;

use crate::common::*;
use ropewalk::*;

fn i32s(values: &[Val]) -> Vec<i32> {
    values.iter().map(|value| value.i32().expect("an i32")).collect()
}

fn get<R: WasmResults>(store: &mut Store<()>, instance: Instance, name: &str) -> R {
    invoke::<(), R>(store, instance, name, ()).unwrap()
}

fn tag(store: &mut Store<()>, instance: Instance, name: &str) -> Tag {
    instance.get_tag(store, name).expect("exported")
}

/// An instance whose host function waits once and returns its argument.
fn waiting(engine: &Engine, text: &str) -> (Store<()>, Instance) {
    let mut linker = Linker::new(engine);
    linker.host_async("wait", |_: Caller<'_, ()>, (x,): (i32,)| {
        Box::new(async move {
            After(1).await;
            x
        })
    });
    link(&linker, (), text)
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
    let mut linker = Linker::new(engine);
    linker.host("wait", |x: i32| x);
    link(&linker, (), text)
}

/// The number and the stack that came back.
fn back(switched: Result<Switched>) -> (i64, Option<BagStack>) {
    let Switched { values, from } = switched.unwrap();
    assert_eq!(values.len(), 1);
    (values[0].i64().expect("an i64"), from)
}
