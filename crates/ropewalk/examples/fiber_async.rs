//! Fibers that wait for input, driven by an event loop.
//!
//! `fiber_async.wat` has three green threads that each fetch two pages, and their scheduler. This is
//! the host: requests are tasks of an event loop. When a page has arrived, the loop calls the module,
//! which resumes the thread that waits for it. No WebAssembly runs between the calls.
//!
//! ```text
//! $ cargo run -p ropewalk --example fiber_async
//! ```

use std::net::SocketAddr;

use ropewalk::*;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

mod server;
use server::{Arrived, Page};

/// The text of the first page is the name of the second.
const PAGES: &[Page] = &[
    ("slow", 30, "slow.more"),
    ("fair", 20, "fair.more"),
    ("fast", 10, "fast.more"),
    ("slow.more", 10, "the end of the slow one"),
    ("fair.more", 30, "the end of the fair one"),
    ("fast.more", 20, "the end of the fast one"),
];

/// The data of the host functions, and the lines that the threads said.
struct Host {
    server: SocketAddr,
    arrived: UnboundedSender<Arrived>,
    said: Vec<String>,
}

fn linker(engine: &Engine) -> Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    linker.func_wrap(
        "host",
        "fetch",
        |mut caller: Caller<'_, Host>, request: i32, name: Option<ExternRef>| -> Result<()> {
            let name = server::text(&caller, name)?;
            let host = caller.data_mut();
            host.said.push(format!("request {request}: {name}"));
            server::fetch(host.server, request, name, host.arrived.clone());
            Ok(())
        },
    )?;
    linker.func_wrap(
        "host",
        "say",
        |mut caller: Caller<'_, Host>, thread: i32, said: Option<ExternRef>| -> Result<()> {
            let said = server::text(&caller, said)?;
            caller.data_mut().said.push(format!("thread {thread} has: {said}"));
            Ok(())
        },
    )?;
    Ok(linker)
}

/// Runs the threads. Returns what they said.
pub async fn run(engine: &Engine) -> Result<Vec<String>> {
    let module = Module::new(engine, include_str!("fiber_async.wat"))?;
    let server = server::start(PAGES, 3).await?;
    let (arrived, mut arrivals) = unbounded_channel();
    let mut store = Store::new(engine, Host { server, arrived, said: Vec::new() });
    let instance = linker(engine)?.instantiate(&mut store, &module)?;
    let spawn = instance.get_typed_func::<(i32, Option<ExternRef>), ()>(&mut store, "spawn")?;
    let main = instance.get_typed_func::<(), i32>(&mut store, "main")?;
    let notify =
        instance.get_typed_func::<(i32, Option<ExternRef>), i32>(&mut store, "io_notify")?;

    for (thread, name) in (1..).zip(["slow", "fair", "fast"]) {
        let mut scope = RootScope::new(&mut store);
        let name = ExternRef::new(&mut scope, name.to_string())?;
        spawn.call(&mut scope, (thread, Some(name)))?;
    }
    let mut waiting = main.call(&mut store, ())?;
    while waiting > 0 {
        store.data_mut().said.push(format!("on their way: {waiting}"));
        let (request, text) = arrivals.recv().await.expect("the store has a sender");
        let mut scope = RootScope::new(&mut store);
        let text = ExternRef::new(&mut scope, text?)?;
        waiting = notify.call(&mut scope, (request, Some(text)))?;
    }
    Ok(store.into_data().said)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    run(&Engine::default()).await?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
