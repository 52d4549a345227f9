//! The places where the engine calls the embedder, each with code that leads there.

use super::acts::{Actor, WhenDropped, WhenPrinted};
use super::program::Program;
use crate::common::{block_on, poll_once};
use ropewalk::*;
use std::future::Future;
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

type Callee = (&'static str, fn(&mut Program));

pub const CALLEES: &[Callee] = &[
    ("a host function", |p| {
        let _ = p.call("act", 1);
    }),
    ("the message of an error", |p| {
        p.actor.start();
        let _ = p.func::<(), ()>("fail").call(&mut p.store, ());
    }),
    ("results of the embedder's own type", |p| {
        let actor = p.actor.clone();
        let func = Func::wrap(&mut p.store, move || Results(actor.clone()));
        p.actor.start();
        let _ = func.call(&mut p.store, &[], &mut [Val::I32(0)]);
    }),
    ("a future that is ready at once", |p| waits(p, "wait", When::First, true)),
    ("a future that waits", |p| waits(p, "wait", When::Second, true)),
    ("a future that is dropped", |p| waits(p, "wait", When::Dropped, true)),
    ("a future with an accessor that is ready at once", |p| {
        waits(p, "wait concurrently", When::First, true)
    }),
    ("a future with an accessor that waits", |p| waits(p, "wait concurrently", When::Second, true)),
    ("a future with an accessor that is dropped", |p| {
        waits(p, "wait concurrently", When::Dropped, true)
    }),
    ("a future of many that is ready at once", |p| {
        waits(p, "wait concurrently", When::First, false)
    }),
    ("a future of many that waits", |p| waits(p, "wait concurrently", When::Second, false)),
    ("a future of many that is dropped", |p| waits(p, "wait concurrently", When::Dropped, false)),
    ("the rest of a function", |p| waits(p, "later", When::First, true)),
    ("the rest of a function that waits", |p| waits(p, "later", When::Second, true)),
    ("the rest of a function that is dropped", |p| waits(p, "later", When::Dropped, false)),
    ("what uses the store of an accessor", |p| {
        let actor = p.actor.clone();
        block_on(p.store.run_concurrent(async |accessor| {
            actor.start();
            accessor.with(|_| actor.act());
        }));
    }),
    ("a waker at a time slice", |p| {
        p.store.set_time_slice(Some(Duration::from_micros(200))).unwrap();
        let waker = Waker::from(Arc::new(WhenWoken(p.actor.clone())));
        let spin = p.func::<i32, i64>("spin");
        let mut future = Box::pin(spin.call_async(&mut p.store, 1_000_000_000));
        p.actor.start();
        while future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            if p.actor.count() > 0 {
                break;
            }
        }
    }),
    ("a waker when a call is interrupted", |p| {
        let waker = Waker::from(Arc::new(WhenWoken(p.actor.clone())));
        let handle = p.store.interrupt_handle().unwrap();
        let wait = p.func::<i32, i32>("wait");
        let mut future = Box::pin(wait.call_async(&mut p.store, When::Dropped as i32));
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        p.actor.start();
        handle.interrupt();
        p.actor.stop();
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
    }),
    ("a waker at a deadline", |p| {
        let waker = Waker::from(Arc::new(WhenWoken(p.actor.clone())));
        p.store.set_timeout(Duration::from_millis(1)).unwrap();
        let wait = p.func::<i32, i32>("wait");
        let mut future = Box::pin(wait.call_async(&mut p.store, When::Dropped as i32));
        p.actor.start();
        while future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let begun = Instant::now();
        while p.actor.count() == 0 && begun.elapsed() < Duration::from_secs(10) {
            // The call may have ended before it waited.
            waker.wake_by_ref();
        }
        p.actor.stop();
    }),
    ("a waker that is dropped with its call", |p| {
        let waker = Waker::from(Arc::new(WakerWhenDropped(WhenDropped(p.actor.clone()))));
        let wait = p.func::<i32, i32>("wait");
        let mut future = Box::pin(wait.call_async(&mut p.store, When::Dropped as i32));
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        p.actor.start();
        drop(future);
        p.store.gc();
    }),
    ("a waker that is replaced", |p| {
        let waker = Waker::from(Arc::new(WakerWhenDropped(WhenDropped(p.actor.clone()))));
        let wait = p.func::<i32, i32>("wait");
        let mut future = Box::pin(wait.call_async(&mut p.store, When::Dropped as i32));
        assert!(future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        p.actor.start();
        let _ = poll_once(future.as_mut());
        p.actor.stop();
    }),
    ("a waker of a call that waits for its turn", |p| {
        let waker = Waker::from(Arc::new(WhenWoken(p.actor.clone())));
        let wait = p.func::<i32, i32>("wait concurrently");
        let actor = p.actor.clone();
        block_on(p.store.run_concurrent(async |accessor| {
            accessor.set_limit(1);
            let mut first = Box::pin(wait.call_concurrent(accessor, When::Dropped as i32));
            let mut second = Box::pin(wait.call_concurrent(accessor, When::Dropped as i32));
            let mut context = Context::from_waker(&waker);
            assert!(first.as_mut().poll(&mut context).is_pending());
            assert!(second.as_mut().poll(&mut context).is_pending());
            actor.start();
            drop(first);
            actor.stop();
        }));
    }),
    ("a limiter of memories", |p| limited(p, "memory", |p| drop(p.call("grow memory", 1)))),
    ("a limiter of memories that the host grows", |p| {
        limited(p, "memory", |p| {
            let memory = p.instance.get_memory(&mut p.store, "memory").unwrap();
            let _ = memory.grow(&mut p.store, 1);
        })
    }),
    ("a limiter that hears that a memory has not grown", |p| {
        limited(p, "memory failed", |p| drop(p.call("grow memory", 20_000)))
    }),
    ("a limiter that hears that a memory of the host has not grown", |p| {
        limited(p, "memory failed", |p| {
            let memory = p.instance.get_memory(&mut p.store, "memory").unwrap();
            let _ = memory.grow(&mut p.store, 20_000);
        })
    }),
    ("a limiter of tables", |p| limited(p, "table", |p| drop(p.call("grow table", 1)))),
    ("a limiter of tables that the host grows", |p| {
        limited(p, "table", |p| {
            let table = p.instance.get_table(&mut p.store, "table").unwrap();
            let _ = table.grow(&mut p.store, 1, Val::ExternRef(None));
        })
    }),
    ("a limiter of stacks", |p| limited(p, "stacks", |p| drop(p.call("suspended", 1)))),
    ("a limiter of stacks that the host makes", |p| {
        limited(p, "stacks", |p| {
            let deep = p.func::<i32, i32>("deep");
            let _ = TypedContinuation::new(&mut p.store, &deep);
        })
    }),
    ("a limiter of one stack that the host continues", |p| {
        limited(p, "stack", |p| {
            let deep = p.func::<i32, i32>("deep");
            let made = TypedContinuation::new(&mut p.store, &deep).unwrap();
            let _ = made.resume(&mut p.store, 20_000);
        })
    }),
    ("a limiter of one stack of a continuation", |p| {
        limited(p, "stack", |p| drop(p.call("suspended", 20_000)))
    }),
    ("a limiter of one stack that is copied", |p| {
        p.func::<i32, ()>("hold").call(&mut p.store, 1_200).unwrap();
        limited(p, "stack", |p| drop(p.func::<(), i32>("clone").call(&mut p.store, ())))
    }),
    ("a limiter of the heap", |p| limited(p, "heap", |p| drop(p.call("objects", 2_000)))),
    ("a limiter of the heap of the host", |p| {
        limited(p, "heap", |p| {
            let _ = ExternRef::new(&mut p.store, 1);
        })
    }),
    ("a limiter of values of the host", |p| {
        limited(p, "host values", |p| {
            let _ = ExternRef::new(&mut p.store, 1);
        })
    }),
    ("a limiter of references of the host", |p| {
        let value = ExternRef::new(&mut p.store, 1).unwrap();
        limited(p, "handles", |p| {
            let _ = value.own(&mut p.store);
        })
    }),
    ("a limiter of instances", |p| {
        limited(p, "instances", |p| drop(p.linker.instantiate(&mut p.store, &p.module)))
    }),
    ("a limiter of the memories of an instance", |p| {
        limited(p, "memory", |p| drop(p.linker.instantiate(&mut p.store, &p.module)))
    }),
    ("a limiter of the tables of an instance", |p| {
        limited(p, "table", |p| drop(p.linker.instantiate(&mut p.store, &p.module)))
    }),
    ("a limiter that is ready at once", |p| decides(p, When::First)),
    ("a limiter that waits", |p| decides(p, When::Second)),
    ("the question to a limiter that is dropped", |p| decides(p, When::Dropped)),
    ("who is asked for fuel", |p| {
        let actor = p.actor.clone();
        let ask = move |_: StoreContextMut<'_, ()>| {
            actor.act();
            Ok(OutOfFuel::Continue(1_000_000))
        };
        p.store.on_out_of_fuel(ask).unwrap();
        p.store.set_fuel(100).unwrap();
        p.actor.start();
        let _ = p.func::<i32, i64>("spin").call(&mut p.store, 1000);
    }),
    ("who was asked for fuel and is dropped", |p| {
        let dropped = WhenDropped(p.actor.clone());
        let store_actor = p.actor.clone();
        let ask = move |store: StoreContextMut<'_, ()>| {
            // The value is dropped when the next one replaces it.
            let _ = (&dropped, store);
            store_actor.start();
            Ok(OutOfFuel::Continue(1_000_000))
        };
        p.store.on_out_of_fuel(ask).unwrap();
        p.store.set_fuel(100).unwrap();
        let _ = p.func::<i32, i64>("spin").call(&mut p.store, 1000);
        p.store.on_out_of_fuel(|_| Ok(OutOfFuel::Trap)).unwrap();
    }),
    ("who takes snapshots", |p| {
        let actor = p.actor.clone();
        let taken = move |_: StoreContextMut<'_, ()>, snapshot: Result<Snapshot>| {
            actor.act();
            snapshot.map(drop)
        };
        let handle = p.store.on_snapshot_request(SnapshotOptions::new(), taken).unwrap();
        handle.request();
        p.actor.start();
        let _ = p.func::<i32, i64>("spin").call(&mut p.store, 1000);
    }),
    ("who writes values of the host", |p| {
        keep_value(p, 7);
        let actor = p.actor.clone();
        let mut options = SnapshotOptions::new();
        options.write_host_values(move |_| {
            actor.act();
            Ok(vec![])
        });
        p.actor.start();
        let _ = p.store.snapshot(&options);
    }),
    ("who reads values of the host", |p| {
        keep_value(p, 7);
        let mut options = SnapshotOptions::new();
        options.write_host_values(|_| Ok(vec![]));
        let snapshot = p.store.snapshot(&options).unwrap();
        let actor = p.actor.clone();
        let mut restoring = Restoring::new(p.module.engine(), [p.module.clone()]);
        restoring.functions(&p.linker).unwrap().read_host_values(move |_| {
            actor.act();
            Ok(Box::new(()))
        });
        p.actor.start();
        let _ = snapshot.restore_by(&restoring, ());
    }),
    ("who hears of events", |p| {
        let actor = p.actor.clone();
        p.store.on_stack_event(move |_| actor.act()).unwrap();
        p.actor.start();
        let _ = p.call("suspended", 3);
    }),
    ("who is called at an event", |p| {
        let actor = p.actor.clone();
        p.store.at_stack_event(3, move |_| actor.act()).unwrap();
        p.actor.start();
        let _ = p.call("suspended", 3);
    }),
    ("a writer of traces", |p| {
        p.store.stream_trace(Writes(p.actor.clone()), "program", WhenBehind::Wait).unwrap();
        p.actor.start();
        let _ = p.call("suspended", 3);
        let _ = p.store.finish_trace();
        p.actor.stop();
    }),
    ("a value that WebAssembly collects", |p| {
        drop_value(p, |p| drop(p.func::<i32, i32>("objects").call(&mut p.store, 2_000)))
    }),
    ("a value that the host collects", |p| drop_value(p, |p| p.store.gc())),
    ("a value that a new one collects", |p| {
        drop_value(p, |p| {
            while p.actor.count() == 0 {
                let mut scope = RootScope::new(&mut p.store);
                ExternRef::new(&mut scope, [0u64; 16]).unwrap();
                drop(scope);
                p.store.gc();
            }
        })
    }),
    ("data of a store that is dropped", |p| {
        let store = Store::new(p.module.engine(), WhenDropped(p.actor.clone()));
        p.actor.start();
        drop(store);
    }),
    ("a value of a store that is dropped", |p| {
        let mut store = Store::new(p.module.engine(), ());
        ExternRef::new(&mut store, WhenDropped(p.actor.clone())).unwrap();
        p.actor.start();
        drop(store);
    }),
    ("a host function that is dropped", |p| {
        let mut store = Store::new(p.module.engine(), ());
        let dropped = WhenDropped(p.actor.clone());
        Func::wrap(&mut store, move || {
            let _ = &dropped;
        });
        p.actor.start();
        drop(store);
    }),
    ("a limiter that is dropped", |p| {
        p.store.limiter(Limits {
            actor: p.actor.clone(),
            at: "",
            _dropped: Some(WhenDropped(p.actor.clone())),
        });
        p.actor.start();
        p.store.limiter(StoreLimits::default());
    }),
];

