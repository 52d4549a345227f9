//! The same handlers on Wasmtime, with a store for each request.

use crate::guest::BLOCK;
use crate::upstream::Upstream;
use anyhow::{Context, Result, ensure};
use std::time::Duration;
use wasmtime::{Caller, Config, Engine, InstancePre, Linker, Module, OptLevel, Store};

/// A compiled module of handlers.
pub struct Guest {
    instance: InstancePre<Upstream>,
    upstream: Upstream,
}

impl Guest {
    /// Compiles the module.
    pub fn new(upstream: &Upstream) -> Result<Guest> {
        let mut config = Config::new();
        config.cranelift_opt_level(OptLevel::Speed);
        let engine = Engine::new(&config)?;
        let source = wat::parse_str(include_str!("../guests/pages.wat"))?;
        let module = Module::new(&engine, source)?;
        let instance = linker(&engine)?.instantiate_pre(&module)?;
        Ok(Guest { instance, upstream: upstream.clone() })
    }

    /// Handles a request.
    pub async fn handle(&self, handler: &str, rest: &str) -> Result<String> {
        let mut store = Store::new(self.instance.module().engine(), self.upstream.clone());
        let instance = self.instance.instantiate_async(&mut store).await?;
        let memory = instance.get_memory(&mut store, "memory").context("a memory")?;
        let handler = instance.get_typed_func::<(i32, i32), i32>(&mut store, handler)?;
        memory.write(&mut store, 0, rest.as_bytes())?;
        let length = handler.call_async(&mut store, (0, rest.len() as i32)).await?;
        let mut body = vec![0; (length as usize).min(BLOCK)];
        memory.read(&store, 0, &mut body)?;
        Ok(String::from_utf8(body)?)
    }
}

/// The host functions.
fn linker(engine: &Engine) -> Result<Linker<Upstream>> {
    let mut linker = Linker::new(engine);
    linker.func_wrap_async("http", "sleep", |_: Caller<'_, Upstream>, (time,): (u32,)| {
        Box::new(tokio::time::sleep(Duration::from_millis(time.into())))
    })?;
    linker.func_wrap_async("http", "get", |caller: Caller<'_, Upstream>, arguments| {
        Box::new(async move { get(caller, arguments).await.map_err(wasmtime::Error::from_anyhow) })
    })?;
    Ok(linker)
}

/// Requests the path in memory, and replaces it by the body.
async fn get(mut caller: Caller<'_, Upstream>, (at, length, room): (u32, u32, u32)) -> Result<u32> {
    let memory = caller.get_export("memory").and_then(|item| item.into_memory());
    let memory = memory.context("a memory")?;
    let mut path = vec![0; (length as usize).min(BLOCK)];
    memory.read(&caller, at as usize, &mut path)?;
    let body = caller.data().clone().get(std::str::from_utf8(&path)?).await?;
    ensure!(body.len() <= room as usize, "no room for {} bytes", body.len());
    memory.write(&mut caller, at as usize, &body)?;
    Ok(body.len() as u32)
}
