//! Compiled modules.

pub(crate) mod cache;
pub(crate) mod dwarf;
pub(crate) mod error;
pub(crate) mod precompiled;
pub(crate) mod source;
pub(crate) mod stacks_module;

use crate::engine::Engine;
use crate::engine::config::Config;
use crate::engine::native_tools;
use crate::module::dwarf::Dwarf;
use crate::module::error::ModuleError;
use crate::module::source::TextSource;
use anyhow::{Context, Result};
use ropewalk_abi::module::{Item, ModuleInfo};
use ropewalk_abi::{CompositeType, ExternType, HeapType, InstanceLayout, MEMORY32_RESERVATION};
use ropewalk_compile::{CompileError, Progress, Target, UNWATCHED, Watch};
use ropewalk_runtime::code::TypePointer;
use ropewalk_runtime::{CodeMemory, LoadedModule, MemoryImages, Source};
use ropewalk_text::Text;
use std::ops::ControlFlow;
use std::sync::{Arc, OnceLock};

/// A compiled module. Cloning it is cheap, and gives the same module.
///
/// ```
/// use ropewalk::*;
///
/// let module = Module::new(&Engine::default(), r#"
///     (module $shop
///       (import "host" "log" (func))
///       (func (export "run")))
/// "#)?;
/// assert_eq!(module.name(), Some("shop"));
/// assert_eq!((module.imports().len(), module.exports().len()), (1, 1));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Module {
    engine: Engine,
    loaded: Arc<LoadedModule>,
}

/// An import of a module.
///
/// ```
/// use ropewalk::*;
///
/// let module = Module::new(&Engine::default(), r#"(module (import "env" "memory" (memory 1)))"#)?;
/// let import = module.imports().next().unwrap();
/// assert_eq!((import.module(), import.name()), ("env", "memory"));
/// assert_eq!(import.ty(), &ExternType::Memory(MemoryType::new(1, None)));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportType<'a> {
    module: &'a str,
    name: &'a str,
    ty: ExternType,
}

/// An export of a module.
///
/// ```
/// use ropewalk::*;
///
/// let module = Module::new(&Engine::default(), r#"(module (func (export "run")))"#)?;
/// let export = module.exports().next().unwrap();
/// assert_eq!((export.name(), export.ty().to_string()), ("run", "function [] -> []".into()));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportType<'a> {
    name: &'a str,
    ty: ExternType,
}

/// The index of an export of a module. It finds the export in an instance without a search by name.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (import "host" "log" (func $log (param i32)))
///       (memory (export "memory") 1)
///       (data (i32.const 8) "hello")
///       (func (export "run") (call $log (i32.const 8))))
/// "#)?;
/// let memory = module.get_export_index("memory").unwrap();
/// let mut linker = Linker::new(&engine);
/// linker.func_wrap("host", "log", move |mut caller: Caller<'_, String>, at: i32| -> Result<()> {
///     let memory = caller.get_module_export(&memory).and_then(Extern::into_memory).unwrap();
///     let (bytes, log) = memory.data_and_store_mut(&mut caller)?;
///     log.push_str(std::str::from_utf8(&bytes[at as usize..][..5])?);
///     Ok(())
/// })?;
/// let mut store = Store::new(&engine, String::new());
/// let instance = linker.instantiate(&mut store, &module)?;
/// instance.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ())?;
/// assert_eq!(store.data(), "hello");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ModuleExport {
    module: Arc<LoadedModule>,
    item: Item,
}

impl ModuleExport {
    /// The item, if the index is for this module.
    pub(crate) fn in_module(&self, module: &Arc<LoadedModule>) -> Option<Item> {
        LoadedModule::same(&self.module, module).then_some(self.item)
    }
}

impl<'a> ImportType<'a> {
    /// The name of the module that it is imported from.
    pub fn module(&self) -> &'a str {
        self.module
    }

    /// Its name in that module.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The expected type.
    pub fn ty(&self) -> &ExternType {
        &self.ty
    }
}

impl<'a> ExportType<'a> {
    /// The name of the export.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Its type.
    pub fn ty(&self) -> &ExternType {
        &self.ty
    }
}