/// Defines the imports of the program.
pub fn define(linker: &mut Linker<()>, actor: &Actor) -> Result<()> {
    let does = actor.clone();
    linker.func_wrap("host", "act", move |n: i32| {
        if n == 1 {
            does.start();
        }
        does.act();
        n
    })?;
    let does = actor.clone();
    linker.func_wrap("host", "fail", move || Err::<(), _>(WhenPrinted(does.clone())))?;
    let does = actor.clone();
    linker.func_wrap_async("host", "wait", move |_: Caller<'_, ()>, (when,): (i32,)| {
        Box::new(Waits::new(when, &does))
    })?;
    let does = actor.clone();
    linker.func_wrap_concurrent(
        "host",
        "wait concurrently",
        move |_: &Accessor<()>, (when,): (i32,)| Box::pin(Waits::new(when, &does)),
    )?;
    let does = actor.clone();
    linker.func_wrap("host", "later", move |caller: Caller<'_, ()>, when: i32| {
        let does = does.clone();
        Err::<i32, _>(caller.later(move |_| Box::pin(Waits::new(when, &does))))
    })?;
    Ok(())
}

/// When a future acts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    First,
    Second,
    Dropped,
}

/// A future that acts when it is polled, or waits until it is dropped.
struct Waits {
    when: i32,
    polls: i32,
    actor: Actor,
}

