//! What an embedder sees of other crates, with examples, which those cannot have.

/// What a function takes and returns.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let ty = FuncType::new([ValType::I32, ValType::I32], [ValType::I64]);
/// let wide_add = Func::new(&mut store, ty, |_, arguments, results| {
///     let [a, b] = [0, 1].map(|i| i64::from(arguments[i].unwrap_i32()));
///     results[0] = Val::I64(a + b);
///     Ok(())
/// })?;
/// assert_eq!(wide_add.ty(&store)?.to_string(), "[i32 i32] -> [i64]");
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_abi::FuncType;

/// Which values there can be.
///
/// ```
/// use ropewalk::*;
///
/// assert_eq!(Val::default_for(ValType::F64).f64(), Some(0.0));
/// assert_eq!(ValType::from(RefType::ANYREF).to_string(), "anyref");
/// ```
#[doc(inline)]
pub use ropewalk_abi::ValType;

/// Which references there can be: to what, and whether null is among them.
///
/// ```
/// use ropewalk::*;
///
/// assert_eq!(RefType::new(false, HeapType::Struct).to_string(), "(ref struct)");
/// assert_eq!(RefType::FUNCREF.to_string(), "funcref");
/// ```
#[doc(inline)]
pub use ropewalk_abi::RefType;

/// What references refer to.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let point = StructType::new(&engine, [FieldType::new(ValType::F64, true); 2])?;
/// let ty = RefType::new(true, HeapType::from(&point));
/// assert_eq!(point.reference(true), ty);
/// assert_eq!(StructType::of(&engine, ty.into()), Some(point));
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_abi::HeapType;

/// What a field of a struct, or an element of an array, is.
///
/// ```
/// use ropewalk::*;
///
/// assert_eq!(FieldType::new(StorageType::I8, true).to_string(), "(mut i8)");
/// assert_eq!(FieldType::new(ValType::I64, false).to_string(), "i64");
/// ```
#[doc(inline)]
pub use ropewalk_abi::FieldType;

/// How a field is stored. Small integers are read and written as `i32`.
///
/// ```
/// use ropewalk::*;
///
/// assert_eq!(StorageType::I16.unpacked(), ValType::I32);
/// assert_eq!(StorageType::from(ValType::F32).unpacked(), ValType::F32);
/// ```
#[doc(inline)]
pub use ropewalk_abi::StorageType;

/// How large a memory is, and may become.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let memory = Memory::new(&mut store, MemoryType::new(1, Some(2)))?;
/// memory.grow(&mut store, 1)?;
/// assert!(memory.grow(&mut store, 1).is_err());
/// assert_eq!(memory.ty(&store)?, MemoryType::new(2, Some(2)));
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_abi::MemoryType;

/// What a table has, and how large it is, and may become.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let ty = TableType::new(RefType::EXTERNREF, 4, Some(8));
/// let table = Table::new(&mut store, ty, Val::ExternRef(None))?;
/// assert_eq!((table.size(&store)?, table.ty(&store)?), (4, ty));
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_abi::TableType;

/// Which values a global has, and whether it can be set.
///
/// ```
/// use ropewalk::*;
///
/// assert_eq!(GlobalType::new(ValType::I32, true).to_string(), "global (mut i32)");
/// ```
#[doc(inline)]
pub use ropewalk_abi::GlobalType;

/// Which values go with an exception or a suspension, and with which it is resumed.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let asks = FuncType::new([ValType::I32], [ValType::I64]);
/// let tag = Tag::new(&mut store, TagType::new(asks))?;
/// assert_eq!(tag.ty(&store)?.to_string(), "tag [i32] -> [i64]");
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_abi::TagType;

/// What an import or an export is.
///
/// ```
/// use ropewalk::*;
///
/// let module = Module::new(&Engine::default(), r#"(module (func (export "f") (param i32)))"#)?;
/// let f = module.get_export("f").unwrap();
/// assert_eq!((f.kind(), f.func().unwrap().params()), ("function", &[ValType::I32][..]));
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_abi::ExternType;

/// Which design a stack is of.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (type $body (func)) (type $k (cont $body))
///       (func $body) (elem declare func $body)
///       (func (export "new") (result (ref $k)) (cont.new $k (ref.func $body))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let new = instance.get_typed_func::<(), ContRef>(&mut store, "new")?;
/// let continuation = new.call(&mut store, ())?;
/// assert_eq!(continuation.design(&store)?, StackKind::Continuation);
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_abi::stack::StackKind;

/// The reasons for which WebAssembly traps.
///
/// ```
/// use ropewalk::*;
///
/// let trap = Trap::from_code(TrapCode::IntegerDivideByZero);
/// assert_eq!(trap.to_string(), "wasm trap: integer divide by zero");
/// ```
#[doc(inline)]
pub use ropewalk_abi::TrapCode;

