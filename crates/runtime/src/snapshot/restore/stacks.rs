//! Restoring stacks: blocks, frames and marks.

use super::super::blocks::{self, BlockImage, IS_ACTIVE, IS_HELD, NO_PARENT, OWNS, RECORD, Record};
use super::super::image::{CallTo, MarkImage, MarkKindImage, NOTHING, TakenImage, TypeName};
use super::super::stack_words::{FrameShape, FrameShapes, ReplaceWords, StackWords};
use super::super::symbol::{Symbol, TrampolineMap};
use super::{Reader, RestoredRoot, damaged};
use crate::report::trap::Trap;
use crate::stack::walk_mark::{EnteredStack, Mark, MarkKind, Walk};
use crate::store::Store;
use anyhow::Result;
use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{ControlBlock, FuncType, RawVal, TypeInfo};
use std::cell::UnsafeCell;
use std::rc::Rc;

impl Reader<'_> {
    pub(super) fn stacks(&mut self, records: &[u8], frames: &[u8]) -> Result<()> {
        let records = records.chunks_exact(RECORD);
        let blocks = records.map(|record| blocks::read(record, frames));
        let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
        self.store.stacks.restore_blocks(blocks.len())?;
        self.store.note_table();
        for (number, bytes, of) in std::mem::take(&mut self.image.limits) {
            self.store.stacks.limits.set([number], crate::stack::round_limit(bytes), of)?;
        }
        // Trampolines must exist before they are looked up.
        for symbol in &self.image.symbols {
            if let Symbol::Trampoline(..) = symbol {
                self.addresses().address(*symbol, None)?;
            }
        }
        let trampolines = TrampolineMap::new(self.host.trampolines());
        let mut shapes = FrameShapes::default();
        let unparked = self.unparked(&blocks)?;
        for (number, block) in (1..).zip(&blocks) {
            match block {
                BlockImage::Vacant(reference) => {
                    self.store.stacks.restore_vacant(number, *reference);
                }
                BlockImage::Retired => self.store.stacks.retired.push(number),
                BlockImage::Lost { purpose, reference } => {
                    let block = self.blank(*purpose, *reference, number);
                    let parent = self.store.running.no_parent();
                    let block = ControlBlock { parent, ..block };
                    let ground = self.store.context().ground as u64;
                    self.pack(number, block, &ground.to_le_bytes(), 0)?;
                }
                BlockImage::Spent { reference, .. } => self.place_spent(number, *reference)?,
                BlockImage::Stack { purpose, record, marks } => {
                    let stack = SavedStack { number, purpose: *purpose, record, frames };
                    self.stack(&stack, !unparked[number], &trampolines, &mut shapes)?;
                    self.marks(number, marks)?;
                }
            }
        }
        for (number, block) in (1..).zip(&blocks) {
            if let BlockImage::Spent { inside, .. } = block {
                self.end_with_call(number, inside)?;
            }
        }
        self.store.context_mut().captures = self.image.captures;
        self.store.stacks.newest_mark = self.image.newest_mark;
        Ok(())
    }

    /// Which stacks get memory of their own: roots, stacks of activations, stacks too large for a
    /// slot, and all stacks suspended together with one of these.
    fn unparked(&self, blocks: &[BlockImage]) -> Result<Vec<bool>> {
        let image = |number: usize| match number.checked_sub(1).and_then(|at| blocks.get(at)) {
            Some(BlockImage::Stack { record, .. }) => Some(record),
            _ => None,
        };
        let mut unparked = vec![false; blocks.len() + 1];
        for (number, is_unparked) in unparked.iter_mut().enumerate() {
            *is_unparked = image(number).is_some_and(|image| {
                image.purpose == Purpose::Root as u8
                    || image.has(IS_ACTIVE)
                    || !self.store.stacks.fits_slot(image.frames as usize)
            });
        }
        for outermost in 1..=blocks.len() {
            let Some(stack) = image(outermost) else { continue };
            if stack.has(IS_ACTIVE) || stack.innermost as usize == outermost {
                continue;
            }
            let mut chain = vec![outermost];
            let mut inner = stack.innermost as usize;
            while let Some(stack) = image(inner).filter(|_| inner != outermost) {
                chain.push(inner);
                inner = stack.parent as usize;
                if chain.len() > blocks.len() {
                    return Err(damaged("stacks are suspended in a circle").into());
                }
            }
            if chain.iter().any(|number| unparked[*number]) {
                chain.into_iter().for_each(|number| unparked[number] = true);
            }
        }
        Ok(unparked)
    }

    fn blank(&self, purpose: Purpose, reference: u64, number: usize) -> ControlBlock {
        let innermost = self.store.stacks.block(number);
        ControlBlock { purpose, reference, innermost, ..ControlBlock::BLANK }
    }

    fn stack(
        &mut self,
        stack: &SavedStack<'_>,
        is_parked: bool,
        trampolines: &TrampolineMap,
        shapes: &mut FrameShapes,
    ) -> Result<()> {
        let &SavedStack { number, purpose, record, frames } = stack;
        let start = record.start as usize;
        let end = start.checked_add(record.frames as usize);
        let bytes = end.and_then(|end| frames.get(start..end));
        let mut bytes = bytes.ok_or(damaged("frames are missing"))?.to_vec();
        let fp = match record.fp {
            0 => None,
            fp => Some(bytes.len().checked_sub(fp as usize).ok_or(damaged("a link"))?),
        };
        let function = match record.function {
            NOTHING => std::ptr::null(),
            function => self.addresses().function(self.symbol(function)?)?,
        };
        let block = ControlBlock {
            parent: self.block(record.parent as usize)?,
            handlers: self.address(record.handlers)? as *const u64,
            is_grouped: record.is_grouped.into(),
            owns: record.has(OWNS),
            innermost: self.block(record.innermost as usize)?,
            through: self.block(record.through as usize)?,
            sought: record.sought,
            extender: self.block(record.extender as usize)?,
            function,
            entry: self.address_or_null(record.entry)? as *const _,
            ..self.blank(purpose, record.reference, number)
        };
        let values = match purpose == Purpose::Root {
            true => self.values_of(number)?,
            false => None,
        };
        let place_of_values = values.as_ref().map(|values| values.as_ptr() as usize);
        let end = LINKED_END;
        StackWords { bytes: &mut bytes, purpose, function, fp }.visit(&mut RestoredWords {
            reader: self,
            end,
            values: place_of_values,
            trampolines,
            shapes,
        })?;
        let linked = fp.map_or(0, |fp| end - (bytes.len() - fp));
        match purpose {
            Purpose::Root => self.place_root(number, block, &bytes, linked, values)?,
            _ if is_parked => self.pack(number, block, &bytes, linked)?,
            _ => self.place(number, block, &bytes, linked)?,
        }
        if record.has(IS_HELD) {
            self.store.stacks.host_owned.insert(number);
        }
        Ok(())
    }

    pub(super) fn block(&self, number: usize) -> Result<*mut ControlBlock> {
        match number {
            0 => Ok(std::ptr::null_mut()),
            _ if number == NO_PARENT as usize => Ok(self.store.running.no_parent()),
            number => Ok(self.addresses().block(number)?),
        }
    }

    /// The array with the results of the activation that a root belongs to.
    fn values_of(&self, root: usize) -> Result<Option<Box<[UnsafeCell<RawVal>]>>> {
        let call = self.image.calls.iter().find(|call| call.root == root);
        let call = call.ok_or(damaged("a root without a call"))?;
        let CallTo::Call { has_array: true } = call.to else { return Ok(None) };
        let ty = self.func_type(call.results.ok_or(damaged("a call without results"))?)?;
        let count = ty.params().len().max(ty.results().len()).max(1);
        Ok(Some((0..count).map(|_| UnsafeCell::new(RawVal::ZERO)).collect()))
    }

    pub(super) fn func_type(&self, name: TypeName) -> Result<FuncType> {
        Ok(self.store.options.types.func_type(self.addresses().func_type(name)?.id))
    }

    /// Parks a stack, with its frames packed.
    fn pack(&mut self, number: usize, block: ControlBlock, bytes: &[u8], fp: usize) -> Result<()> {
        let block = ControlBlock { fp, ..block };
        self.store.stacks.restore_parked(number, block, bytes, LINKED_END)
    }

    /// Gives a stack memory of its own.
    fn place(&mut self, number: usize, block: ControlBlock, bytes: &[u8], fp: usize) -> Result<()> {
        self.store.stacks.restore_slot(number, block)?;
        self.place_frames(number, bytes, fp, 0)
    }

    /// Makes a block a root. Above its frames is the store, for the stub that it returns to.
    fn place_root(
        &mut self,
        number: usize,
        block: ControlBlock,
        bytes: &[u8],
        fp: usize,
        values: Option<Box<[UnsafeCell<RawVal>]>>,
    ) -> Result<()> {
        let mut bytes = bytes.to_vec();
        bytes.extend_from_slice(&(self.store.context_ptr() as u64).to_le_bytes());
        bytes.extend_from_slice(&[0; ABOVE_ROOT - 8]);
        let memory = self.store.options.arena.take_root()?;
        let root = self.store.stacks.restore_root(number, block, memory);
        self.roots.push(RestoredRoot { number, root, values });
        self.place_frames(number, &bytes, fp, ABOVE_ROOT)
    }

    /// Makes a block the freed root of a call.
    fn place_spent(&mut self, number: usize, reference: u64) -> Result<()> {
        let block = self.blank(Purpose::Root, reference, number);
        let memory = self.store.options.arena.take_root()?;
        let root = self.store.stacks.restore_root(number, block, memory);
        // SAFETY: the block lies in the table, and there is no reference to it.
        unsafe { (*root.block).become_spent() };
        self.roots.push(RestoredRoot { number, root, values: None });
        Ok(())
    }

    /// Makes stacks that will never be resumed end with the call whose root was freed.
    fn end_with_call(&mut self, root: usize, inside: &[usize]) -> Result<()> {
        let root = self.block(root)?;
        let mut outside = root;
        for number in inside.iter().rev() {
            let stack = self.block(*number)?;
            // SAFETY: blocks of the table are always initialized.
            unsafe { (*stack).parent = outside };
            outside = stack;
        }
        // SAFETY: as above.
        unsafe { (*root).group(outside) };
        Ok(())
    }

    /// Puts frames onto an empty stack. Links are relative to `above` bytes below the end.
    fn place_frames(&mut self, number: usize, bytes: &[u8], fp: usize, above: usize) -> Result<()> {
        let block = self.store.stacks.block(number);
        // SAFETY: the stack of the block is empty, and there is no reference to the block.
        unsafe {
            let room = self.store.make_room(block, bytes.len());
            room.map_err(Trap::from_code)?;
            let end = crate::stack::end_of_frames(&*block);
            let sp = end - bytes.len();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), sp as *mut u8, bytes.len());
            (*block).sp = sp;
            let distance = (end - above).wrapping_sub(LINKED_END);
            (*block).fp = 0;
            if fp != 0 {
                (*block).fp = fp.wrapping_add(distance);
                crate::stack::move_links((*block).fp, distance);
            }
        }
        Ok(())
    }

    fn marks(&mut self, number: usize, images: &[MarkImage]) -> Result<()> {
        if images.is_empty() {
            return Ok(());
        }
        // SAFETY: the stack was just restored.
        let above = unsafe {
            let stack = &*self.store.stacks.block(number);
            crate::stack::SavedPosition::depth(stack) - crate::stack::bytes_in_frames(stack)
        };
        let is_root = self.is_root(number);
        let above = above + if is_root { ABOVE_ROOT } else { 0 };
        let marks = images.iter().map(|image| self.mark(image, above));
        let marks = marks.collect::<Result<Vec<_>>>()?;
        self.store.stacks.restore_marks(number, marks)?;
        Ok(())
    }

    fn is_root(&self, number: usize) -> bool {
        // SAFETY: blocks of the table are always initialized.
        unsafe { (*self.store.stacks.block(number)).purpose == Purpose::Root }
    }

    fn mark(&self, image: &MarkImage, above: usize) -> Result<Mark> {
        let function =
            |number| Ok::<_, anyhow::Error>(self.addresses().function(self.symbol(number)?)?);
        let kind = match &image.kind {
            MarkKindImage::Answer { tag, function: f, env } => MarkKind::Answer {
                tag: self.addresses().tag(*tag as usize)?,
                function: function(*f)?,
                env: self.reference(*env)?,
            },
            MarkKindImage::Redirect { boxed } => {
                MarkKind::Redirect { boxed: self.reference(*boxed)? }
            }
            MarkKindImage::RedirectTo { function: f, taker, env } => MarkKind::RedirectTo {
                function: function(*f)?,
                taker: function(*taker)?,
                env: self.reference(*env)?,
            },
            MarkKindImage::Walk { at, taken } => {
                let taken = taken.iter().map(|taken| self.taken(taken));
                MarkKind::Walk(Walk { at: *at, taken: taken.collect::<Result<Vec<_>>>()? })
            }
        };
        Ok(Mark { depth: image.depth as usize + above, serial: image.serial, kind })
    }

    fn taken(&self, image: &TakenImage) -> Result<EnteredStack> {
        Ok(match *image {
            TakenImage::FromBox { boxed, stack } => {
                EnteredStack::FromBox { boxed: self.reference(boxed)?, stack }
            }
            TakenImage::FromFunction { taker, env, stack, mark } => EnteredStack::FromFunction {
                taker: self.addresses().function(self.symbol(taker)?)?,
                env: self.reference(env)?,
                stack,
                mark,
            },
        })
    }
}

