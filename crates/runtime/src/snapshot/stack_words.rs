//! The words on a stack that does not run.
//!
//! Saving and restoring visit the same words in the same order, and replace each one by its
//! counterpart. Addresses of code, which say where frames end, are always those of the store at
//! hand.

use super::error::SnapshotError;
use super::symbol::TrampolineMap;
use crate::inspect::address_map::AddressMap;
use crate::store::Store;
use anyhow::Result;
use ropewalk_abi::bound::{BoundEnd, BoundHead};
use ropewalk_abi::code::{CallSite, CodeTables};
use ropewalk_abi::stack::{FIBER_EXTRAS, NEW_STACK_ARGUMENTS, Purpose};
use ropewalk_abi::{FuncRef, FuncType, RawVal, TypeInfo, ValType};
use std::rc::Rc;

/// Replaces words by their counterparts.
pub(super) trait ReplaceWords {
    /// Replaces an address of code; returns the one in the store.
    fn code(&mut self, word: &mut u64) -> Result<usize>;
    /// Replaces a link of frames, which may be zero; returns where in the bytes it leads.
    fn link(&mut self, word: &mut u64, len: usize) -> Result<Option<usize>>;
    fn reference(&mut self, word: &mut u64) -> Result<()>;
    /// Replaces the address of an object of the engine.
    fn pointer(&mut self, word: &mut u64, in_trampoline: bool) -> Result<()>;
    /// Replaces the address of a type; returns the one in the store.
    fn ty(&mut self, word: &mut u64) -> Result<*const TypeInfo>;

    fn store(&self) -> &Store;
    /// The shape of the frame of a call by its return address; none if it has only numbers.
    fn shape_at(&mut self, address: usize) -> Option<Rc<FrameShape>>;
}

/// Where words of a frame differ between stores, as offsets from its stack pointer.
pub(super) struct FrameShape {
    frame_size: u32,
    references: Box<[u32]>,
    pointers: Box<[u32]>,
    is_trampoline: bool,
}

impl FrameShape {
    fn of_function(tables: &CodeTables<'_>, site: &CallSite) -> FrameShape {
        let mut pointers = tables.pointers_of(site).to_vec();
        // All handlers of a call have the same few contexts.
        let contexts = tables.handlers_of(site).iter().map(|handler| handler.context);
        let first = pointers.len();
        for context in contexts {
            if !pointers[first..].contains(&context) {
                pointers.push(context);
            }
        }
        let references = tables.references_of(site).into();
        let (frame_size, pointers) = (site.frame_size, pointers.into());
        FrameShape { frame_size, references, pointers, is_trampoline: false }
    }

    fn of_trampoline(tables: &CodeTables<'_>, site: &CallSite) -> FrameShape {
        let (frame_size, pointers) = (site.frame_size, tables.pointers_of(site).into());
        FrameShape { frame_size, references: Box::default(), pointers, is_trampoline: true }
    }
}

/// The shapes of frames, by the return addresses of their calls: a million stacks have few.
#[derive(Default)]
pub(super) struct FrameShapes(AddressMap<usize, Option<Rc<FrameShape>>>);

impl FrameShapes {
    /// The shape for an address in a store with these trampolines.
    pub fn at(
        &mut self,
        address: usize,
        store: &Store,
        trampolines: &TrampolineMap,
    ) -> Option<Rc<FrameShape>> {
        let shape = self.0.entry(address).or_insert_with(|| {
            // A call may be the last instruction of its module.
            if let Some((module, offset)) = store.objects.module_at(address - 1) {
                let tables = module.code.tables();
                let site = tables.site_at(offset + 1)?;
                return Some(Rc::new(FrameShape::of_function(tables, site)));
            }
            let (trampoline, offset) = trampolines.at(address)?;
            let tables = trampoline.code.tables();
            Some(Rc::new(FrameShape::of_trampoline(tables, tables.site_at(offset)?)))
        });
        shape.clone()
    }
}

/// The contents of a stack.
pub(super) struct StackWords<'a> {
    pub bytes: &'a mut [u8],
    pub purpose: Purpose,
    /// The function of a new stack.
    pub function: *const FuncRef,
    /// The place of the newest link, if there is one.
    pub fp: Option<usize>,
}

