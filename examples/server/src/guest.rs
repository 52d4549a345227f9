//! Compiles the handlers, and defines the host functions that they call.

use crate::upstream::Upstream;
use anyhow::{Context, Result, bail, ensure};
use ropewalk::{Accessor, Engine, Instance, InstancePre, Linker, Memory, Module, Store, TypedFunc};
use std::time::Duration;

/// The size of the memory block of a request.
pub const BLOCK: usize = 4096;

/// The modules, and their handlers.
const MODULES: [(&str, &[&str]); 2] = [
    (include_str!("../guests/pages.wat"), &["wait", "page"]),
    (include_str!("../guests/count.wat"), &["count"]),
];

/// The data of a store.
#[derive(Debug)]
pub struct Host {
    /// The memory of the handlers in it.
    memory: Option<Memory>,
    upstream: Upstream,
}

/// A compiled module of handlers, with resolved imports.
#[derive(Clone)]
pub struct Guest {
    ready: InstancePre<Host>,
    handlers: &'static [&'static str],
    upstream: Upstream,
}

/// An instance of a module of handlers.
pub struct Handlers {
    instance: Instance,
    /// The memory of the instance.
    pub memory: Memory,
}

/// A handler, which replaces the rest of a path in a memory block by the body.
pub type Handler = TypedFunc<(i32, i32), i32>;

impl Guest {
    /// Compiles all modules.
    pub fn all(upstream: &Upstream) -> Result<Vec<Guest>> {
        let engine = Engine::default();
        let linker = linker(&engine)?;
        let guest = |(source, handlers): &(&str, &'static [&'static str])| {
            let ready = linker.instantiate_pre(&Module::new(&engine, source)?)?;
            Ok(Guest { ready, handlers, upstream: upstream.clone() })
        };
        MODULES.iter().map(guest).collect()
    }

    /// Whether the module has a handler.
    pub fn has(&self, handler: &str) -> bool {
        self.handlers.contains(&handler)
    }

    /// The names of its handlers.
    pub fn handlers(&self) -> &'static [&'static str] {
        self.handlers
    }

    /// An instance in its own store.
    pub fn instantiate(&self) -> Result<(Store<Host>, Handlers)> {
        let host = Host { memory: None, upstream: self.upstream.clone() };
        let mut store = Store::new(self.ready.module().engine(), host);
        let instance = self.ready.instantiate(&mut store)?;
        let memory = instance.get_memory(&mut store, "memory").context("a memory")?;
        store.data_mut().memory = Some(memory);
        Ok((store, Handlers { instance, memory }))
    }
}

impl Handlers {
    /// A handler by its name.
    pub fn get(&self, store: &mut Store<Host>, name: &str) -> Result<Handler> {
        self.instance.get_typed_func(store, name)
    }
}

/// The host functions. They do not borrow the store while they wait, so other calls in it can run.
fn linker(engine: &Engine) -> Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    linker.func_wrap_concurrent("http", "sleep", |_: &Accessor<Host>, (time,): (u32,)| {
        Box::pin(tokio::time::sleep(Duration::from_millis(time.into())))
    })?;
    linker.func_wrap_concurrent(
        "http",
        "get",
        |accessor: &Accessor<Host>, (at, length, room): (u32, u32, u32)| {
            Box::pin(async move {
                let at = at as usize;
                let (memory, upstream, path) = accessor.with(|store| -> Result<_> {
                    let Host { memory, upstream } = store.data();
                    let memory =
                        memory.context("the memory is set when the module is instantiated")?;
                    let mut path = vec![0; (length as usize).min(BLOCK)];
                    memory.read(&store, at, &mut path)?;
                    Ok((memory, upstream.clone(), String::from_utf8(path)?))
                })?;
                let body = upstream.get(&path).await?;
                ensure!(body.len() <= room as usize, "no room for {} bytes", body.len());
                accessor.with(|store| memory.write(store, at, &body))?;
                Ok(body.len() as u32)
            })
        },
    )?;
    Ok(linker)
}

/// Checks the argument of a handler.
pub fn check(rest: &str) -> Result<()> {
    match rest.len() <= 32 && !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Ok(()),
        false => bail!("expected a number after the name of the handler, found {rest:?}"),
    }
}
