//! Runs the programs, and gives them promises.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use anyhow::Result;
use ropewalk::{Caller, Engine, Linker, Module, Store, TypedFunc};

/// A future of the host. It is ready when it is polled for the third time.
struct Promise {
    value: i64,
    polls: u32,
}

impl Future for Promise {
    type Output = i64;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<i64> {
        self.polls += 1;
        if self.polls == 3 {
            return Poll::Ready(self.value);
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// The promises that programs wait for. Their numbers are reused.
#[derive(Default)]
pub struct Host {
    promises: Vec<Option<Promise>>,
}

impl Host {
    /// Makes a promise of this value. Returns its number.
    fn fetch(&mut self, value: i64) -> i32 {
        let free = self.promises.iter().position(Option::is_none);
        let number = free.unwrap_or(self.promises.len());
        self.promises.resize_with(self.promises.len().max(number + 1), || None);
        self.promises[number] = Some(Promise { value, polls: 0 });
        number as i32
    }

    /// The first promise that is ready, and its value.
    fn poll_settled(&mut self, context: &mut Context<'_>) -> Poll<(i32, i64)> {
        for (number, slot) in self.promises.iter_mut().enumerate() {
            let Some(promise) = slot else { continue };
            if let Poll::Ready(value) = Pin::new(promise).poll(context) {
                *slot = None;
                return Poll::Ready((number as i32, value));
            }
        }
        Poll::Pending
    }
}

/// A program, ready for one run.
pub struct Program {
    pub(crate) store: Store<Host>,
    run: TypedFunc<i64, i64>,
}

impl Program {
    /// Instantiates a program.
    pub fn new(engine: &Engine, module: &Module) -> Result<Program> {
        let mut linker = Linker::new(engine);
        linker.func_wrap("host", "fetch", |mut caller: Caller<'_, Host>, value: i64| {
            caller.data_mut().fetch(value)
        })?;
        linker.func_wrap_async("host", "settled", |mut caller: Caller<'_, Host>, ()| {
            Box::new(
                async move { poll_fn(|context| caller.data_mut().poll_settled(context)).await },
            )
        })?;
        let mut store = Store::new(engine, Host::default());
        let instance = wait(linker.instantiate_async(&mut store, module))?;
        let run = instance.get_typed_func(&mut store, "run")?;
        Ok(Program { store, run })
    }

    /// Calls `run`.
    pub fn run(&mut self, argument: i64) -> Result<i64> {
        wait(self.run.call_async(&mut self.store, argument))
    }
}

/// Polls a future until it is ready. The promises need no other code to run.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}