/// What a call that traps returns as its error.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module (func (export "divide") (param i32 i32) (result i32)
///       (i32.div_s (local.get 0) (local.get 1))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let divide = instance.get_typed_func::<(i32, i32), i32>(&mut store, "divide")?;
/// let error = divide.call(&mut store, (1, 0)).unwrap_err();
/// let trap = error.downcast_ref::<Trap>().unwrap();
/// assert_eq!(trap.code(), TrapCode::IntegerDivideByZero);
/// assert_eq!(trap.backtrace().frames()[0].function_name(), Some("divide"));
/// // The store can be used as before.
/// assert_eq!(divide.call(&mut store, (6, 2))?, 3);
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_runtime::Trap;

/// What a call returns as its error if a host function has failed.
///
/// ```
/// use ropewalk::*;
/// # use std::io;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (import "host" "open" (func $open))
///       (func (export "run") (call $open)))
/// "#)?;
/// let mut linker = Linker::new(&engine);
/// linker.func_wrap("host", "open", || -> Result<()> {
///     Err(io::Error::new(io::ErrorKind::NotFound, "there is no such file").into())
/// })?;
/// let mut store = Store::new(&engine, ());
/// let instance = linker.instantiate(&mut store, &module)?;
/// let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
/// let error = run.call(&mut store, ()).unwrap_err();
///
/// // The message, and then where WebAssembly was.
/// assert_eq!(
///     error.to_string(),
///     "there is no such file\nwasm backtrace:\n   0: <text>:4:29: <module>!run"
/// );
/// // What the host function returned is there too.
/// assert_eq!(error.downcast_ref::<io::Error>().unwrap().kind(), io::ErrorKind::NotFound);
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_runtime::HostError;

/// What instantiating a module returns as its error if an import is missing or does not fit.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"(module (import "host" "f" (func)))"#)?;
/// let mut store = Store::new(&engine, ());
/// let error = Linker::new(&engine).instantiate(&mut store, &module).unwrap_err();
/// let missing = error.downcast_ref::<LinkError>().unwrap();
/// assert_eq!((&missing.module[..], &missing.name[..], &missing.found), ("host", "f", &None));
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_runtime::LinkError;

/// Where WebAssembly was. [`Trap`], [`HostError`] and [`Exception`](crate::Exception) have
/// one, a suspended [`Continuation`](crate::Continuation) too, and a host function
/// [gets one](crate::Caller::backtrace).
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module $m
///       (func $inner (unreachable))
///       (func (export "run") (call $inner)))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
/// let error = run.call(&mut store, ()).unwrap_err();
/// let backtrace = error.downcast_ref::<Trap>().unwrap().backtrace();
/// assert_eq!(
///     backtrace.to_string(),
///     "wasm backtrace:\n   0: <text>:3:21: m!inner\n   1: <text>:4:29: m!run"
/// );
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_runtime::Backtrace;

/// A function of a [`Backtrace`], and where in it.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, "(module $m (func $main (unreachable)) (start $main))")?;
/// let mut store = Store::new(&engine, ());
/// let error = Instance::new(&mut store, &module, &[]).unwrap_err();
/// let frame = &error.downcast_ref::<Trap>().unwrap().backtrace().frames()[0];
/// assert_eq!((frame.module_name(), frame.function_name()), (Some("m"), Some("main")));
/// assert_eq!((frame.line(), frame.column()), (Some(1), Some(25)));
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_runtime::Frame;

/// A line of the source of a module, for a [`Frame`].
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::from_named(&engine, b"(func $main (unreachable)) (start $main)", "a.wat")?;
/// let mut store = Store::new(&engine, ());
/// let error = Instance::new(&mut store, &module, &[]).unwrap_err();
/// let frame = &error.downcast_ref::<Trap>().unwrap().backtrace().frames()[0];
/// assert_eq!(frame.places()[0].to_string(), "a.wat:1:14");
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_runtime::Place;

/// What lies between two frames of a [`Backtrace`] that are on different stacks.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (type $body (func)) (type $k (cont $body)) (tag $yield)
///       (func $body (unreachable)) (elem declare func $body)
///       (func (export "run")
///         (block $on (result (ref $k))
///           (resume $k (on $yield $on) (cont.new $k (ref.func $body)))
///           (return))
///         (drop)))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
/// let error = run.call(&mut store, ()).unwrap_err();
/// let frames = error.downcast_ref::<Trap>().unwrap().backtrace().frames();
/// assert_eq!(frames[0].boundary(), None);
/// assert_eq!(frames[1].boundary().unwrap().to_string(), "resumed by resume (on $yield)");
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_runtime::Boundary;

/// How many stacks a [`Store`](crate::Store) has, and what they take.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let func = Func::wrap(&mut store, || {});
/// let continuation = Continuation::new(&mut store, func)?;
/// assert_eq!(store.stack_statistics().live, 1);
/// drop(continuation);
/// assert_eq!(store.stack_statistics().live, 0);
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_runtime::StackStatistics;

