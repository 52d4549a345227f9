//! Rows about async calls, and about continuations that the host owns.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use ::ropewalk as rw;
use ::wasmtime as wt;
use anyhow::{Context as _, Result};

use crate::clock::Clock;
use crate::resident::resident;
use crate::row::{Prepare, Row, Run, Size, Unit};

const WAITING: &str = include_str!("../programs/waiting.wat");
const ASKS: &str = include_str!("../programs/asks.wat");

/// The rows, in the order of the table.
pub fn rows() -> Vec<Row> {
    let calls = Size::of(5_000_000);
    let host = Size::of(20_000_000);
    let waits = Size::of(2_000_000);
    vec![
        timed("call_async, no wait", "a call from Rust", calls, enters(Way::Async))
            .against("wasmtime", wasmtime_enters()),
        timed("call_async, no wait", "a call from Rust", calls, enters(Way::Async))
            .against("call", enters(Way::Sync)),
        timed("call_async, awaited", "a call from Rust", calls, enters(Way::Awaited))
            .against("call", enters(Way::Sync)),
        timed("async host call, ready", "a call of the host", host, calls_host("ready"))
            .against("wasmtime", wasmtime_calls_host("ready")),
        timed("async host call, ready", "a call of the host", host, calls_host("ready"))
            .against("sync host call", calls_host("sync")),
        timed("async fn, ready", "a call of the host", host, calls_async_fn("ready"))
            .against("sync host call", calls_host("sync")),
        timed("async host call, waits", "a call of the host", waits, calls_host("waits"))
            .against("wasmtime", wasmtime_calls_host("waits")),
        timed("async fn, waits", "a call of the host", waits, calls_async_fn("waits"))
            .against("wasmtime", wasmtime_calls_host("waits")),
        timed("host resumes", "a resume and a suspension", host, host_resumes())
            .against("in WebAssembly", guest_resumes()),
        bytes("a call that waits", "a call in one store", Size::of(20_000), waiting_calls()),
        bytes("a continuation of the host", "one that has suspended", Size::of(1_000_000), held()),
    ]
}

fn timed(name: &'static str, operation: &'static str, size: Size, ours: Prepare) -> Row {
    Row { name, operation, unit: Unit::Seconds, size, ours, peer: None, apart: false }
}

fn bytes(name: &'static str, operation: &'static str, size: Size, ours: Prepare) -> Row {
    Row { unit: Unit::Bytes, apart: true, ..timed(name, operation, size, ours) }
}

/// How WebAssembly is called.
#[derive(Clone, Copy)]
enum Way {
    Sync,
    /// Each call is a future of the executor.
    Async,
    /// One future of the executor awaits each call.
    Awaited,
}

/// A future that is ready on its second poll.
struct Again(bool);

impl Future for Again {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// A minimal executor.
fn block_on<R>(future: impl Future<Output = R>) -> R {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
    }
}

fn ropewalk(source: &str) -> Result<(rw::Store<()>, rw::Instance)> {
    let engine = rw::Engine::default();
    let module = rw::Module::new(&engine, source)?;
    let mut linker = rw::Linker::new(&engine);
    linker.func_wrap("host", "sync", |x: i64| x)?;
    linker.func_wrap_async("host", "ready", |_: rw::Caller<'_, ()>, (x,): (i64,)| {
        Box::new(async move { x })
    })?;
    linker.func_wrap_async("host", "waits", |_: rw::Caller<'_, ()>, (x,): (i64,)| {
        Box::new(async move {
            Again(false).await;
            x
        })
    })?;
    let mut store = rw::Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &module)?;
    Ok((store, instance))
}

/// Like the above with `async` functions, whose futures are not boxed.
fn ropewalk_unboxed() -> Result<(rw::Store<()>, rw::Instance)> {
    let engine = rw::Engine::default();
    let module = rw::Module::new(&engine, WAITING)?;
    let mut linker = rw::Linker::new(&engine);
    linker.func_wrap("host", "sync", |x: i64| x)?;
    linker.func_wrap_async_fn("host", "ready", async |_: rw::Caller<'_, ()>, (x,): (i64,)| x)?;
    linker.func_wrap_async_fn("host", "waits", async |_: rw::Caller<'_, ()>, (x,): (i64,)| {
        Again(false).await;
        x
    })?;
    let mut store = rw::Store::new(&engine, ());
    let instance = linker.instantiate(&mut store, &module)?;
    Ok((store, instance))
}

fn wasmtime() -> Result<(wt::Store<()>, wt::Instance)> {
    let mut config = wt::Config::new();
    config.cranelift_opt_level(wt::OptLevel::Speed);
    let engine = wt::Engine::new(&config)?;
    let module = wt::Module::new(&engine, wat::parse_str(WAITING)?)?;
    let mut linker = wt::Linker::new(&engine);
    linker.func_wrap("host", "sync", |x: i64| x)?;
    linker.func_wrap_async("host", "ready", |_: wt::Caller<'_, ()>, (x,): (i64,)| {
        Box::new(async move { x })
    })?;
    linker.func_wrap_async("host", "waits", |_: wt::Caller<'_, ()>, (x,): (i64,)| {
        Box::new(async move {
            Again(false).await;
            x
        })
    })?;
    let mut store = wt::Store::new(&engine, ());
    let instance = block_on(linker.instantiate_async(&mut store, &module))?;
    Ok((store, instance))
}

