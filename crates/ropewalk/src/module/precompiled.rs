//! Compiled modules as bytes: their contents besides the code, and the check of settings.

use crate::engine::Engine;
use crate::engine::native_tools;
use crate::module::source::SourceInFile;
use crate::module::{Module, compile, load};
use anyhow::{Context, Error, Result, ensure};
use ropewalk_abi::InstanceLayout;
use ropewalk_abi::code::CodeTables;
use ropewalk_abi::module::{DataImage, ModuleInfo};
use ropewalk_abi::names::FunctionNames;
use ropewalk_compile::{Progress, Watch};
use ropewalk_runtime::code::precompiled::{
    Contents, NamesInFile, Precompiled, PrecompiledError, is_precompiled, write,
};
use ropewalk_runtime::{CodeMemory, DataInFile, LoadedModule, Source};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::Arc;

/// The name and value of a setting that compiled code depends on.
type Setting = (String, String);

/// The settings that identify the version of the engine. Other versions cannot read its files.
const OF_VERSION: [&str; 2] = ["version", "revision"];

/// The error of a compiled module that does not fit an engine: it was compiled with another
/// setting, for another machine, or by another version. [`Module::deserialize_or_compile`] can use
/// it unless the version differs.
///
/// ```
/// use ropewalk::*;
///
/// let bytes = Engine::default().precompile_module(b"(func)")?;
/// let engine = Engine::new(Config::new().interruption(true))?;
/// // SAFETY: the bytes come from above.
/// let error = unsafe { Module::deserialize(&engine, &bytes) }.unwrap_err();
/// assert!(!error.downcast_ref::<OtherSettings>().unwrap().is_version());
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[error(
    "it was compiled with {} = {}, but this engine has {} = {}: compile it again",
    found.0, found.1, expected.0, expected.1
)]
pub struct OtherSettings {
    found: Setting,
    expected: Setting,
}

impl OtherSettings {
    /// Whether another version of the engine compiled it.
    pub fn is_version(&self) -> bool {
        OF_VERSION.contains(&&*self.expected.0)
    }
}

/// All settings that must be equal for a module and an engine, the version first.
pub(crate) fn settings(engine: &Engine) -> Vec<Setting> {
    let own = [
        ("version", env!("CARGO_PKG_VERSION").to_string()),
        ("revision", env!("ROPEWALK_REVISION").to_string()),
        ("features of the language", format!("{:?}", engine.config().features)),
        ("designs", format!("{:?}", engine.config().designs)),
    ];
    let own = own.map(|(name, value)| (name.to_string(), value));
    own.into_iter().chain(engine.target().settings()).collect()
}

/// The settings as bytes. [`Engine::settings_bytes`] caches them.
pub(crate) fn settings_bytes(engine: &Engine) -> Vec<u8> {
    postcard::to_allocvec(&settings(engine)).expect("memory takes all bytes")
}

/// The description of a module in its file.
#[derive(Serialize, Deserialize)]
struct ModuleRecord<I> {
    info: I,
    /// The part of the data for each segment.
    segments: Vec<Range<usize>>,
    images: Vec<DataImage>,
}

fn to_bytes(engine: &Engine, module: &LoadedModule) -> Result<Vec<u8>> {
    let LoadedModule { info, code, source, .. } = module;
    code.check()?;
    let source = source.as_ref().map(|source| source.stored());
    let DataInFile { bytes, segments, images } = module.data_in_file();
    let record = ModuleRecord { info, segments, images };
    let (names, text) = info.function_names.to_file();
    let (trampolines, trampoline_code) =
        engine.trampolines().of_module(engine.target(), engine.types(), module)?;
    Ok(write(&Contents {
        settings: engine.settings_bytes(),
        info: &postcard::to_allocvec(&record)?,
        tables: CodeTables { data: &bytes, ..*code.tables() },
        code: code.bytes(),
        trampolines: &trampolines,
        trampoline_code: &trampoline_code,
        names: (&names, text.as_bytes()),
        source: source.as_deref().unwrap_or_default(),
        binary: module.binary().unwrap_or_default(),
    }))
}