/// The stacks of a [`Store`](crate::Store) at one moment, as
/// [`Store::stacks`](crate::Store::stacks) lists them. It prints as a tree.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let func = Func::wrap(&mut store, || {});
/// let continuation = Continuation::new(&mut store, func)?;
/// let stacks = store.stacks()?;
/// assert!(stacks.to_string().starts_with("1 stack\nstack "));
/// assert!(stacks.to_json().contains("\"state\": \"new\""));
/// # drop(continuation);
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_runtime::StackList;

/// What a [`StackList`] says of a stack.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let func = Func::wrap(&mut store, || {});
/// let _continuation = Continuation::new(&mut store, func)?;
/// let StackInfo { life, kind, parent, .. } = store.stacks()?.iter().next().unwrap().clone();
/// assert_eq!((life, kind, parent), (Life::New, Some(StackKind::Continuation), None));
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_runtime::StackInfo;

/// Who waits for whom, and in what: the report of [`StackList::waits`].
///
/// ```
/// use ropewalk::*;
///
/// let store = Store::new(&Engine::default(), ());
/// assert!(store.stacks()?.waits().is_empty());
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_runtime::Waits;

/// The state of a stack. Only those of stacks that are in use are in a [`StackList`].
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let func = Func::wrap(&mut store, || {});
/// let _continuation = Continuation::new(&mut store, func)?;
/// assert_eq!(store.park_idle(), 1);
/// assert_eq!(store.stacks()?.iter().next().unwrap().life, Life::Parked);
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_abi::life::Life;

/// How far a compilation is. [`Module::watched`](crate::Module::watched) has an example.
#[doc(inline)]
pub use ropewalk_compile::Progress;

/// What happens when the file of a trace is behind.
/// [`Store::stream_trace`](crate::Store::stream_trace) has an example.
#[doc(inline)]
pub use ropewalk_runtime::observe::trace::WhenBehind;

/// Where a program has spent its time. [`Store::start_profile`](crate::Store::start_profile) has
/// an example that prints one; this is how it is read:
///
/// ```
/// use ropewalk::*;
/// use std::time::Duration;
///
/// let profile = Profile {
///     interval: Duration::from_millis(1),
///     functions: vec!["m!run".into(), "m!spin".into()],
///     stacks: vec![vec![0], vec![0, 1]],
///     samples: [1, 1, 0].map(|stack| Sample { time: Duration::ZERO, stack }).to_vec(),
/// };
/// assert_eq!(profile.to_folded(), "m!run 1\nm!run;m!spin 2\n");
/// ```
#[doc(inline)]
pub use ropewalk_runtime::Profile;

/// Where a program was at some time. [`Profile`] has an example.
#[doc(inline)]
pub use ropewalk_runtime::Sample;

/// A limiter that counts:
///
/// ```
/// use ropewalk::*;
///
/// /// How many pages memories may have together.
/// struct Pages(usize);
///
/// impl ResourceLimiter for Pages {
///     fn memory_growing(&mut self, old: usize, new: usize, _: Option<usize>) -> Result<bool> {
///         let pages = (new - old) >> 16;
///         let is_left = pages <= self.0;
///         self.0 -= if is_left { pages } else { 0 };
///         Ok(is_left)
///     }
///
///     fn table_growing(&mut self, _: usize, new: usize, _: Option<usize>) -> Result<bool> {
///         Ok(new <= 1000)
///     }
/// }
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, "(memory 2)")?;
/// let mut store = Store::new(&engine, ());
/// store.limiter(Pages(3));
/// Instance::new(&mut store, &module, &[])?;
/// let error = Instance::new(&mut store, &module, &[]).unwrap_err();
/// assert!(error.downcast_ref::<Refused>().is_some(), "{error}");
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_runtime::ResourceLimiter;

/// A limiter that may wait. [`Store::limiter_async`](crate::Store::limiter_async) has an example.
#[doc(inline)]
pub use ropewalk_runtime::ResourceLimiterAsync;

/// What a limiter that may wait answers. [`Store::limiter_async`](crate::Store::limiter_async) has
/// an example.
#[doc(inline)]
pub use ropewalk_runtime::Answer;

/// Something that a limiter has refused. [`ResourceLimiter`] has an example.
#[doc(inline)]
pub use ropewalk_runtime::Refused;

/// A limiter that may wait has not decided, where nobody waits for it.
/// [`Store::limiter_async`](crate::Store::limiter_async) has an example.
#[doc(inline)]
pub use ropewalk_runtime::Undecided;

/// What becomes of a call that has used up all fuel.
/// [`Store::on_out_of_fuel`](crate::Store::on_out_of_fuel) has an example.
#[doc(inline)]
pub use ropewalk_runtime::OutOfFuel;