impl Waits {
    fn new(when: i32, actor: &Actor) -> Waits {
        Waits { when, polls: 0, actor: actor.clone() }
    }
}

impl Future for Waits {
    type Output = i32;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<i32> {
        let now = self.polls == self.when;
        self.polls += 1;
        if now {
            self.actor.act();
            return Poll::Ready(1);
        }
        if self.when != When::Dropped as i32 {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        if self.when == When::Dropped as i32 {
            self.actor.act();
        }
    }
}

/// Calls a function that waits, alone or as one of many.
fn waits(p: &mut Program, name: &str, when: When, alone: bool) {
    let func = p.func::<i32, i32>(name);
    p.actor.start();
    if alone {
        let mut call = Box::pin(func.call_async(&mut p.store, when as i32));
        return finish(call.as_mut(), when);
    }
    block_on(p.store.run_concurrent(async |accessor| {
        let mut call = Box::pin(func.call_concurrent(accessor, when as i32));
        finish(call.as_mut(), when);
    }));
}

/// Polls a call to its end, or until it waits.
fn finish<R>(mut call: Pin<&mut impl Future<Output = R>>, when: When) {
    let mut context = Context::from_waker(Waker::noop());
    for polls in 1.. {
        if call.as_mut().poll(&mut context).is_ready() || when == When::Dropped && polls == 2 {
            return;
        }
    }
}

struct Results(Actor);

impl WasmRet for Results {
    type Values = i32;

