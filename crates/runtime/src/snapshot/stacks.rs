//! Saving stacks: blocks, frames and marks.

use super::blocks::{self, BlockImage, NO_PARENT, OWNS, RECORD, Record, push_trailer};
use super::error::SnapshotError;
use super::frame_space::FrameSpace;
use super::image::{CallImage, MarkImage, MarkKindImage, NOTHING, TakenImage};
use super::ranges::Ranges;
use super::section::Section;
use super::stack_words::{FrameShape, ReplaceWords, StackWords};
use super::symbol::Symbol;
use super::take::{BLOCKS, FRAMES, Running, Writer};
use crate::arch::stubs;
use crate::os::dirty_pages::Region;
use crate::stack::SavedPosition;
use crate::stack::walk_mark::{EnteredStack, Mark, MarkKind};
use crate::store::Store;
use anyhow::Result;
use bytemuck::Zeroable;
use ropewalk_abi::code::TrampolineKind;
use ropewalk_abi::stack::{HAS_WAITED, Purpose};
use ropewalk_abi::{ControlBlock, LEFT_CALL_FRAME, LeftCall, PausedFrame, TypeInfo};
use std::collections::HashMap;
use std::rc::Rc;
use std::{iter, ptr};

/// A flag of a stack that is not in its block: it belongs to an activation, running or pending.
const IS_ACTIVE: u8 = 1;
/// It is the root of an activation.
const IS_ROOT: u8 = 2;
/// Its block runs out of references.
const IS_RETIRED: u8 = 4;
/// It waits for the end of a call whose root was freed.
const ENDS_WITH_CALL: u8 = 8;
/// The host holds it.
const IS_HELD: u8 = 16;

/// Replaces the words of a stack by saved ones.
struct SavedWords<'w, 'a> {
    writer: &'w mut Writer<'a>,
    /// The address that links to the end of the bytes have.
    end: usize,
}

impl ReplaceWords for SavedWords<'_, '_> {
    fn code(&mut self, word: &mut u64) -> Result<usize> {
        let address = *word as usize;
        if let Some(number) = self.writer.codes.get(&address) {
            *word = (*number).into();
            return Ok(address);
        }
        let symbols = &mut self.writer.symbols;
        let found = symbols.find(address);
        let symbol = match found {
            Some(symbol @ (Symbol::Code(..) | Symbol::Stub(..) | Symbol::Trampoline(..))) => symbol,
            _ => return Err(SnapshotError::Unknown("code", address).into()),
        };
        let number = symbols.number(symbol);
        self.writer.codes.insert(address, number);
        *word = number.into();
        Ok(address)
    }

    fn link(&mut self, word: &mut u64, len: usize) -> Result<Option<usize>> {
        if *word == 0 {
            return Ok(None);
        }
        let below = self.end - *word as usize;
        *word = below as u64;
        Ok(Some(len - below))
    }

    fn reference(&mut self, word: &mut u64) -> Result<()> {
        *word = self.writer.reference(*word)?;
        Ok(())
    }

    fn pointer(&mut self, word: &mut u64, in_trampoline: bool) -> Result<()> {
        let address = *word as usize;
        let symbols = &mut self.writer.symbols;
        let number = match symbols.number_at(address) {
            Some(number) => number,
            // No object has such a low address.
            None if address < 1 << 16 => symbols.number(Symbol::Number(address as u64)),
            None if in_trampoline => symbols.number(Symbol::Values),
            None => return Err(SnapshotError::Unknown("a pointer in a frame", address).into()),
        };
        *word = number.into();
        Ok(())
    }

    fn ty(&mut self, word: &mut u64) -> Result<*const TypeInfo> {
        let ty = *word as *const TypeInfo;
        let name = self.writer.symbols.known_type(ty)?;
        *word = self.writer.symbols.number(Symbol::Type(name, 0)).into();
        Ok(ty)
    }

    fn store(&self) -> &Store {
        self.writer.store()
    }