fn enters(way: Way) -> Prepare {
    Box::new(move || {
        let (mut store, instance) = ropewalk(WAITING)?;
        let function = instance.get_typed_func::<i64, i64>(&mut store, "identity")?;
        Ok(Box::new(move |_, times| {
            Clock::Thread.time(|| {
                let mut sum = 0;
                if let Way::Awaited = way {
                    return block_on(async {
                        for i in 0..times {
                            sum += function.call_async(&mut store, i).await?;
                        }
                        Ok(sum)
                    });
                }
                for i in 0..times {
                    sum += match way {
                        Way::Sync => function.call(&mut store, i)?,
                        _ => block_on(function.call_async(&mut store, i))?,
                    };
                }
                Ok(sum)
            })
        }))
    })
}

fn wasmtime_enters() -> Prepare {
    Box::new(move || {
        let (mut store, instance) = wasmtime()?;
        let function = instance.get_typed_func::<i64, i64>(&mut store, "identity")?;
        Ok(Box::new(move |_, times| {
            Clock::Thread.time(|| {
                let mut sum = 0;
                for i in 0..times {
                    sum += block_on(function.call_async(&mut store, i))?;
                }
                Ok(sum)
            })
        }))
    })
}

fn calls_host(name: &'static str) -> Prepare {
    calls(name, || ropewalk(WAITING))
}

fn calls_async_fn(name: &'static str) -> Prepare {
    calls(name, ropewalk_unboxed)
}

fn calls(name: &'static str, make: fn() -> Result<(rw::Store<()>, rw::Instance)>) -> Prepare {
    Box::new(move || {
        let (mut store, instance) = make()?;
        let function = instance.get_typed_func::<i64, i64>(&mut store, name)?;
        Ok(Box::new(move |_, times| {
            Clock::Thread.time(|| block_on(function.call_async(&mut store, times)))
        }))
    })
}

fn wasmtime_calls_host(name: &'static str) -> Prepare {
    Box::new(move || {
        let (mut store, instance) = wasmtime()?;
        let function = instance.get_typed_func::<i64, i64>(&mut store, name)?;
        Ok(Box::new(move |_, times| {
            Clock::Thread.time(|| Ok(block_on(function.call_async(&mut store, times))?))
        }))
    })
}

fn host_resumes() -> Prepare {
    Box::new(move || {
        let (mut store, instance) = ropewalk(ASKS)?;
        let ask = instance.get_tag(&mut store, "ask").context("exported")?;
        let ask = ask.typed::<i64, ()>(&store)?;
        let body = instance.get_typed_func::<(), ()>(&mut store, "body")?;
        Ok(Box::new(move |_, times| {
            Clock::Thread.time(|| {
                let mut sum = 0;
                let mut rest = rw::TypedContinuation::new(&mut store, &body)?;
                for _ in 0..times {
                    let resumed = rest.resume_on(&mut store, &ask, ())?;
                    let rw::TypedResumed::Suspended { values, continuation } = resumed else {
                        anyhow::bail!("it does not return");
                    };
                    sum += values;
                    rest = continuation;
                }
                Ok(sum)
            })
        }))
    })
}

fn guest_resumes() -> Prepare {
    Box::new(move || {
        let (mut store, instance) = ropewalk(ASKS)?;
        let function = instance.get_typed_func::<i64, i64>(&mut store, "guest")?;
        Ok(Box::new(move |_, times| Clock::Thread.time(|| function.call(&mut store, times))))
    })
}

fn waiting_calls() -> Prepare {
    Box::new(move || {
        let engine = rw::Engine::default();
        let module = rw::Module::new(&engine, WAITING)?;
        let mut linker = rw::Linker::new(&engine);
        linker.func_wrap("host", "sync", |x: i64| x)?;
        linker.func_wrap("host", "ready", |x: i64| x)?;
        linker.func_wrap_concurrent("host", "waits", |_: &rw::Accessor<()>, (_,): (i64,)| {
            Box::pin(std::future::pending::<i64>())
        })?;
        Ok(Box::new(move |_, times| {
            let mut store = rw::Store::new(&engine, ());
            let instance = linker.instantiate(&mut store, &module)?;
            let waits = instance.get_typed_func::<i64, i64>(&mut store, "waits")?;
            let before = resident()?;
            block_on(store.run_concurrent(async |accessor| {
                let call = |i| Box::pin(waits.call_concurrent(accessor, i));
                let mut calls: Vec<_> = (0..times).map(call).collect();
                let mut context = Context::from_waker(Waker::noop());
                let polls = calls.iter_mut().map(|call| call.as_mut().poll(&mut context));
                let pending = polls.filter(|poll| poll.is_pending()).count();
                Ok(Run { cost: resident()? - before, result: pending as i64 })
            }))
        }))
    })
}

fn held() -> Prepare {
    Box::new(move || {
        let (mut store, instance) = ropewalk(ASKS)?;
        let body = instance.get_func(&mut store, "body").context("exported")?;
        let ask = instance.get_tag(&mut store, "ask").context("exported")?;
        Ok(Box::new(move |_, times| {
            let before = resident()?;
            let suspended = |_| {
                let rest = rw::Continuation::new(&mut store, body)?;
                match rest.resume_on(&mut store, &[ask], &[])? {
                    rw::Resumed::Suspended { continuation, .. } => Ok(continuation),
                    rw::Resumed::Returned(_) => anyhow::bail!("it does not return"),
                }
            };
            let all = (0..times).map(suspended).collect::<Result<Vec<_>>>()?;
            Ok(Run { cost: resident()? - before, result: all.len() as i64 })
        }))
    })
}
