//! Helpers of all tests.

pub mod define;
pub mod designs;
pub mod drops;
pub mod endless;
pub mod polling;
pub mod process;
pub mod resumed;

pub use define::Define;
pub use drops::{Counted, CountsDrop};
pub use polling::{After, block_on, count_polls, poll_once};
pub use process::{alone, child, limit_address_space, memory, rerun, set_limit, told_by_parent};
pub use resumed::*;
pub use ropewalk::stress::*;
use ropewalk::*;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An instance of a module without imports, in a new store.
pub fn instantiate(text: &str) -> (Store<()>, Instance) {
    instantiate_in(&Engine::default(), text)
}

/// An instance of a module without imports, in a new store of an engine.
pub fn instantiate_in(engine: &Engine, text: impl AsRef<[u8]>) -> (Store<()>, Instance) {
    start(&Module::new(engine, text).unwrap())
}

/// An instance of a module without imports, in a new store.
pub fn start(module: &Module) -> (Store<()>, Instance) {
    let mut store = Store::new(module.engine(), ());
    let instance = Instance::new(&mut store, module, &[]).unwrap();
    (store, instance)
}

/// An instance of a module with the imports of a linker, in a new store with this data.
pub fn link<T: 'static>(
    linker: &Linker<T>,
    data: T,
    text: impl AsRef<[u8]>,
) -> (Store<T>, Instance) {
    start_with(linker, data, &Module::new(linker.engine(), text).unwrap())
}

/// The same for a compiled module.
pub fn start_with<T>(linker: &Linker<T>, data: T, module: &Module) -> (Store<T>, Instance) {
    let mut store = Store::new(module.engine(), data);
    let instance = linker.instantiate(&mut store, module).unwrap();
    (store, instance)
}

/// An instance of a module that imports `host f`, and its store.
pub fn with_host<P, R>(
    engine: &Engine,
    text: &str,
    func: impl IntoFunc<(), P, R>,
) -> (Store<()>, Instance) {
    with_host_and_data(engine, (), text, func)
}

/// The same, in a store with this data.
pub fn with_host_and_data<T: 'static, P, R>(
    engine: &Engine,
    data: T,
    text: &str,
    func: impl IntoFunc<T, P, R>,
) -> (Store<T>, Instance) {
    let mut linker = Linker::new(engine);
    linker.host("f", func);
    link(&linker, data, text)
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

/// Calls an exported function that takes numbers and returns a number or nothing.
pub fn number<T>(
    store: &mut Store<T>,
    instance: Instance,
    name: &str,
    arguments: &[i32],
) -> Result<i32> {
    let arguments: Vec<Val> = arguments.iter().map(|i| Val::I32(*i)).collect();
    let results = call(store, instance, name, &arguments)?;
    Ok(results.first().map_or(0, |result| result.i32().unwrap()))
}

/// Calls an exported function by its Rust type.
pub fn invoke<P: WasmParams, R: WasmResults>(
    mut store: impl AsContextMut,
    instance: Instance,
    name: &str,
    arguments: P,
) -> Result<R> {
    instance.get_typed_func::<P, R>(&mut store, name)?.call(store, arguments)
}

/// Calls an exported function of the caller's instance.
pub fn call_export<T, P: WasmParams, R: WasmResults>(
    caller: &mut Caller<'_, T>,
    name: &str,
    arguments: P,
) -> Result<R> {
    let func = caller.get_export(name).and_then(Extern::into_func).expect("exported");
    func.typed::<P, R>(&*caller)?.call(caller, arguments)
}

/// The same for a function that takes and returns a number.
pub fn call_back<T>(caller: &mut Caller<'_, T>, name: &str, argument: i32) -> Result<i32> {
    call_export(caller, name, argument)
}

/// An error whose `Display` fails after the first words.
#[derive(Debug)]
pub struct Unprintable;

impl std::fmt::Display for Unprintable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the first half")?;
        Err(std::fmt::Error)
    }
}

impl std::error::Error for Unprintable {}

/// The trap in an error.
pub fn trap(error: &Error) -> &Trap {
    error.downcast_ref::<Trap>().unwrap_or_else(|| panic!("expected a trap, found: {error:?}"))
}

/// Engines in the default mode, with moving stacks, with a collection at every allocation, and with
/// both.
pub fn engines() -> Vec<Engine> {
    MOVING_AND_COLLECTING.map(engine).into()
}

/// An instance of a module without imports on each of these engines.
pub fn instances(text: impl AsRef<[u8]>) -> impl Iterator<Item = (Store<()>, Instance)> {
    engines().into_iter().map(move |engine| instantiate_in(&engine, &text))
}