impl StackWords<'_> {
    fn get(&self, at: usize) -> Result<u64, SnapshotError> {
        let bytes = at.checked_add(8).and_then(|end| self.bytes.get(at..end));
        let bytes = bytes.ok_or(SnapshotError::Damaged("a stack is short"))?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    fn replace<R>(&mut self, at: usize, with: impl FnOnce(&mut u64) -> Result<R>) -> Result<R> {
        let mut word = self.get(at)?;
        let result = with(&mut word)?;
        self.bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        Ok(result)
    }

    /// Replaces all words that differ between stores.
    pub fn visit(&mut self, words: &mut impl ReplaceWords) -> Result<()> {
        let mut top = 0;
        let mut pc = self.replace(top, |word| words.code(word))?;
        if pc == words.store().context().deliver as usize {
            top = self.visit_bound(words)?;
            pc = self.replace(top, |word| words.code(word))?;
        }
        match self.fp {
            None if pc == words.store().context().start as usize => {
                self.visit_arguments(words, top)
            }
            fp => self.visit_frames(words, pc, fp),
        }
    }

    /// Visits bound values; returns the place where the stack was left.
    fn visit_bound(&mut self, words: &mut impl ReplaceWords) -> Result<usize> {
        let numbers = self.get(size_of::<u64>())?;
        let count = (numbers >> 32) as usize + 1;
        let values = size_of::<BoundHead>();
        let end = values + count * size_of::<RawVal>();
        let ty = self.replace(end, |word| words.ty(word))?;
        let params = func_type(words.store(), ty);
        for (number, ty) in params.params().iter().take(count).enumerate() {
            if let ValType::Ref(_) = ty {
                // The last value lies lowest.
                let at = values + (count - 1 - number) * size_of::<RawVal>();
                self.replace(at, |word| words.reference(word))?;
            }
        }
        Ok(end + size_of::<BoundEnd>())
    }

    /// Visits the arguments of a new task or fiber.
    fn visit_arguments(&mut self, words: &mut impl ReplaceWords, top: usize) -> Result<()> {
        // SAFETY: functions live as long as their store.
        let Some(function) = (unsafe { self.function.as_ref() }) else { return Ok(()) };
        let ty = func_type(words.store(), function.ty);
        let first = top + NEW_STACK_ARGUMENTS;
        let count = self.bytes.len().checked_sub(first).map(|bytes| bytes / size_of::<RawVal>());
        let all = ty.params();
        let params = match self.purpose {
            Purpose::Task => count.and_then(|count| all.get(all.len().checked_sub(count)?..)),
            Purpose::Fiber => count.and_then(|count| all.get(..count.checked_sub(FIBER_EXTRAS)?)),
            _ => return Ok(()),
        };
        let params = params.ok_or(SnapshotError::Damaged("a stack has other arguments"))?;
        for (number, ty) in params.iter().enumerate() {
            if let ValType::Ref(_) = ty {
                self.replace(first + number * size_of::<RawVal>(), |word| words.reference(word))?;
            }
        }
        if self.purpose == Purpose::Fiber {
            // The instance that made the stack.
            let at = first + params.len() * size_of::<RawVal>();
            self.replace(at, |word| words.pointer(word, false))?;
        }
        Ok(())
    }

    fn visit_frames(
        &mut self,
        words: &mut impl ReplaceWords,
        mut pc: usize,
        mut fp: Option<usize>,
    ) -> Result<()> {
        while let Some(link) = fp {
            self.visit_frame(words, pc, link)?;
            let len = self.bytes.len();
            fp = self.replace(link, |word| words.link(word, len))?;
            if fp.is_some_and(|next| next <= link) {
                return Err(SnapshotError::Damaged("frames are not in order").into());
            }
            pc = self.replace(link + 8, |word| words.code(word))?;
        }
        Ok(())
    }

    /// Visits the frame of a call that returns to an address.
    fn visit_frame(&mut self, words: &mut impl ReplaceWords, pc: usize, fp: usize) -> Result<()> {
        let Some(shape) = words.shape_at(pc) else { return Ok(()) };
        let sp = below(fp, shape.frame_size)?;
        for offset in &shape.references {
            self.replace(sp + *offset as usize, |word| words.reference(word))?;
        }
        for offset in &shape.pointers {
            let at = sp + *offset as usize;
            self.replace(at, |word| words.pointer(word, shape.is_trampoline))?;
        }
        Ok(())
    }
}

fn below(fp: usize, frame_size: u32) -> Result<usize, SnapshotError> {
    fp.checked_sub(frame_size as usize).ok_or(SnapshotError::Damaged("a frame is too large"))
}

fn func_type(store: &Store, ty: *const TypeInfo) -> FuncType {
    // SAFETY: types live as long as the engine.
    store.options.types.func_type(unsafe { (*ty).id })
}
