//! Host functions of all kinds. Each returns its argument plus one.

use super::Context;
use super::callbacks::Failure;
use super::case::CallbackSite;
use super::owned_store;
use super::site::{Reply, Site, WhenDropped};
use super::world::Data;
use ropewalk::*;
use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Poll;

type Panic = Box<dyn Any + Send>;

pub fn define(linker: &mut Linker<Data>, site: &Site) -> Result<()> {
    let ty = FuncType::new([ValType::I32], [ValType::I32]);
    let (here, dropped) = (site.clone(), WhenDropped(site.clone(), CallbackSite::DropClosure));
    linker.func_wrap("host", "plain", move |x: i32| {
        let _ = &dropped;
        match here.meet(CallbackSite::HostFunction, None) {
            Reply::Usual => Ok(x + 1),
            _ => Err(Failure(here.clone())),
        }
    })?;
    linker.func_wrap("host", "caller", |mut caller: Caller<'_, Data>, x: i32| {
        let reply =
            site_of(&caller).meet(CallbackSite::HostFunction, Some(caller.as_context_mut()));
        let reply = snapshot(&mut caller, reply);
        conclude(caller.as_context_mut(), reply, x)
    })?;
    linker.func_new("host", "dynamic", ty.clone(), |mut caller, given, results| {
        let reply =
            site_of(&caller).meet(CallbackSite::HostFunction, Some(caller.as_context_mut()));
        let x = given[0].i32().unwrap_or_default();
        results[0] = conclude(caller.as_context_mut(), reply, x)?.into();
        Ok(())
    })?;
    let here = site.clone();
    linker.func_wrap("host", "values", move |x: i32| Values(here.clone(), x))?;
    linker.func_wrap("host", "later", |mut caller: Caller<'_, Data>, x: i32| -> Result<i32> {
        let reply =
            site_of(&caller).meet(CallbackSite::HostFunction, Some(caller.as_context_mut()));
        match (reply, caller.can_wait()) {
            (Reply::Wait(_), true) => {
                Err(caller.later(move |accessor| Box::pin(by_accessor(accessor, x))).into())
            }
            (reply, _) => conclude(caller.as_context_mut(), reply, x),
        }
    })?;
    linker
        .func_wrap_async("host", "boxed", |caller, (x,): (i32,)| Box::new(waits(caller, (x,))))?;
    linker.func_wrap_async_fn("host", "async fn", waits)?;
    linker.func_new_async("host", "dynamic async", ty, |caller, given, results| {
        Box::new(async move {
            let x = given[0].i32().unwrap_or_default();
            results[0] = waits(caller, (x,)).await?.into();
            Ok(())
        })
    })?;
    linker.func_wrap_concurrent("host", "concurrent", |accessor, (x,): (i32,)| {
        Box::pin(by_accessor(accessor, x))
    })?;
    Ok(())
}

fn site_of(store: impl AsContext<Data = Data>) -> Site {
    store.as_context().data().site.clone()
}

/// Takes a snapshot if that is its act, and resumes it.
fn snapshot(caller: &mut Caller<'_, Data>, reply: Reply) -> Reply {
    if reply != Reply::Snapshot {
        return reply;
    }
    let options = owned_store::options(caller.data());
    let taken = caller.snapshot(&options);
    owned_store::resume(caller.data(), taken);
    Reply::Usual
}

/// The result of a host function that has the store.
fn conclude(mut store: Context<'_>, reply: Reply, x: i32) -> Result<i32> {
    let tag = |store: &mut Context<'_>, name: &str| {
        let instance = store.data().instance;
        instance.and_then(|instance| instance.get_tag(&mut *store, name))
    };
    Err(match reply {
        Reply::Usual => return Ok(x + 1),
        Reply::Throw => {
            let tag = tag(&mut store, "failure").ok_or_else(|| Error::msg("no tag yet"))?;
            Exception::new(&mut store, tag, &[Val::I32(x)])?.into()
        }
        Reply::Suspend => {
            let tag = tag(&mut store, "yield").ok_or_else(|| Error::msg("no tag yet"))?;
            Suspension::new(tag, &[Val::I32(x + 1)]).into()
        }
        Reply::Fail | Reply::Snapshot | Reply::Wait(_) => Failure(store.data().site.clone()).into(),
    })
}

/// An async host function that keeps the store while it is pending.
async fn waits(caller: Caller<'_, Data>, (x,): (i32,)) -> Result<i32> {
    let mut called = Called(caller);
    loop {
        match called.meet(CallbackSite::Poll) {
            Reply::Wait(polls) => pause(polls).await,
            reply => {
                let reply = snapshot(&mut called.0, reply);
                return conclude(called.0.as_context_mut(), reply, x);
            }
        }
    }
}

struct Called<'a>(Caller<'a, Data>);

impl Called<'_> {
    fn meet(&mut self, place: CallbackSite) -> Reply {
        site_of(&self.0).meet(place, Some(self.0.as_context_mut()))
    }
}

impl Drop for Called<'_> {
    fn drop(&mut self) {
        self.meet(CallbackSite::DropFuture);
    }
}

/// Uses the store when it is dropped, unless the store is in use.
struct Accesses<'a>(&'a Accessor<Data>, Site);

impl Drop for Accesses<'_> {
    fn drop(&mut self) {
        self.1.meet(CallbackSite::DropFuture, None);
        let used = catch_unwind(AssertUnwindSafe(|| {
            self.0.with(|store| self.1.meet(CallbackSite::Accessor, Some(store)));
        }));
        let is_used = |panic: &Panic| {
            let message = panic.downcast_ref::<&str>().copied();
            let message = message.or(panic.downcast_ref::<String>().map(|message| &message[..]));
            message.is_some_and(|message| message.starts_with("the store is in use"))
        };
        if let Err(panic) = used
            && !is_used(&panic)
        {
            resume_unwind(panic);
        }
    }
}

/// Like `waits`, but takes the store only when it uses it.
async fn by_accessor(accessor: &Accessor<Data>, x: i32) -> Result<i32> {
    let site = accessor.with(site_of_context);
    let _accesses = Accesses(accessor, site.clone());
    loop {
        let mut reply = site.meet(CallbackSite::Poll, None);
        if reply == Reply::Usual {
            reply = accessor.with(|store| site.meet(CallbackSite::Accessor, Some(store)));
        }
        match reply {
            Reply::Wait(polls) => pause(polls).await,
            Reply::Snapshot => {
                let options = accessor.with(|store| owned_store::options(store.data()));
                let taken = accessor.snapshot(&options);
                accessor.with(|store| owned_store::resume(store.data(), taken));
                return Ok(x + 1);
            }
            reply => return accessor.with(|store| conclude(store, reply, x)),
        }
    }
}

fn site_of_context(store: Context<'_>) -> Site {
    store.data().site.clone()
}

/// Stays pending for a number of polls.
pub async fn pause(polls: u8) {
    let mut left = polls % 8 + 1;
    poll_fn(move |context| {
        context.waker().wake_by_ref();
        left -= 1;
        match left {
            0 => Poll::Ready(()),
            _ => Poll::Pending,
        }
    })
    .await;
}

/// Results of a type of the embedder.
struct Values(Site, i32);

impl WasmRet for Values {
    type Values = i32;

    fn into_values(self) -> Result<i32> {
        match self.0.meet(CallbackSite::IntoValues, None) {
            Reply::Usual => Ok(self.1 + 1),
            _ => Err(Failure(self.0).into()),
        }
    }
}