    fn shape_at(&mut self, address: usize) -> Option<Rc<FrameShape>> {
        let Writer { shapes, symbols, .. } = &mut *self.writer;
        shapes.at(address, symbols.store(), symbols.trampolines())
    }
}

impl<'a> Writer<'a> {
    /// Saves the blocks and frames of all stacks, or of those that changed since the base.
    pub fn stacks(&mut self) -> Result<[Section<'a>; 2]> {
        let region = self.symbols.store().stacks.region();
        let was_by_pages = self.tracking.is_by_pages(BLOCKS);
        let sections = match self.tracking.written(BLOCKS, region.as_ref()) {
            Some(written) => self.changed_stacks(&written, region.as_ref())?,
            None => self.all_stacks(region.as_ref())?,
        };
        if self.tracking.is_by_pages(BLOCKS) != was_by_pages {
            self.tracking.forgets_bases = true;
        }
        if self.tracking.is_by_pages(BLOCKS) {
            // The changed frames are those of the changed blocks.
            self.tracking.forget(FRAMES);
        }
        Ok(sections)
    }

    /// Saves the changed stacks, in their places of the last snapshot if they fit.
    fn changed_stacks(
        &mut self,
        written: &Ranges,
        region: Option<&Region>,
    ) -> Result<[Section<'a>; 2]> {
        let count = self.store().stacks.len();
        let blocks = written.divided(size_of::<ControlBlock>()).union(&self.changed_flags());
        let records = blocks.times(RECORD);
        let records = self.tracking.note(BLOCKS, &records, count * RECORD, self.base);
        let (mut blocks, mut frames) = (Section::default(), Section::default());
        for number in records.divided(RECORD).iter().flatten() {
            self.block(number + 1, &mut blocks, &mut frames)?;
        }
        (blocks.len, frames.len) = (count * RECORD, self.tracking.frame_space.end());
        self.tracking.track(BLOCKS, region, blocks.len + frames.len, None);
        Ok([blocks, frames])
    }

    fn all_stacks(&mut self, region: Option<&Region>) -> Result<[Section<'a>; 2]> {
        self.changed_flags();
        self.tracking.frame_space = FrameSpace::default();
        let (mut blocks, mut frames) = (Section::default(), Section::default());
        for number in 1..=self.store().stacks.len() {
            self.block(number, &mut blocks, &mut frames)?;
        }
        let len = blocks.len + frames.len;
        let sections = [(BLOCKS, blocks), (FRAMES, frames)]
            .map(|(number, section)| self.differences(number, None, section));
        self.tracking.track_pages(BLOCKS, region, len);
        Ok(sections)
    }

    /// Collects the flags of all stacks. Returns the indices of stacks with changed flags.
    fn changed_flags(&mut self) -> Ranges {
        let store = self.symbols.store();
        let stacks = &store.stacks;
        let number = |stack: &ControlBlock| stacks.number_of(stack).expect("of the table");
        let mut flags = HashMap::new();
        let mut note = |numbers: &mut dyn Iterator<Item = usize>, flag: u8| {
            numbers.for_each(|number| *flags.entry(number).or_default() |= flag);
        };
        let pending = store
            .running
            .stacks_of_pending_activations()
            .flat_map(|stack| store.running.with_extender(stack));
        match self.take.running {
            None => note(&mut pending.map(number), IS_ACTIVE),
            Some(_) => note(&mut store.stacks_in_host_calls().map(number), IS_ACTIVE),
        }
        // Roots may be suspended while another base runs in their activations.
        note(&mut self.image.calls.iter().map(|call| call.root), IS_ROOT);
        note(&mut stacks.retired.iter().copied(), IS_RETIRED);
        let inside = |call: &CallImage| spent_with(store, call.root);
        note(&mut self.image.calls.iter().flat_map(inside), ENDS_WITH_CALL);
        note(&mut stacks.host_owned.numbers(), IS_HELD);
        // SAFETY: the running stack's block is alive.
        let running =
            unsafe { store.context().stack.as_ref() }.filter(|_| self.take.running.is_some());
        let running =
            running.into_iter().flat_map(|stack| store.running.with_extender(stack)).map(number);
        let last = std::mem::replace(&mut self.tracking.flags, flags);
        let ran = std::mem::replace(&mut self.tracking.running, running.collect());
        let flags = &self.tracking.flags;
        let others = last.keys().chain(flags.keys()).copied();
        let changed = others.filter(|number| last.get(number) != flags.get(number));
        let changed = changed.chain(ran).chain(self.tracking.running.iter().copied());
        Ranges::sorted(changed.map(|number| number - 1..number).collect())
    }