impl Module {
    /// The compiled module as bytes, for [`deserialize`](Module::deserialize) in this process or
    /// another one.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let bytes = Module::new(&engine, r#"(func (export "two") (result i32) i32.const 2)"#)?
    ///     .serialize()?;
    ///
    /// let engine = Engine::default();
    /// // SAFETY: the bytes come from above.
    /// let module = unsafe { Module::deserialize(&engine, &bytes)? };
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let two = instance.get_typed_func::<(), i32>(&mut store, "two")?;
    /// assert_eq!(two.call(&mut store, ())?, 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn serialize(&self) -> Result<Vec<u8>> {
        to_bytes(self.engine(), self.loaded())
    }

    /// Loads a module from bytes that [`serialize`](Module::serialize) or
    /// [`Engine::precompile_module`] wrote. They are copied.
    ///
    /// Fails if another version of the engine compiled them, or with other settings, or for another
    /// machine, and if they are damaged: all of them are checked.
    ///
    /// # Safety
    ///
    /// The bytes are executed as code. They must come from those functions, unchanged: the checksum
    /// finds accidents, not attacks.
    pub unsafe fn deserialize(engine: &Engine, bytes: impl AsRef<[u8]>) -> Result<Module> {
        // SAFETY: the caller promises it.
        unsafe { of_precompiled(engine, Precompiled::copy(bytes.as_ref())) }
    }

    /// Loads a module from a file. The file is mapped, so a large module costs only its
    /// used pages.
    ///
    /// A file of up to 192 KiB is checked at once. The code of a larger one is checked when it first
    /// runs. Damaged code does not run: it [traps](crate::TrapCode::DamagedCode), and its store
    /// cannot be used again. [`check`](Module::check) checks everything.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let path = std::env::temp_dir().join(format!("two-{}.cwasm", std::process::id()));
    /// let engine = Engine::default();
    /// std::fs::write(&path, engine.precompile_module(b"(func (export \"f\"))")?)?;
    /// // SAFETY: the file was just written, and does not change.
    /// let module = unsafe { Module::deserialize_file(&engine, &path)? };
    /// assert_eq!(module.exports().len(), 1);
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// As for [`deserialize`](Module::deserialize). Also, the bytes of the file must not change, and
    /// the file must not become shorter, as long as the module is in use. The file may be renamed,
    /// replaced or removed.
    pub unsafe fn deserialize_file(engine: &Engine, path: impl AsRef<Path>) -> Result<Module> {
        let path = path.as_ref();
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        // SAFETY: the caller promises it.
        unsafe { of_precompiled(engine, Precompiled::open(file)) }
            .with_context(|| format!("cannot use {}", path.display()))
    }

    /// Loads a module, as [`deserialize`](Module::deserialize). If it was compiled with other
    /// settings or for another machine, compiles it again from the binary in the bytes. An engine
    /// with a [cache](crate::Cache) does that once.
    ///
    /// `watch` gets the progress, as for [`watched`](Module::watched). Fails for a module of another
    /// version of the engine.
    ///
    /// ```
    /// use ropewalk::*;
    /// use std::ops::ControlFlow;
    ///
    /// let bytes = Engine::default().precompile_module(b"(func (export \"f\"))")?;
    /// let engine = Engine::new(Config::new().interruption(true))?;
    /// let watch = |_| ControlFlow::Continue(());
    /// // SAFETY: the bytes come from above.
    /// let module = unsafe { Module::deserialize_or_compile(&engine, &bytes, watch)? };
    /// assert_eq!(module.exports().len(), 1);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Safety
    ///
    /// As for [`deserialize`](Module::deserialize).
    pub unsafe fn deserialize_or_compile(
        engine: &Engine,
        bytes: impl AsRef<[u8]>,
        watch: impl Fn(Progress) -> ControlFlow<()> + Sync,
    ) -> Result<Module> {
        let bytes = bytes.as_ref();
        // SAFETY: the caller promises it.
        match unsafe { Module::deserialize(engine, bytes) } {
            Err(error) if is_other_setting(&error) => recompile(engine, bytes, &watch),
            module => module,
        }
    }

    /// Checks the whole file of a [mapped](Module::deserialize_file) module, and fails if it is
    /// damaged. Does nothing for other modules.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let path = std::env::temp_dir().join(format!("checked-{}.cwasm", std::process::id()));
    /// let engine = Engine::default();
    /// std::fs::write(&path, engine.precompile_module(b"(func (export \"f\"))")?)?;
    /// // SAFETY: the file was just written, and does not change.
    /// let module = unsafe { Module::deserialize_file(&engine, &path)? };
    /// module.check()?;
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn check(&self) -> Result<()> {
        Ok(self.loaded().code.check()?)
    }

    /// Whether bytes begin like a compiled module.
    pub fn is_precompiled(bytes: &[u8]) -> bool {
        is_precompiled(bytes)
    }
}