struct SavedStack<'a> {
    number: usize,
    purpose: Purpose,
    record: &'a Record,
    /// The frames of all stacks.
    frames: &'a [u8],
}

/// The end that all stacks would have, for the links of frames.
const LINKED_END: usize = 1 << 46;

/// How many bytes lie above the frames of a restored root.
pub(in crate::snapshot) const ABOVE_ROOT: usize = 16;

/// Replaces saved words by those of the store.
struct RestoredWords<'r, 'a> {
    reader: &'r Reader<'a>,
    /// The address that links to the end of the bytes have.
    end: usize,
    /// The array with the results of the activation.
    values: Option<usize>,
    trampolines: &'r TrampolineMap,
    shapes: &'r mut FrameShapes,
}

impl ReplaceWords for RestoredWords<'_, '_> {
    fn code(&mut self, word: &mut u64) -> Result<usize> {
        let symbol = self.reader.symbol(u32::try_from(*word)?)?;
        let address = self.reader.addresses().address(symbol, self.values)?;
        *word = address as u64;
        Ok(address)
    }

    fn link(&mut self, word: &mut u64, len: usize) -> Result<Option<usize>> {
        if *word == 0 {
            return Ok(None);
        }
        let below = *word as usize;
        let at = len.checked_sub(below).ok_or(damaged("a link leads nowhere"))?;
        *word = (self.end - below) as u64;
        Ok(Some(at))
    }

    fn reference(&mut self, word: &mut u64) -> Result<()> {
        *word = self.reader.reference(*word)?;
        Ok(())
    }

    fn pointer(&mut self, word: &mut u64, _: bool) -> Result<()> {
        let symbol = self.reader.symbol(u32::try_from(*word)?)?;
        *word = self.reader.addresses().address(symbol, self.values)? as u64;
        Ok(())
    }

    fn ty(&mut self, word: &mut u64) -> Result<*const TypeInfo> {
        let Symbol::Type(name, 0) = self.reader.symbol(u32::try_from(*word)?)? else {
            return Err(damaged("a type is missing").into());
        };
        let ty = std::ptr::from_ref(self.reader.addresses().func_type(name)?);
        *word = ty as u64;
        Ok(ty)
    }

    fn store(&self) -> &Store {
        self.reader.store
    }

    fn shape_at(&mut self, address: usize) -> Option<Rc<FrameShape>> {
        self.shapes.at(address, self.reader.store, self.trampolines)
    }
}