    /// Saves a block and its frames.
    fn block(
        &mut self,
        number: usize,
        blocks: &mut Section<'_>,
        frames: &mut Section<'_>,
    ) -> Result<()> {
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        let block = self.block_image(number, &mut bytes)?;
        push_trailer(&block, &mut bytes)?;
        bytes.resize(bytes.len().next_multiple_of(size_of::<u64>()), 0);
        let start = match bytes.len() {
            0 => {
                self.tracking.frame_space.vacate(number);
                0
            }
            len => self.tracking.frame_space.find(number, len),
        };
        blocks.put((number - 1) * RECORD, &blocks::record(&block, start as u64));
        if !bytes.is_empty() {
            frames.put(start, &bytes);
        }
        self.bytes = bytes;
        Ok(())
    }

    fn block_image(&mut self, number: usize, frames: &mut Vec<u8>) -> Result<BlockImage> {
        let store = self.symbols.store();
        // SAFETY: blocks of the table are always initialized.
        let stack = unsafe { &*store.stacks.block(number) };
        let flags = self.tracking.flags.get(&number).copied().unwrap_or(0);
        let is_active = flags & IS_ACTIVE != 0;
        let is_lost = stack.purpose.has_identity()
            && (stack.parent == store.running.no_parent() || flags & ENDS_WITH_CALL != 0)
            && !is_active;
        Ok(match stack.purpose {
            Purpose::Free if flags & IS_RETIRED != 0 => BlockImage::Retired,
            Purpose::Free => BlockImage::Vacant(stack.reference),
            Purpose::Root if flags & (IS_ACTIVE | IS_ROOT) == 0 => self.idle_root(stack)?,
            Purpose::Root if stack.is_spent() => {
                let inside = spent_with(store, number);
                BlockImage::Spent { reference: stack.reference, inside }
            }
            purpose if is_lost => BlockImage::Lost { purpose, reference: stack.reference },
            _ => self.stack(number, stack, is_active, frames)?,
        })
    }

    /// An idle root, with which nothing can be suspended.
    fn idle_root(&self, root: &ControlBlock) -> Result<BlockImage, SnapshotError> {
        match root.is_idle(self.store().running.no_parent()) {
            true => Ok(BlockImage::Vacant(root.reference)),
            false => Err(SnapshotError::Unknown("a root", ptr::from_ref(root) as usize)),
        }
    }