impl Engine {
    /// Compiles a module in the binary or the text format to bytes, for
    /// [`Module::deserialize`] and [`Module::deserialize_file`].
    pub fn precompile_module(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        Module::new(self, bytes)?.serialize()
    }
}

/// Loads a compiled module from its file.
///
/// # Safety
///
/// [`to_bytes`] must have made the bytes, and they must not change.
pub(crate) unsafe fn of_precompiled(
    engine: &Engine,
    file: Result<Precompiled, PrecompiledError>,
) -> Result<Module> {
    let mut file = file?;
    check_settings(engine, file.settings())?;
    let record = postcard::from_bytes(file.info());
    let ModuleRecord { mut info, segments, images }: ModuleRecord<ModuleInfo> =
        record.context("it is damaged: its description cannot be read")?;
    let data = file.data().len();
    let fits = segments.len() == info.data.len() && segments.iter().all(|part| part.end <= data);
    ensure!(fits, "it is damaged: a data segment is out of place");
    for (segment, part) in info.data.iter_mut().zip(segments) {
        segment.bytes = part;
    }
    let layout = InstanceLayout::new(&info).ok().context("it is damaged: it is too large")?;
    let type_ids = engine.types().register_module(&info);
    // SAFETY: the caller promises that the bytes are a module. Its settings are the engine's.
    let (code, images, file) = unsafe {
        // Snapshots need tables of the trampolines, which no file has.
        if !engine.config().snapshots {
            let tell = |code: &mut CodeMemory, parts: &[_]| {
                native_tools::tell_of_trampolines(engine, code, parts)
            };
            engine.trampolines().load(&file, &type_ids, tell)?;
        }
        // A debugger would stop at each fault.
        let code = file.code(engine.config().native_debug)?;
        let images = file.memory_images(&images)?;
        let file = Arc::new(file);
        (CodeMemory::of_precompiled(file.clone(), code)?, images, file)
    };
    info.function_names = FunctionNames::new(NamesInFile(file.clone()));
    let source = file.has_source().then(|| Arc::new(SourceInFile::new(file)) as Arc<dyn Source>);
    let loaded = load(engine, info, type_ids, layout, code)?;
    Ok(Module::of(engine, LoadedModule { source, images, ..loaded })?)
}

fn is_other_setting(error: &Error) -> bool {
    error.downcast_ref::<OtherSettings>().is_some_and(|other| !other.is_version())
}

/// Compiles the binary in a compiled module, or finds the result in the engine's cache. The source
/// stays the same.
fn recompile(engine: &Engine, bytes: &[u8], watch: Watch<'_>) -> Result<Module> {
    let cache = engine.config().cache.as_ref();
    let cached = cache.map(|cache| (cache, cache.place(engine, bytes, None)));
    if let Some(found) = cached.as_ref().and_then(|(cache, place)| cache.find(engine, place)) {
        return Ok(found);
    }
    let file = Arc::new(Precompiled::copy(bytes)?);
    let binary = file
        .binary()
        .context("it was compiled with other settings, and has no binary to compile again")?;
    let loaded = compile(engine, binary, watch)?;
    let source = file.has_source().then(|| Arc::new(SourceInFile::new(file)) as Arc<dyn Source>);
    let module = Module::of(engine, LoadedModule { source, ..loaded })?;
    if let Some((cache, place)) = cached {
        cache.insert(&place, &module);
    }
    Ok(module)
}

fn check_settings(engine: &Engine, found: &[u8]) -> Result<()> {
    if found == engine.settings_bytes() {
        return Ok(());
    }
    let found: Vec<Setting> =
        postcard::from_bytes(found).context("it is damaged: its settings cannot be read")?;
    let expected = settings(engine);
    let counts = (found.len(), expected.len());
    if let Some((found, expected)) = found.into_iter().zip(expected).find(|(a, b)| a != b) {
        return Err(OtherSettings { found, expected }.into());
    }
    let (found, expected) = counts;
    ensure!(found == expected, "it was compiled with {found} settings, this engine has {expected}");
    Ok(())
}
