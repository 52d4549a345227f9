//! Async functions on typed continuations, driven by an event loop.
//!
//! In `continuations_async.wat` three programs fetch pages at the same time. A promise is a number.
//! The host starts a request or a timer. When that is over, it calls the module to resolve or reject
//! the promise.
//!
//! ```text
//! $ cargo run -p ropewalk --example continuations_async
//! ```

use std::net::SocketAddr;
use std::time::Duration;

use ropewalk::*;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

mod server;
use server::{Arrived, Page};

/// The text of the first page is the name of the second. One page is missing.
const PAGES: &[Page] = &[
    ("slow", 30, "slow.more"),
    ("fair", 20, "fair.more"),
    ("fast", 10, "nowhere"),
    ("slow.more", 20, "the end of the slow one"),
    ("fair.more", 10, "the end of the fair one"),
];

/// The data of the host functions, and the lines that the programs said.
struct Host {
    server: SocketAddr,
    settled: UnboundedSender<Arrived>,
    promises: i32,
    running: usize,
    said: Vec<String>,
}

impl Host {
    fn new_promise(&mut self) -> i32 {
        self.promises += 1;
        self.promises
    }
}

fn linker(engine: &Engine) -> Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    linker.func_wrap(
        "host",
        "sleep",
        |mut caller: Caller<'_, Host>, milliseconds: i32| -> i32 {
            let promise = caller.data_mut().new_promise();
            let settled = caller.data().settled.clone();
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(milliseconds as u64)).await;
                let _ = settled.send((promise, Ok(String::new())));
            });
            promise
        },
    )?;
    linker.func_wrap(
        "host",
        "fetch",
        |mut caller: Caller<'_, Host>, name: Option<ExternRef>| -> Result<i32> {
            let name = server::text(&caller, name)?;
            let host = caller.data_mut();
            let promise = host.new_promise();
            server::fetch(host.server, promise, name, host.settled.clone());
            Ok(promise)
        },
    )?;
    linker.func_wrap(
        "host",
        "say",
        |mut caller: Caller<'_, Host>, who: i32, said: Option<ExternRef>| -> Result<()> {
            let said = server::text(&caller, said)?;
            caller.data_mut().said.push(format!("program {who} has: {said}"));
            Ok(())
        },
    )?;
    linker.func_wrap("host", "end", |mut caller: Caller<'_, Host>, who: i32| {
        let host = caller.data_mut();
        host.running -= 1;
        host.said.push(format!("program {who} has ended, {} continue", host.running));
    })?;
    Ok(linker)
}

/// Runs the programs. Returns what they said.
pub async fn run(engine: &Engine) -> Result<Vec<String>> {
    let module = Module::new(engine, include_str!("continuations_async.wat"))?;
    let server = server::start(PAGES, 3).await?;
    let (settled, mut settlements) = unbounded_channel();
    let host = Host { server, settled, promises: 0, running: 3, said: Vec::new() };
    let mut store = Store::new(engine, host);
    let instance = linker(engine)?.instantiate(&mut store, &module)?;
    let start = instance.get_typed_func::<(i32, Option<ExternRef>), ()>(&mut store, "start")?;
    let resolve = instance.get_typed_func::<(i32, Option<ExternRef>), ()>(&mut store, "resolve")?;
    let reject = instance.get_typed_func::<(i32, Option<ExternRef>), ()>(&mut store, "reject")?;

    for (who, name) in (1..).zip(["slow", "fair", "fast"]) {
        let mut scope = RootScope::new(&mut store);
        let name = ExternRef::new(&mut scope, name.to_string())?;
        start.call(&mut scope, (who, Some(name)))?;
    }
    while store.data().running > 0 {
        let (promise, settled) = settlements.recv().await.expect("the store has a sender");
        let mut scope = RootScope::new(&mut store);
        match settled {
            Ok(text) if text != server::MISSING => {
                let text = ExternRef::new(&mut scope, text)?;
                resolve.call(&mut scope, (promise, Some(text)))?;
            }
            failed => {
                let error = failed.unwrap_or_else(|error| error.to_string());
                let error = ExternRef::new(&mut scope, format!("an error: {error}"))?;
                reject.call(&mut scope, (promise, Some(error)))?;
            }
        }
    }
    Ok(store.into_data().said)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    run(&Engine::default()).await?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