    fn stack(
        &mut self,
        number: usize,
        stack: &ControlBlock,
        is_active: bool,
        bytes: &mut Vec<u8>,
    ) -> Result<BlockImage> {
        let store = self.symbols.store();
        let fp = self.frames_of(stack, bytes)?;
        let frames = u32::try_from(bytes.len());
        let frames = frames.map_err(|_| SnapshotError::DeepStack(number, bytes.len()))?;
        let clauses = self.symbols.number_at(stack.handlers as usize);
        let handlers = clauses.unwrap_or_else(|| self.symbols.number(Symbol::NoClauses));
        let has_begun = stack.fp != 0;
        // A stack that has begun does not need these.
        let (function, entry) = match has_begun {
            true => (NOTHING, NOTHING),
            false => {
                (self.function_number(stack.function as usize)?, self.entry(stack.entry as usize)?)
            }
        };
        let marks = store.stacks.marks.all(number)[..usize::from(stack.marks)].to_vec();
        let above = above_frames(stack);
        let marks = marks.iter().map(|mark| self.mark(mark, above));
        let marks = marks.collect::<Result<Vec<_>>>()?;
        // A remembered search is repeated after restoring.
        let sought = if stack.is_grouped == HAS_WAITED { stack.sought } else { 0 };
        let is_parked_alone =
            stack.is_parked() && stack.innermost.cast_const() == ptr::from_ref(stack);
        let is_grouped = match is_parked_alone && stack.takes_calls_on_top() {
            true => 0,
            false => stack.is_grouped,
        };
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        let record = Record {
            flags: flag(stack.owns, OWNS)
                | flag(is_active, blocks::IS_ACTIVE)
                | flag(store.stacks.host_owned.contains(number), blocks::IS_HELD),
            is_grouped: is_grouped as u8,
            parent: self.number_of(stack.parent),
            innermost: self.number_of(stack.innermost),
            through: if stack.is_grouped == 0 { 0 } else { self.number_of(stack.through) },
            extender: self.number_of(stack.extender),
            handlers,
            function,
            entry,
            fp,
            frames,
            reference: stack.reference,
            sought,
            ..Record::zeroed()
        };
        Ok(BlockImage::Stack { purpose: stack.purpose, record, marks })
    }

    /// The number of a block; zero if it no longer exists.
    fn number_of(&self, block: *const ControlBlock) -> u32 {
        let store = self.store();
        match block {
            _ if block.is_null() => 0,
            _ if ptr::eq(block, store.running.no_parent()) => NO_PARENT,
            // There are fewer blocks than numbers.
            _ => store.stacks.number_of(block).unwrap_or(0) as u32,
        }
    }

    /// The address at which a new stack begins, as a symbol.
    fn entry(&mut self, address: usize) -> Result<u32> {
        if address == 0 {
            return Ok(NOTHING);
        }
        let symbol = self.symbols.find(address);
        let symbol = symbol.ok_or(SnapshotError::Unknown("where a stack begins", address))?;
        debug_assert!(matches!(
            symbol,
            Symbol::Code(..) | Symbol::Trampoline(TrampolineKind::Stack, ..)
        ));
        Ok(self.symbols.number(symbol))
    }

    /// Saves the frames of a stack; returns the distance of the newest link from the end.
    fn frames_of(&mut self, stack: &ControlBlock, bytes: &mut Vec<u8>) -> Result<u32> {
        // SAFETY: the stack is in use and does not run, so these bytes lie there.
        let (left, on_stack) = unsafe {
            let left = SavedPosition::of(stack);
            (left, std::slice::from_raw_parts(left.sp as *const u8, count_bytes(stack)))
        };
        let len = on_stack.len();
        let end = left.sp + len;
        let mut fp = match left.fp {
            0 => None,
            fp => Some(len - (end - fp)),
        };
        // Links are relative to where the frames were.
        let linked_end = end.wrapping_sub(left.distance);
        if ptr::eq(stack, self.store().context().stack)
            && let Some(running) = self.take.running
        {
            let top = self.top_of_running(running, fp.map_or(0, |fp| linked_end - (len - fp)));
            // The last word of `top` is the link.
            fp = Some(top.len() - 8);
            bytes.extend_from_slice(&top);
        }
        bytes.extend_from_slice(on_stack);
        let below = fp.map_or(0, |fp| (bytes.len() - fp) as u32);
        let &ControlBlock { function, purpose, .. } = stack;
        StackWords { bytes, purpose, function, fp }
            .visit(&mut SavedWords { writer: self, end: linked_end })?;
        Ok(below)
    }

