//! A host of plugins.
//!
//! Each plugin is a module that handles texts. It has its own store, so that its failures do not
//! affect other plugins. The host provides a log and settings. Calls of other imports fail.
//!
//! ```sh
//! cargo run --release -p ropewalk --example plugins
//! ```

use ropewalk::*;
use std::collections::HashMap;

/// The host's data of a plugin.
struct State {
    name: String,
    settings: HashMap<String, i32>,
    log: Vec<String>,
}

/// A plugin that is ready to handle texts.
struct Plugin {
    store: Store<State>,
    memory: Memory,
    alloc: TypedFunc<u32, u32>,
    handle: TypedFunc<(u32, u32), (u32, u32)>,
}

/// The functions that plugins may use.
fn host_functions(engine: &Engine) -> Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    linker.func_wrap(
        "host",
        "log",
        |mut caller: Caller<'_, State>, at: u32, len: u32| -> Result<()> {
            let text = text(&mut caller, at, len)?;
            let state = caller.data_mut();
            state.log.push(format!("[{}] {text}", state.name));
            Ok(())
        },
    )?;
    linker.func_wrap(
        "host",
        "setting",
        |mut caller: Caller<'_, State>, at: u32, len: u32| -> Result<i32> {
            let name = text(&mut caller, at, len)?;
            let setting = caller.data().settings.get(&name).copied();
            setting.ok_or_else(|| Error::msg(format!("there is no setting {name:?}")))
        },
    )?;
    Ok(linker)
}

/// A text in the memory of the calling plugin.
fn text(caller: &mut Caller<'_, State>, at: u32, len: u32) -> Result<String> {
    let memory = caller.get_export("memory").and_then(Extern::into_memory);
    let memory = memory.ok_or_else(|| Error::msg("the plugin must export its memory"))?;
    read(memory, caller, at, len)
}

fn read(memory: Memory, store: impl AsContext, at: u32, len: u32) -> Result<String> {
    // The length is checked before anything of that size is allocated.
    let bytes = memory.data(&store)?.get(at as usize..).and_then(|rest| rest.get(..len as usize));
    let bytes = bytes.ok_or_else(|| Error::msg("the text exceeds the memory"))?;
    Ok(std::str::from_utf8(bytes)?.to_string())
}

impl Plugin {
    fn new(ready: &InstancePre<State>, name: &str, settings: &[(&str, i32)]) -> Result<Plugin> {
        let settings = settings.iter().map(|(name, value)| (name.to_string(), *value)).collect();
        let state = State { name: name.to_string(), settings, log: vec![] };
        let mut store = Store::new(ready.module().engine(), state);
        let instance = ready.instantiate(&mut store)?;
        let memory = instance.get_memory(&mut store, "memory");
        Ok(Plugin {
            memory: memory.ok_or_else(|| Error::msg("the plugin must export its memory"))?,
            alloc: instance.get_typed_func(&mut store, "alloc")?,
            handle: instance.get_typed_func(&mut store, "handle")?,
            store,
        })
    }

    /// Has the plugin handle a text.
    fn handle(&mut self, text: &str) -> Result<String> {
        let len = text.len() as u32;
        let at = self.alloc.call(&mut self.store, len)?;
        self.memory.write(&mut self.store, at as usize, text.as_bytes())?;
        let (at, len) = self.handle.call(&mut self.store, (at, len))?;
        read(self.memory, &self.store, at, len)
    }
}

/// Runs some plugins. Returns what they say.
pub fn run(engine: &Engine) -> Result<Vec<String>> {
    let module = Module::new(engine, include_str!("plugins.wat"))?;
    let mut linker = host_functions(engine)?;
    // It imports a function of another host, which it rarely calls.
    linker.define_unknown_imports_as_traps(&module)?;
    let ready = linker.instantiate_pre(&module)?;

    let mut lines = vec![];
    let plugins: [(&str, &[(&str, i32)]); 3] =
        [("calm", &[("loud", 0)]), ("loud", &[("loud", 1)]), ("broken", &[])];
    for (name, settings) in plugins {
        let mut plugin = Plugin::new(&ready, name, settings)?;
        lines.push(match plugin.handle("Wörld") {
            Ok(greeting) => greeting,
            Err(error) => match error.downcast_ref::<HostError>() {
                Some(error) => format!("{name} has failed: {}", error.message()),
                None => format!("{name} has failed: {error:#}"),
            },
        });
        lines.append(&mut plugin.store.data_mut().log);
    }
    Ok(lines)
}

fn main() -> Result<()> {
    // A plugin may have at most a mebibyte of memory.
    let engine = Engine::new(Config::new().max_memory(1 << 20))?;
    run(&engine)?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
