//! What a trap of the interface contains.

use crate::objects::store::{Data, StoreRef, WeakStoreRef};
use crate::support::host_info::HostInfo;
use anyhow::{Error, Result};
use ropewalk::{Backtrace, Caller, Exception, HostError, Suspension, Trap};
use std::fmt;
use std::sync::Arc;

/// The reason that a call failed, or that a host function fails with.
pub(crate) struct Thrown {
    pub(crate) cause: Cause,
    /// The store of the call, for the instances of frames. A trap does not keep its store.
    store: Option<WeakStoreRef>,
    pub(crate) info: Arc<HostInfo>,
}

pub(crate) enum Cause {
    Error(Error),
    Exception(Exception),
    /// A suspension. It is made, and its values are loaded into the store, when it is returned.
    Suspension(Box<MakeSuspension>),
}

pub(crate) type MakeSuspension = dyn Fn(&mut Caller<'_, Data>) -> Result<Suspension> + Send + Sync;

impl Thrown {
    /// The store of the call, if it still exists.
    pub(crate) fn store(&self) -> Option<StoreRef> {
        self.store.as_ref().and_then(WeakStoreRef::get)
    }

    pub(crate) fn new(cause: Cause) -> Arc<Thrown> {
        Arc::new(Thrown { cause, store: None, info: Arc::default() })
    }

    /// The reason that a call in a store failed.
    pub(crate) fn of(error: Error, store: Option<&StoreRef>) -> Arc<Thrown> {
        let store = store.map(StoreRef::weak);
        if let Some(exception) = error.downcast_ref::<Exception>() {
            let cause = Cause::Exception(exception.clone());
            return Arc::new(Thrown { cause, store, info: Arc::default() });
        }
        // A trap keeps its host info on its way through WebAssembly.
        let passed = error.downcast_ref::<Passed>().map(|passed| passed.0.info.clone());
        Arc::new(Thrown { cause: Cause::Error(error), store, info: passed.unwrap_or_default() })
    }

    /// The error of a host function that returns this.
    pub(crate) fn error(self: &Arc<Thrown>, caller: &mut Caller<'_, Data>) -> Error {
        match &self.cause {
            Cause::Error(_) => Passed(self.clone()).into(),
            Cause::Exception(exception) => exception.clone().into(),
            Cause::Suspension(make) => make(caller).map_or_else(|error| error, Error::from),
        }
    }

    pub(crate) fn backtrace(&self) -> Option<&Backtrace> {
        match &self.cause {
            Cause::Exception(exception) => Some(exception.backtrace()),
            Cause::Error(error) => {
                let host = error.downcast_ref::<HostError>().map(HostError::backtrace);
                host.or_else(|| Some(error.downcast_ref::<Trap>()?.backtrace()))
            }
            Cause::Suspension(..) => None,
        }
    }

    /// The message without the backtrace.
    pub(crate) fn message(&self) -> String {
        let text = match &self.cause {
            Cause::Error(error) => match error.downcast_ref::<HostError>() {
                Some(error) => error.message().to_string(),
                None => format!("{error:#}"),
            },
            Cause::Exception(exception) => exception.to_string(),
            Cause::Suspension(..) => "a suspension, which only a host function may return".into(),
        };
        let place = self.backtrace().map(|backtrace| format!("\n{backtrace}"));
        match place.and_then(|place| text.strip_suffix(&place).map(str::to_string)) {
            Some(message) => message,
            None => text,
        }
    }

    /// The error of this type, also if it was passed through another call.
    pub(crate) fn find<E: std::error::Error + Send + Sync + 'static>(&self) -> Option<&E> {
        let Cause::Error(error) = &self.cause else { return None };
        let passed = || error.downcast_ref::<Passed>()?.0.find();
        error.downcast_ref().or_else(passed)
    }
}

/// A trap that a host function returned, as an error.
struct Passed(Arc<Thrown>);

impl fmt::Display for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message())
    }
}

impl fmt::Debug for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Passed {}