    /// The top of the running stack, as if it had been left where it is.
    fn top_of_running(&self, running: Running<'_>, fp: usize) -> Vec<u8> {
        let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let top: Vec<u8> = match running {
            Running::InHostCall(host) => {
                // SAFETY: the host function was called with this context, and has a type.
                let ty = unsafe { (*(*host).ty).id };
                let LeftCall { results, array } =
                    LeftCall::of(&self.store().options.types.func_type(ty));
                let resume = stubs::continue_call as *const () as u64;
                words(&[resume, 0, 0, 0, 0, 0, 0, results as u64, array as u64, fp as u64])
            }
            Running::Paused(registers) => {
                let mut all = vec![stubs::continue_paused as *const () as u64];
                all.extend(registers.words);
                all.extend(registers.vectors.as_flattened());
                all.push(fp as u64);
                words(&all)
            }
        };
        debug_assert!(
            matches!(top.len(), LEFT_CALL_FRAME) || top.len() == size_of::<PausedFrame>()
        );
        top
    }

    fn mark(&mut self, mark: &Mark, above: usize) -> Result<MarkImage> {
        let kind = match &mark.kind {
            MarkKind::Answer { tag, function, env } => MarkKindImage::Answer {
                tag: self.symbols.tag(*tag)? as u32,
                function: self.function_number(*function as usize)?,
                env: self.reference(*env)?,
            },
            MarkKind::Redirect { boxed } => {
                MarkKindImage::Redirect { boxed: self.reference(*boxed)? }
            }
            MarkKind::RedirectTo { function, taker, env } => MarkKindImage::RedirectTo {
                function: self.function_number(*function as usize)?,
                taker: self.function_number(*taker as usize)?,
                env: self.reference(*env)?,
            },
            MarkKind::Walk(walk) => {
                let taken = walk.taken.iter().map(|taken| self.taken(taken));
                MarkKindImage::Walk { at: walk.at, taken: taken.collect::<Result<Vec<_>>>()? }
            }
        };
        Ok(MarkImage { depth: (mark.depth - above) as u64, serial: mark.serial, kind })
    }

    fn taken(&mut self, taken: &EnteredStack) -> Result<TakenImage> {
        Ok(match *taken {
            EnteredStack::FromBox { boxed, stack } => {
                TakenImage::FromBox { boxed: self.reference(boxed)?, stack }
            }
            EnteredStack::FromFunction { taker, env, stack, mark } => TakenImage::FromFunction {
                taker: self.function_number(taker as usize)?,
                env: self.reference(env)?,
                stack,
                mark,
            },
        })
    }
}

/// The end of the frames of a stack with memory of its own. Above the frames of a restored root are
/// the [store](super::restore) and a zero, where other roots have a return address.
pub(super) fn end_of_frames(stack: &ControlBlock) -> usize {
    let end = crate::stack::end_of_frames(stack);
    if stack.purpose != Purpose::Root || stack.sp == end {
        return end;
    }
    // SAFETY: the root is not empty.
    match unsafe { *((end - size_of::<usize>()) as *const usize) } {
        0 => end - super::restore::ABOVE_ROOT,
        _ => end,
    }
}

/// The size of a stack's frames.
fn count_bytes(stack: &ControlBlock) -> usize {
    match stack.is_parked() {
        true => crate::stack::bytes_in_frames(stack),
        false => end_of_frames(stack) - stack.sp,
    }
}

/// The distance of a stack's highest address from the end of its frames.
fn above_frames(stack: &ControlBlock) -> usize {
    // SAFETY: the stack is in use, and does not run.
    unsafe { SavedPosition::depth(stack) - count_bytes(stack) }
}

/// The stacks that wait for the end of a call with a freed root, innermost first.
fn spent_with(store: &Store, root: usize) -> Vec<usize> {
    // SAFETY: blocks of the table are always initialized, and the chain leads to the root.
    unsafe {
        let root = store.stacks.block(root);
        if !(*root).is_spent() {
            return Vec::new();
        }
        let inside = iter::successors(Some((*root).innermost), |stack| Some((**stack).parent));
        let inside = inside.take_while(|stack| *stack != root);
        inside.map(|stack| store.stacks.number_of(stack).expect("of the table")).collect()
    }
}
