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

/// Every way in which stacks and heaps behave: as they are, and in the stress
/// modes.
pub fn engines() -> Vec<Engine> {
    let modes = [(false, false), (true, false), (false, true), (true, true)];
    modes.into_iter().map(|(moving, collecting)| engine(moving, collecting)).collect()
}

/// An engine whose stacks move at every host call, or whose heaps are collected
/// at every allocation, or both.
pub fn engine(moving: bool, collecting: bool) -> Engine {
    Engine::new(Config::new().move_stacks(moving).collect_always(collecting)).unwrap()
}

/// Calls an exported function without arguments, for one `i32`.
pub fn call_i32<T>(store: &mut Store<T>, instance: Instance, name: &str) -> i32 {
    let results = call(store, instance, name, &[]);
    results.unwrap_or_else(|error| panic!("{name}: {error:?}"))[0].i32().expect("an i32")
}

/// The message of an error, with those that caused it.
pub fn message<T>(result: Result<T>) -> String {
    format!("{:#}", result.err().expect("an error"))
}

/// The number of the type that a parameter or result of a function refers to.
pub fn type_number(ty: ValType) -> u32 {
    match ty {
        ValType::Ref(RefType { heap: HeapType::Concrete(number), .. }) => number,
        other => panic!("expected a reference to a defined type, found {other}"),
    }
}