/// An instance of a module that imports `host f` on each of these engines.
pub fn instances_with_host<P, R>(
    text: impl AsRef<str>,
    func: impl IntoFunc<(), P, R> + Clone,
) -> impl Iterator<Item = (Store<()>, Instance)> {
    let engines = engines().into_iter();
    engines.map(move |engine| with_host(&engine, text.as_ref(), func.clone()))
}

/// An engine in a stress mode.
pub fn engine(mode: Mode) -> Engine {
    Engine::new(&mode.config()).unwrap()
}

/// Engines in these modes with a limit of stacks.
pub fn engines_with_max_stacks(count: usize) -> Vec<Engine> {
    let limited = |mode: Mode| Engine::new(mode.config().max_stacks(count)).unwrap();
    MOVING_AND_COLLECTING.map(limited).into()
}

/// Engines whose stacks have this many generations left.
pub fn few_generations(left: u64) -> Vec<Engine> {
    let limited = |mode: Mode| {
        Engine::new(mode.config().stress(|stress| stress.first_generation = LAST_GENERATION - left))
            .unwrap()
    };
    [DEFAULT, COLLECT_AND_MOVE].map(limited).into()
}

/// Engines in all modes that stacks and the host could notice.
pub fn all_engines() -> Vec<Engine> {
    let mut all = engines();
    all.push(engine(CHECK));
    all.extend([0, 1].into_iter().flat_map(few_generations));
    all
}

/// Calls an exported function without arguments, for one `i32`.
pub fn call_i32<T>(store: &mut Store<T>, instance: Instance, name: &str) -> i32 {
    let results = call(store, instance, name, &[]);
    results.unwrap_or_else(|error| panic!("{name}: {error:?}"))[0].i32().expect("an i32")
}

/// The kind of trap that a call ended with.
#[track_caller]
pub fn code<T: std::fmt::Debug>(result: Result<T>) -> TrapCode {
    trap(&result.expect_err("a trap was expected")).code()
}

/// Checks the kind of trap that a call ended with.
#[track_caller]
pub fn traps<T: std::fmt::Debug>(result: Result<T>, expected: TrapCode) {
    assert_eq!(code(result), expected);
}

/// The names of the functions in an error's backtrace.
pub fn names(error: &Error) -> Vec<&str> {
    let backtrace = error
        .downcast_ref::<HostError>()
        .map(HostError::backtrace)
        .or_else(|| error.downcast_ref::<Trap>().map(Trap::backtrace))
        .or_else(|| error.downcast_ref::<Exception>().map(Exception::backtrace))
        .expect("it has a backtrace");
    frames(backtrace)
}

/// The message of a failed host function.
pub fn host_message(error: &Error) -> &str {
    error.downcast_ref::<HostError>().expect("a host function has failed").message()
}

/// The names of the functions in a backtrace.
pub fn frames(backtrace: &Backtrace) -> Vec<&str> {
    backtrace.frames().iter().map(|frame| frame.function_name().unwrap_or("?")).collect()
}

/// The message of an error with its causes.
pub fn message<T>(result: Result<T>) -> String {
    format!("{:#}", result.err().expect("an error"))
}

/// Checks the messages of an error and its causes.
#[track_caller]
pub fn fails_as<T>(result: Result<T>, expected: impl AsRef<str>) {
    assert_eq!(message(result), expected.as_ref());
}

/// Checks that the message of an error contains this.
#[track_caller]
pub fn fails_with<T>(result: Result<T>, part: &str) {
    let error = result.err().expect("an error");
    assert!(error.to_string().contains(part), "expected {part}, found {error:#}");
}

/// The same for the messages of an error and its causes.
#[track_caller]
pub fn fails_because<T>(result: Result<T>, part: &str) {
    let found = message(result);
    assert!(found.contains(part), "expected {part}, found {found}");
}

/// Fails unless only this many stacks are alive.
#[track_caller]
pub fn check_live<T>(store: &mut Store<T>, live: usize) {
    store.gc();
    assert_eq!(store.stack_statistics().live, live);
}

/// The type of the structs that a parameter or result of a function refers to.
pub fn struct_type(engine: &Engine, ty: ValType) -> StructType {
    StructType::of(engine, ty).expect("a reference to structs of a type")
}

/// A module from a file with a damaged binary, which cannot be compiled again. A long comment makes
/// the file so large that opening it does not find the damage.
pub fn without_binary(engine: &Engine, text: &str) -> Module {
    let text = format!("{text}\n;; {}", "long ".repeat(50_000));
    let mut bytes = engine.precompile_module(text.as_bytes()).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("without-binary-{}-{number}.cwasm", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    // SAFETY: the file was just written, its code is undamaged, and nothing changes it.
    let module = unsafe { Module::deserialize_file(engine, &path) }.unwrap();
    std::fs::remove_file(path).unwrap();
    module
}