    fn into_values(self) -> Result<i32> {
        self.0.act();
        Ok(3)
    }
}

struct WhenWoken(Actor);

impl Wake for WhenWoken {
    fn wake(self: Arc<Self>) {
        self.0.act();
    }
}

struct WakerWhenDropped(#[expect(dead_code, reason = "it is dropped")] WhenDropped);

impl Wake for WakerWhenDropped {
    fn wake(self: Arc<Self>) {}
}

struct Writes(Actor);

impl Write for Writes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.act();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps a value of the host in a global.
fn keep_value(p: &mut Program, value: i32) {
    let value = ExternRef::new(&mut p.store, value).unwrap();
    let kept = p.instance.get_global(&mut p.store, "kept").unwrap();
    kept.set(&mut p.store, Val::ExternRef(Some(value))).unwrap();
}

/// Runs code that collects a host value.
fn drop_value(p: &mut Program, collects: fn(&mut Program)) {
    {
        let mut scope = RootScope::new(&mut p.store);
        ExternRef::new(&mut scope, WhenDropped(p.actor.clone())).unwrap();
    }
    p.actor.start();
    collects(p);
}

/// A limiter that acts at one kind of question.
struct Limits {
    actor: Actor,
    at: &'static str,
    _dropped: Option<WhenDropped>,
}

impl Limits {
    fn allows(&self, what: &str) -> bool {
        if self.at == what {
            self.actor.act();
        }
        true
    }
}

fn limited(p: &mut Program, at: &'static str, asks: impl FnOnce(&mut Program)) {
    p.store.limiter(Limits { actor: p.actor.clone(), at, _dropped: None });
    p.actor.start();
    asks(p);
}

impl ResourceLimiter for Limits {
    fn memory_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> Result<bool> {
        Ok(self.allows("memory"))
    }

    fn memory_grow_failed(&mut self, _: usize, _: usize) {
        self.allows("memory failed");
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> Result<bool> {
        Ok(self.allows("table"))
    }

    fn stacks_growing(&mut self, _: usize, _: usize, _: usize) -> bool {
        self.allows("stacks")
    }

    fn stack_growing(&mut self, _: usize, _: usize, _: usize) -> bool {
        self.allows("stack")
    }

    fn heap_growing(&mut self, _: usize, _: usize) -> bool {
        self.allows("heap")
    }

    fn host_values_growing(&mut self, _: usize, _: usize) -> bool {
        self.allows("host values")
    }

    fn handles_growing(&mut self, _: usize, _: usize) -> bool {
        self.allows("handles")
    }

    fn instances(&self) -> usize {
        self.allows("instances");
        usize::MAX
    }
}

/// A limiter that returns futures.
struct Decides {
    actor: Actor,
    when: When,
}

impl Decides {
    fn answer(&self) -> Answer<'_, Result<bool>> {
        let waits = Waits::new(self.when as i32, &self.actor);
        Box::pin(async move { Ok(waits.await == 1) })
    }
}

impl ResourceLimiterAsync for Decides {
    fn memory_growing(&self, _: usize, _: usize, _: Option<usize>) -> Answer<'_, Result<bool>> {
        self.answer()
    }

    fn table_growing(&self, _: usize, _: usize, _: Option<usize>) -> Answer<'_, Result<bool>> {
        self.answer()
    }
}

fn decides(p: &mut Program, when: When) {
    p.store.limiter_async(Decides { actor: p.actor.clone(), when });
    p.actor.start();
    let grow = p.func::<i32, i32>("grow memory");
    let mut call = Box::pin(grow.call_async(&mut p.store, 1));
    finish(call.as_mut(), when);
}