impl Module {
    /// Compiles a module in the binary or the text format.
    ///
    /// Backtraces show positions in the text as `<text>:LINE:COLUMN`, or with the path of a module
    /// [from a file](Module::from_file).
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, "(module\n  (func (export \"run\") (unreachable)))")?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
    /// let error = run.call(&mut store, ()).unwrap_err();
    /// let frame = &error.downcast_ref::<Trap>().unwrap().backtrace().frames()[0];
    /// assert_eq!(frame.to_string(), "<text>:2:25: <module>!run");
    /// assert_eq!((frame.file(), frame.line(), frame.column()), (None, Some(2), Some(25)));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(engine: &Engine, bytes: impl AsRef<[u8]>) -> Result<Module> {
        Ok(Module::read(engine, bytes.as_ref(), None, UNWATCHED)?)
    }

    /// Compiles a module in the binary format.
    pub fn from_binary(engine: &Engine, bytes: &[u8]) -> Result<Module> {
        Ok(Module::read_binary(engine, bytes, UNWATCHED)?)
    }

    /// Compiles the module in a file. Errors and backtraces show its path.
    pub fn from_file(engine: &Engine, path: impl AsRef<std::path::Path>) -> Result<Module> {
        let path = path.as_ref();
        if let Some(module) = Module::from_cache(engine, path) {
            return Ok(module);
        }
        let name = path.display().to_string();
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
        Module::from_named(engine, &bytes, &name)
    }

    /// The module in a file, if the engine has a [cache](crate::Cache) that has the module. This does
    /// not load the file into memory, so it is fast for files of any size. It does not open pipes
    /// and devices, which can be read only once.
    pub fn from_cache(engine: &Engine, path: impl AsRef<std::path::Path>) -> Option<Module> {
        let (cache, path) = (engine.config().cache.as_ref()?, path.as_ref());
        if !std::fs::metadata(path).ok()?.is_file() {
            return None;
        }
        let mut file = std::fs::File::open(path).ok()?;
        let name = path.display().to_string();
        let place = cache.place_of_file(engine, &mut file, &name).ok()?;
        cache.find(engine, &place)
    }

    /// Compiles a module with a name, such as a path. Errors and backtraces show the name.
    pub fn from_named(engine: &Engine, bytes: &[u8], name: &str) -> Result<Module> {
        Module::watched(engine, bytes, name, |_| ControlFlow::Continue(()))
    }

    /// Compiles a module, as [`from_named`](Self::from_named), and reports the progress. `watch` can
    /// cancel the compilation.
    ///
    /// The compiling threads call `watch` after each function of the module. A module from a
    /// [cache](crate::Cache) reports nothing.
    ///
    /// ```
    /// use ropewalk::*;
    /// use std::ops::ControlFlow;
    /// use std::sync::atomic::{AtomicUsize, Ordering};
    ///
    /// let engine = Engine::default();
    /// let (most, text) = (AtomicUsize::new(0), "(func (nop)) (func (nop))");
    /// Module::watched(&engine, text.as_bytes(), "two.wat", |Progress { done, total }| {
    ///     most.fetch_max(100 * done / total, Ordering::Relaxed);
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(most.into_inner(), 100);
    ///
    /// let cancelled =
    ///     Module::watched(&engine, text.as_bytes(), "two.wat", |_| ControlFlow::Break(()));
    /// assert!(cancelled.unwrap_err().to_string().contains("the compilation was cancelled"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn watched(
        engine: &Engine,
        bytes: &[u8],
        name: &str,
        watch: impl Fn(Progress) -> ControlFlow<()> + Sync,
    ) -> Result<Module> {
        let module = Module::read(engine, bytes, Some(name.to_string()), &watch);
        Ok(module.map_err(|error| error.with_path(name))?)
    }

    /// Compiles a parsed module, which may be part of a file.
    #[doc(hidden)]
    pub fn from_text(
        engine: &Engine,
        text: Text,
        file: Option<String>,
    ) -> Result<Module, ModuleError> {
        Module::read_text(engine, text, file, UNWATCHED)
    }

    /// Compiles a module of the engine itself.
    pub(crate) fn for_engine(engine: &Engine, text: &str) -> Result<Module, ModuleError> {
        let text = Text::parse(text)?;
        let target = engine.target().clone().for_engine();
        let loaded = compile_for(engine, &target, text.binary(), UNWATCHED)?;
        let binary = Some(text.binary().into());
        let source: Arc<dyn Source> = Arc::new(TextSource { text, file: None });
        Module::of(engine, LoadedModule { source: Some(source), binary, ..loaded })
    }

    fn read_text(
        engine: &Engine,
        text: Text,
        file: Option<String>,
        watch: Watch<'_>,
    ) -> Result<Module, ModuleError> {
        match compile(engine, text.binary(), watch) {
            Ok(loaded) => {
                let source: Arc<dyn Source> = Arc::new(TextSource { text, file });
                Module::of(engine, LoadedModule { source: Some(source), ..loaded })
            }
            Err(error) => {
                let error = error.in_text(&text);
                Err(match file {
                    Some(file) => error.with_path(file),
                    None => error,
                })
            }
        }
    }

    /// Checks a module in the binary or the text format without compiling it.
    pub fn validate(engine: &Engine, bytes: impl AsRef<[u8]>) -> Result<()> {
        let Config { features, designs, .. } = *engine.config();
        let validate = |bytes: &[u8]| {
            ropewalk_compile::validate_module(features, designs, bytes).map_err(ModuleError::from)
        };
        match input(bytes.as_ref())? {
            Input::Binary(bytes) => Ok(validate(bytes).map_err(|e| e.in_binary(bytes))?),
            Input::Text(text) => Ok(validate(text.binary()).map_err(|e| e.in_text(&text))?),
        }
    }

    /// Compiles a module, or finds it in the cache.
    fn read(
        engine: &Engine,
        bytes: &[u8],
        file: Option<String>,
        watch: Watch<'_>,
    ) -> Result<Module, ModuleError> {
        let Some(cache) = &engine.config().cache else {
            return Module::compile(engine, bytes, file, watch);
        };
        let place = cache.place(engine, bytes, file.as_deref());
        if let Some(module) = cache.find(engine, &place) {
            return Ok(module);
        }
        let module = Module::compile(engine, bytes, file, watch)?;
        cache.insert(&place, &module);
        Ok(module)
    }

    fn compile(
        engine: &Engine,
        bytes: &[u8],
        file: Option<String>,
        watch: Watch<'_>,
    ) -> Result<Module, ModuleError> {
        match input(bytes)? {
            Input::Binary(bytes) => Module::read_binary(engine, bytes, watch),
            Input::Text(text) => Module::read_text(engine, text, file, watch),
        }
    }

    fn read_binary(engine: &Engine, bytes: &[u8], watch: Watch<'_>) -> Result<Module, ModuleError> {
        match compile(engine, bytes, watch) {
            Ok(loaded) => {
                let source = Dwarf::of(bytes).map(|dwarf| Arc::new(dwarf) as Arc<dyn Source>);
                Module::of(engine, LoadedModule { source, ..loaded })
            }
            Err(error) => Err(error.in_binary(bytes)),
        }
    }

    /// Makes a module of loaded code, and shows the code to native tools.
    pub(crate) fn of(engine: &Engine, mut loaded: LoadedModule) -> Result<Module, ModuleError> {
        let told = native_tools::tell(engine, &mut loaded);
        told.map_err(|error| CompileError::too_large(format!("{error:#}")))?;
        Ok(Module { engine: engine.clone(), loaded: Arc::new(loaded) })
    }

    /// The engine that compiled it.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Its name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.loaded.info.name.as_deref()
    }

    /// Its imports, in order.
    pub fn imports(&self) -> impl ExactSizeIterator<Item = ImportType<'_>> {
        let info = &self.loaded.info;
        info.imports.iter().map(|import| ImportType {
            module: &import.module,
            name: &import.name,
            ty: self.loaded.item_type(import.item),
        })
    }

    /// Its exports, in order.
    pub fn exports(&self) -> impl ExactSizeIterator<Item = ExportType<'_>> {
        let info = &self.loaded.info;
        let exports = info.exports.iter();
        exports
            .map(|export| ExportType { name: &export.name, ty: self.loaded.item_type(export.item) })
    }

    /// The type of an export.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let module = Module::new(&Engine::default(), r#"(module (memory (export "m") 1 2))"#)?;
    /// let ty = module.get_export("m").unwrap();
    /// assert_eq!(ty.memory().unwrap().maximum, Some(2));
    /// assert!(module.get_export("n").is_none());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn get_export(&self, name: &str) -> Option<ExternType> {
        Some(self.loaded.item_type(self.loaded.info.export(name)?))
    }

    /// The index of an export.
    pub fn get_export_index(&self, name: &str) -> Option<ModuleExport> {
        let item = self.loaded.info.export(name)?;
        Some(ModuleExport { module: self.loaded.clone(), item })
    }

    /// Whether both are the same module.
    pub fn same(a: &Module, b: &Module) -> bool {
        LoadedModule::same(&a.loaded, &b.loaded)
    }

    pub(crate) fn from_loaded(engine: &Engine, loaded: Arc<LoadedModule>) -> Module {
        Module { engine: engine.clone(), loaded }
    }

    pub(crate) fn loaded(&self) -> &Arc<LoadedModule> {
        &self.loaded
    }
}

