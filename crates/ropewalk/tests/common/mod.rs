//! What the tests of the API share.
#![allow(dead_code, reason = "each test uses some of it")]

use ropewalk::*;

/// An instance of a module without imports, in a new store.
pub fn instantiate(text: &str) -> (Store<()>, Instance) {
    instantiate_in(&Engine::default(), text)
}

/// An instance of a module without imports, in a new store of an engine.
pub fn instantiate_in(engine: &Engine, text: &str) -> (Store<()>, Instance) {
    let module = Module::new(engine, text).unwrap();
    let mut store = Store::new(engine, ());
    let instance = Instance::new(&mut store, &module, &[]).unwrap();
    (store, instance)
}

/// Calls an exported function with any arguments.
pub fn call<T>(
    store: &mut Store<T>,
    instance: Instance,
    name: &str,
    arguments: &[Val],
) -> Result<Vec<Val>> {
    let func = instance.get_func(&mut *store, name).expect("exported");
    let count = func.ty(&*store)?.results().len();
    let mut results = vec![Val::I32(0); count];
    func.call(store, arguments, &mut results)?;
    Ok(results)
}

/// The trap that an error is.
pub fn trap(error: &Error) -> &Trap {
    error.downcast_ref::<Trap>().unwrap_or_else(|| panic!("expected a trap, found: {error:?}"))
}

/// Both ways in which stacks behave.
pub fn engines() -> Vec<Engine> {
    let moving = Engine::new(Config::new().move_stacks(true)).unwrap();
    vec![Engine::default(), moving]
}
