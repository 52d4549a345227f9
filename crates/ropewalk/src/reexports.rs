//! Public items of the internal crates, with examples that use this crate.

/// The parameters and results of a function.
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

/// The type of a value.
///
/// ```
/// use ropewalk::*;
///
/// assert_eq!(Val::default_for(ValType::F64).f64(), Some(0.0));
/// assert_eq!(ValType::from(RefType::ANYREF).to_string(), "anyref");
/// ```
#[doc(inline)]
pub use ropewalk_abi::ValType;

/// The type of a reference: what it refers to, and whether it can be null.
///
/// ```
/// use ropewalk::*;
///
/// assert_eq!(RefType::new(false, HeapType::Struct).to_string(), "(ref struct)");
/// assert_eq!(RefType::FUNCREF.to_string(), "funcref");
/// ```
#[doc(inline)]
pub use ropewalk_abi::RefType;

/// The type that a reference refers to.
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

/// The type of a field of a struct, or of an element of an array.
///
/// ```
/// use ropewalk::*;
///
/// assert_eq!(FieldType::new(StorageType::I8, true).to_string(), "(mut i8)");
/// assert_eq!(FieldType::new(ValType::I64, false).to_string(), "i64");
/// ```
#[doc(inline)]
pub use ropewalk_abi::FieldType;

/// How a field is stored. Packed integers are read and written as `i32`.
///
/// ```
/// use ropewalk::*;
///
/// assert_eq!(StorageType::I16.unpacked(), ValType::I32);
/// assert_eq!(StorageType::from(ValType::F32).unpacked(), ValType::F32);
/// ```
#[doc(inline)]
pub use ropewalk_abi::StorageType;

/// The size and the limit of a memory.
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

/// The elements, the size and the limit of a table.
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

/// The values of a global, and whether it can be set.
///
/// ```
/// use ropewalk::*;
///
/// assert_eq!(GlobalType::new(ValType::I32, true).to_string(), "global (mut i32)");
/// ```
#[doc(inline)]
pub use ropewalk_abi::GlobalType;

/// The values of an exception or a suspension, and the values that resume it.
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

/// The type of an import or an export.
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

/// The design of a stack.
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

/// The reason of a trap.
///
/// ```
/// use ropewalk::*;
///
/// let trap = Trap::from_code(TrapCode::IntegerDivideByZero);
/// assert_eq!(trap.to_string(), "wasm trap: integer divide by zero");
/// ```
#[doc(inline)]
pub use ropewalk_abi::TrapCode;

/// The error of a call that traps.
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

/// A trap on a first-class stack, as the host value that the ground of the stack gets.
/// [`ContRef::new_stack_for_traps`](crate::ContRef::new_stack_for_traps) has an example.
#[doc(inline)]
pub use ropewalk_runtime::StackTrap;

/// The error of a call whose host function has failed.
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
/// // The message, and then a backtrace of WebAssembly.
/// assert_eq!(
///     error.to_string(),
///     "there is no such file\nwasm backtrace:\n   0: <text>:4:29: <module>!run"
/// );
/// // It wraps the error of the host function.
/// assert_eq!(error.downcast_ref::<io::Error>().unwrap().kind(), io::ErrorKind::NotFound);
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_runtime::HostError;

/// The error of instantiating a module whose import is missing or has a wrong type.
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

/// The frames of WebAssembly. [`Trap`], [`HostError`] and [`Exception`](crate::Exception) have one.
/// So have a suspended [`Continuation`](crate::Continuation), and the
/// [caller](crate::Caller::backtrace) of a host function.
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

/// A function of a [`Backtrace`], and the position in it.
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

/// A position in the source of a module, for a [`Frame`].
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
pub use ropewalk_runtime::SourcePlace;

/// What connects two frames of a [`Backtrace`] that are on different stacks.
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

/// How many stacks a [`Store`](crate::Store) has, and how much memory they take.
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

/// A stack of a [`StackList`].
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

/// Which stacks wait for which others, and where: the report of [`StackList::waits`].
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

/// The state of a stack. A [`StackList`] has only stacks that are in use.
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

/// The progress of a compilation. [`Module::watched`](crate::Module::watched) has an example.
#[doc(inline)]
pub use ropewalk_compile::Progress;

/// What happens when the writer of a trace is too slow.
/// [`Store::stream_trace`](crate::Store::stream_trace) has an example.
#[doc(inline)]
pub use ropewalk_runtime::observe::trace::WhenBehind;

/// A profile: where a program has spent its time.
/// [`Store::start_profile`](crate::Store::start_profile) has an example that takes one. Its parts:
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

/// A sample of a [`Profile`], which has an example.
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

/// A limiter whose decisions may take time. [`Store::limiter_async`](crate::Store::limiter_async) has an example.
#[doc(inline)]
pub use ropewalk_runtime::ResourceLimiterAsync;

/// The decision of an async limiter. [`Store::limiter_async`](crate::Store::limiter_async) has an
/// example.
#[doc(inline)]
pub use ropewalk_runtime::Answer;

/// The error of something that a limiter has refused. [`ResourceLimiter`] has an example.
#[doc(inline)]
pub use ropewalk_runtime::Refused;

/// The error of a call that cannot wait for the decision of an async limiter.
/// [`Store::limiter_async`](crate::Store::limiter_async) has an example.
#[doc(inline)]
pub use ropewalk_runtime::Undecided;

/// What happens to a call that has used up all fuel.
/// [`Store::on_out_of_fuel`](crate::Store::on_out_of_fuel) has an example.
#[doc(inline)]
pub use ropewalk_runtime::OutOfFuel;