enum Input<'a> {
    Binary(&'a [u8]),
    Text(Text),
}

/// A module whose first byte is zero is a binary. Text cannot begin with it.
fn input(bytes: &[u8]) -> Result<Input<'_>, ModuleError> {
    if Module::is_precompiled(bytes) {
        return Err(ModuleError::precompiled());
    }
    if bytes.first() == Some(&0) {
        return Ok(Input::Binary(bytes));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Input::Text(Text::parse(text)?)),
        // It is neither. The decoder of binaries reports the error.
        Err(_) => Ok(Input::Binary(bytes)),
    }
}

/// Compiles and loads a binary. It keeps the binary, to compile it again without enough address
/// space, and for engines with other settings.
pub(crate) fn compile(
    engine: &Engine,
    bytes: &[u8],
    watch: Watch<'_>,
) -> Result<LoadedModule, ModuleError> {
    let loaded = compile_for(engine, engine.target(), bytes, watch)?;
    Ok(LoadedModule { binary: Some(bytes.into()), ..loaded })
}

/// Compiles and loads a binary, for a target with other memories than the engine's.
fn compile_for(
    engine: &Engine,
    target: &Target,
    bytes: &[u8],
    watch: Watch<'_>,
) -> Result<LoadedModule, ModuleError> {
    let features = engine.config().features;
    let compiled = ropewalk_compile::compile_module(target, features, bytes, watch)?;
    let code = CodeMemory::load(compiled.code)
        .map_err(|error| CompileError::too_large(format!("cannot map its code: {error}")))?;
    let type_ids = engine.types().register_module(&compiled.info);
    let loaded = load(engine, compiled.info, type_ids, compiled.layout, code);
    Ok(loaded.map_err(|error| CompileError::too_large(format!("{error:#}")))?)
}

