//! The trampolines of an engine: one for each kind and type. It is compiled on first use, or loaded
//! from the file of a compiled module.

use anyhow::{Context, Result};
use ropewalk_abi::code::{CodeImage, TrampolineCode, TrampolineKind};
use ropewalk_abi::signature::in_registers;
use ropewalk_abi::{CompositeType, FuncType, HeapType};
use ropewalk_compile::{CompileError, Target};
use ropewalk_runtime::code::precompiled::{Precompiled, PrecompiledError};
use ropewalk_runtime::snapshot::LoadedTrampoline;
use ropewalk_runtime::{CodeMemory, LoadedModule, TypeRegistry};
use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

/// The alignment of trampolines in a file, since they may have constants.
const ALIGNMENT: usize = 64;

/// The loaded trampolines. They live as long as the engine, which owns the types.
#[derive(Default)]
pub(crate) struct Trampolines {
    /// For each kind, by the number of the type in the engine.
    loaded: [RwLock<HashMap<u32, Trampoline>>; TrampolineKind::ALL.len()],
    compiled: AtomicUsize,
}

#[derive(Clone)]
struct Trampoline {
    code: Arc<CodeMemory>,
    part: Range<usize>,
}

impl Trampoline {
    fn address(&self) -> *const c_void {
        (self.code.start() + self.part.start) as *const c_void
    }
}

fn compile(
    kind: TrampolineKind,
    target: &Target,
    ty: &FuncType,
) -> Result<CodeImage, CompileError> {
    match kind {
        TrampolineKind::Entry => ropewalk_compile::entry_trampoline(target, ty),
        TrampolineKind::Host => ropewalk_compile::host_trampoline(target, ty),
        TrampolineKind::Stack => ropewalk_compile::stack_trampoline(target, ty),
    }
}

impl Trampolines {
    /// How many were compiled, and not loaded from files.
    pub fn count_compiled(&self) -> usize {
        self.compiled.load(Ordering::Relaxed)
    }

    /// The trampoline for a type. Compiles it if necessary, and tells native tools.
    pub fn get(
        &self,
        kind: TrampolineKind,
        target: &Target,
        types: &TypeRegistry,
        type_id: u32,
        tell: impl FnOnce(&mut CodeMemory) -> Result<()>,
    ) -> Result<*const c_void> {
        if let Some(loaded) = self.find(kind, type_id) {
            return Ok(loaded.address());
        }
        let mut code = CodeMemory::load(self.compile(kind, target, &types.func_type(type_id))?)
            .context("cannot load code")?;
        tell(&mut code)?;
        let part = 0..code.len();
        let new = Trampoline { code: Arc::new(code), part };
        let mut loaded = self.loaded[kind as usize].write().expect("never poisoned");
        Ok(loaded.entry(type_id).or_insert(new).address())
    }

    /// All trampolines, each with its own code.
    pub fn all(&self) -> Vec<LoadedTrampoline> {
        let mut all = Vec::new();
        for kind in TrampolineKind::ALL {
            let loaded = self.loaded[kind as usize].read().expect("never poisoned");
            all.extend(loaded.iter().map(|(&type_id, trampoline)| LoadedTrampoline {
                kind,
                type_id,
                code: trampoline.code.clone(),
            }));
        }
        all
    }

    fn find(&self, kind: TrampolineKind, type_id: u32) -> Option<Trampoline> {
        self.loaded[kind as usize].read().expect("never poisoned").get(&type_id).cloned()
    }

    fn compile(&self, kind: TrampolineKind, target: &Target, ty: &FuncType) -> Result<CodeImage> {
        self.compiled.fetch_add(1, Ordering::Relaxed);
        Ok(compile(kind, target, ty)?)
    }

    /// Loads the missing trampolines from the file of a module. `type_ids` are the engine's numbers
    /// for the types of the module. `tell` shows them to native tools.
    ///
    /// # Safety
    ///
    /// As for [`CodeMemory::of_precompiled`].
    pub unsafe fn load(
        &self,
        file: &Precompiled,
        type_ids: &[u32],
        tell: impl FnOnce(&mut CodeMemory, &[Range<usize>]) -> Result<()>,
    ) -> Result<()> {
        let damaged = || PrecompiledError::Damaged("a trampoline is out of place");
        let mut new = Vec::new();
        for record in file.trampolines()? {
            let kind = record.kind().ok_or_else(damaged)?;
            let type_id = *type_ids.get(record.ty as usize).ok_or_else(damaged)?;
            if self.find(kind, type_id).is_none() {
                new.push((kind, type_id, record.start as usize..record.end as usize));
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        // SAFETY: the caller's promise.
        let mut code = unsafe { file.trampoline_code() }?;
        let mut parts: Vec<Range<usize>> = new.iter().map(|(.., part)| part.clone()).collect();
        parts.sort_by_key(|part| part.start);
        let are_there = parts.iter().all(|part| code.bytes().get(part.clone()).is_some());
        are_there.then_some(()).ok_or_else(damaged)?;
        tell(&mut code, &parts)?;
        let code = Arc::new(code);
        for (kind, type_id, part) in new {
            let mut loaded = self.loaded[kind as usize].write().expect("never poisoned");
            loaded.entry(type_id).or_insert(Trampoline { code: code.clone(), part });
        }
        Ok(())
    }

    /// The trampolines that a module needs, for its file: their records and their code.
    pub fn of_module(
        &self,
        target: &Target,
        types: &TypeRegistry,
        module: &LoadedModule,
    ) -> Result<(Vec<TrampolineCode>, Vec<u8>)> {
        let (mut records, mut code) = (Vec::new(), Vec::new());
        for (kind, ty) in needed(module) {
            let type_id = module.type_ids[ty as usize];
            code.resize(usize::next_multiple_of(code.len(), ALIGNMENT), 0);
            let start = code.len() as u32;
            match self.find(kind, type_id) {
                Some(Trampoline { code: loaded, part }) => {
                    code.extend_from_slice(&loaded.bytes()[part]);
                }
                None => {
                    let image = self.compile(kind, target, &types.func_type(type_id))?;
                    code.extend_from_slice(&image.bytes);
                }
            }
            let (kind, end) = (kind as u32, code.len() as u32);
            records.push(TrampolineCode { kind, ty, start, end });
        }
        Ok((records, code))
    }
}

/// The trampolines that a module needs, each once, by the index of one of its types: for functions
/// that can become values, for imported functions, and for continuations.
fn needed(module: &LoadedModule) -> Vec<(TrampolineKind, u32)> {
    let info = &module.info;
    let functions = info.functions.iter().zip(&info.func_refs);
    let entries = functions.filter(|(_, number)| **number != u32::MAX).map(|(ty, _)| *ty);
    let imported = info.functions.iter().take(info.imported_functions as usize);
    let hosts = imported.filter(|ty| !in_registers(info.func_type(**ty))).copied();
    let stacks = info.types.iter().filter_map(|ty| match ty.composite {
        CompositeType::Cont(HeapType::Concrete(function)) => Some(function),
        _ => None,
    });
    let entries = entries.map(|ty| (TrampolineKind::Entry, ty));
    let hosts = hosts.map(|ty| (TrampolineKind::Host, ty));
    let stacks = stacks.map(|ty| (TrampolineKind::Stack, ty));
    let mut found = HashSet::new();
    let is_new =
        |(kind, ty): &(TrampolineKind, u32)| found.insert((*kind, module.type_ids[*ty as usize]));
    entries.chain(hosts).chain(stacks).filter(is_new).collect()
}
