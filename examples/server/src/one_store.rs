//! Handles all requests in one store: a tokio task owns it and runs their calls concurrently.

use crate::guest::{BLOCK, Guest, Handler, Handlers, Host};
use anyhow::{Context, Result};
use futures_util::stream::{FuturesUnordered, StreamExt};
use ropewalk::{Accessor, Store};
use std::collections::HashMap;
use std::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

/// A request for a handler.
struct Job {
    handler: String,
    rest: String,
    body: oneshot::Sender<Result<String>>,
}

/// A store in which requests are handled.
#[derive(Clone)]
pub struct OneStore(UnboundedSender<Job>);

impl OneStore {
    /// Starts the task that owns the store.
    pub fn start(guest: &Guest) -> Result<OneStore> {
        let (store, handlers) = guest.instantiate()?;
        let (sender, jobs) = unbounded_channel();
        tokio::task::spawn_local(run(store, handlers, guest.handlers(), jobs));
        Ok(OneStore(sender))
    }

    /// Handles a request. Dropping the future cancels the call.
    pub async fn handle(&self, handler: &str, rest: &str) -> Result<String> {
        let (body, answer) = oneshot::channel();
        let job = Job { handler: handler.to_string(), rest: rest.to_string(), body };
        self.0.send(job).ok().context("the store is gone")?;
        answer.await?
    }
}

/// Handles requests until all senders are dropped.
async fn run(
    mut store: Store<Host>,
    handlers: Handlers,
    names: &[&'static str],
    mut jobs: UnboundedReceiver<Job>,
) -> Result<()> {
    let typed = names.iter().map(|name| Ok((*name, handlers.get(&mut store, name)?)));
    let typed: HashMap<&str, Handler> = typed.collect::<Result<_>>()?;
    let blocks = Blocks::default();
    store
        .run_concurrent(async |accessor| {
            let mut calls = FuturesUnordered::new();
            loop {
                tokio::select! {
                    job = jobs.recv() => match job {
                        Some(job) => {
                            let handler = &typed[job.handler.as_str()];
                            calls.push(handle(accessor, handler, &handlers, &blocks, job));
                        }
                        None => break,
                    },
                    Some(()) = calls.next() => {}
                }
            }
        })
        .await;
    Ok(())
}

/// Handles a request, unless its client goes away.
async fn handle(
    accessor: &Accessor<Host>,
    handler: &Handler,
    handlers: &Handlers,
    blocks: &Blocks,
    Job { rest, mut body, .. }: Job,
) {
    let result = tokio::select! {
        result = call(accessor, handler, handlers, blocks, &rest) => result,
        () = body.closed() => return,
    };
    // The client may have gone away.
    let _ = body.send(result);
}

async fn call(
    accessor: &Accessor<Host>,
    handler: &Handler,
    handlers: &Handlers,
    blocks: &Blocks,
    rest: &str,
) -> Result<String> {
    let block = blocks.take();
    let at = block.number * BLOCK;
    accessor.with(|mut store| -> Result<()> {
        let end = at + BLOCK;
        if handlers.memory.data(&store)?.len() < end {
            handlers.memory.grow(&mut store, 16)?;
        }
        handlers.memory.write(store, at, rest.as_bytes())
    })?;
    let length = handler.call_concurrent(accessor, (at as i32, rest.len() as i32)).await?;
    let mut body = vec![0; (length as usize).min(BLOCK)];
    accessor.with(|store| handlers.memory.read(store, at, &mut body))?;
    Ok(String::from_utf8(body)?)
}

/// The free blocks of the memory.
#[derive(Default)]
struct Blocks(Mutex<Free>);

#[derive(Default)]
struct Free {
    numbers: Vec<usize>,
    next: usize,
}

/// The memory block of a request, which is freed on drop.
struct Block<'a> {
    blocks: &'a Blocks,
    number: usize,
}

impl Blocks {
    fn take(&self) -> Block<'_> {
        let mut free = self.0.lock().expect("no panic while locked");
        let number = free.numbers.pop().unwrap_or_else(|| {
            free.next += 1;
            free.next - 1
        });
        Block { blocks: self, number }
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        self.blocks.0.lock().expect("no panic while locked").numbers.push(self.number);
    }
}