/// Compiles a module again, for memories that reserve little address space. `None` if it has no
/// binary, or without memory.
pub(crate) fn with_checks(engine: &Engine, module: &LoadedModule) -> Option<Arc<LoadedModule>> {
    if let Some(checked) = module.checked.get() {
        return Some(checked.clone());
    }
    let target = engine.target().clone().small_memories(true);
    let again = compile_for(engine, &target, module.binary()?, UNWATCHED).ok()?;
    let (source, identity) = (module.source.clone(), module.identity.clone());
    let mut checked = LoadedModule { checks_memories: true, source, identity, ..again };
    native_tools::tell(engine, &mut checked).ok()?;
    Some(module.checked.get_or_init(|| Arc::new(checked)).clone())
}

pub(crate) fn load(
    engine: &Engine,
    info: ModuleInfo,
    type_ids: Vec<u32>,
    layout: InstanceLayout,
    code: CodeMemory,
) -> Result<LoadedModule> {
    let info_of = |id: &u32| TypePointer(engine.types().get(*id).info());
    let type_infos = type_ids.iter().map(info_of).collect();
    for ty in &info.types {
        if let CompositeType::Cont(HeapType::Concrete(function)) = ty.composite {
            engine.prepare_continuations(type_ids[function as usize])?;
        }
    }
    Ok(LoadedModule {
        info,
        layout,
        code,
        type_ids,
        type_infos,
        source: None,
        images: MemoryImages::default(),
        checks_memories: engine.config().memory_reservation < MEMORY32_RESERVATION,
        binary: None,
        checked: OnceLock::new(),
        hash: OnceLock::new(),
        identity: Arc::default(),
    })
}
