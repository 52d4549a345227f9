//! Writing stacks down.

use super::image::{
    BlockImage, CallImage, Frames, MarkImage, MarkKindImage, NO_PARENT, NOTHING, StackImage,
    TakenImage,
};
use super::sections::SnapshotError;
use super::symbol::Symbol;
use super::take::{Running, Writer};
use super::words::{OnStack, Shape, Words};
use crate::arch::stubs;
use crate::design::first_class::marks::{Mark, MarkKind, Taken};
use crate::stack::LeftAt;
use crate::store::Store;
use anyhow::Result;
use ropewalk_abi::code::TrampolineKind;
use ropewalk_abi::stack::{HAS_WAITED, Purpose};
use ropewalk_abi::{
    ControlBlock, FuncType, LEFT_CALL_FRAME, LeftCall, PausedFrame, StoreContext, TypeInfo,
};
use std::rc::Rc;
use std::{iter, ptr};

/// Words become what is written. The bytes are those of a stack, at an address.
struct Writing<'w, 'a> {
    writer: &'w mut Writer<'a>,
    /// The address that links to the end of the bytes would have.
    end: usize,
}

impl Words for Writing<'_, '_> {
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
            // What lies there is never at so low an address.
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

    fn func_type(&self, ty: *const TypeInfo) -> FuncType {
        // SAFETY: types live as long as the engine.
        self.writer.store().options.types.func_type(unsafe { (*ty).id })
    }

    fn context(&self) -> &StoreContext {
        self.writer.store().context()
    }

    fn shape_at(&mut self, address: usize) -> Option<Rc<Shape>> {
        let Writer { shapes, symbols, .. } = &mut *self.writer;
        shapes.at(address, symbols.store(), symbols.trampolines())
    }
}

impl Writer<'_> {
    /// Writes all blocks.
    pub fn stacks(&mut self) -> Result<()> {
        let store = self.symbols.store();
        let stacks = &store.stacks;
        let number = |stack: &ControlBlock| stacks.number_of(stack).expect("of the table");
        let waiting = store.frozen_stacks().flat_map(|stack| store.with_extender(stack));
        let set = |numbers: &mut dyn Iterator<Item = usize>| {
            let mut set = vec![false; stacks.len() + 1];
            numbers.for_each(|number| set[number] = true);
            set
        };
        let active = match self.take.running {
            None => set(&mut waiting.map(number)),
            Some(_) => set(&mut store.stacks_in_host_calls().map(number)),
        };
        // They may be suspended, while something else runs in their activations.
        let roots = set(&mut self.image.calls.iter().map(|call| call.root));
        let retired = set(&mut stacks.retired_numbers());
        // They wait for the end of a call whose root was freed.
        let inside = |call: &CallImage| spent_with(store, call.root);
        let ends_with_call = set(&mut self.image.calls.iter().flat_map(inside));
        for number in 1..=stacks.len() {
            // SAFETY: blocks of the table are always initialised.
            let stack = unsafe { &*stacks.block(number) };
            let is_active = active[number];
            let is_lost = stack.purpose.has_identity()
                && (stack.parent == store.no_parent() || ends_with_call[number])
                && !is_active;
            let block = match stack.purpose {
                Purpose::Free if retired[number] => BlockImage::Retired,
                Purpose::Free => BlockImage::Vacant(stack.reference),
                Purpose::Root if !is_active && !roots[number] => self.idle_root(stack)?,
                Purpose::Root if stack.is_spent() => {
                    let inside = spent_with(store, number);
                    BlockImage::Spent { reference: stack.reference, inside }
                }
                purpose if is_lost => BlockImage::Lost { purpose, reference: stack.reference },
                _ => BlockImage::Stack(Box::new(self.stack(number, stack, is_active)?)),
            };
            self.image.blocks.push(block);
        }
        Ok(())
    }

    /// What a root was suspended with goes with its activation; there is none.
    fn idle_root(&self, root: &ControlBlock) -> Result<BlockImage, SnapshotError> {
        match root.is_idle(self.store().no_parent()) {
            true => Ok(BlockImage::Vacant(root.reference)),
            false => Err(SnapshotError::Unknown("a root", ptr::from_ref(root) as usize)),
        }
    }

    fn stack(
        &mut self,
        number: usize,
        stack: &ControlBlock,
        is_active: bool,
    ) -> Result<StackImage> {
        let store = self.symbols.store();
        let (frames, fp) = self.frames_of(stack)?;
        let clauses = self.symbols.number_at(stack.handlers as usize);
        let handlers = clauses.unwrap_or_else(|| self.symbols.number(Symbol::NoClauses));
        let has_begun = stack.fp != 0;
        // These have no meaning afterwards.
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
        // A word that was sought is that of a tag; it is sought again.
        let sought = if stack.is_grouped == HAS_WAITED { stack.sought } else { 0 };
        let is_parked_alone =
            stack.is_parked() && stack.innermost.cast_const() == ptr::from_ref(stack);
        let is_grouped = match is_parked_alone && stack.purpose == Purpose::FirstClass {
            true => 0,
            false => stack.is_grouped,
        };
        Ok(StackImage {
            purpose: stack.purpose,
            reference: stack.reference,
            parent: self.number_of(stack.parent),
            innermost: self.number_of(stack.innermost),
            through: if stack.is_grouped == 0 { 0 } else { self.number_of(stack.through) },
            extender: self.number_of(stack.extender),
            is_grouped,
            sought,
            owns: stack.owns,
            handlers,
            function,
            entry,
            is_active,
            is_held: store.stacks.held.has(number),
            fp,
            frames,
            marks,
        })
    }

    /// The number of a block; zero of one that is not there any more.
    fn number_of(&self, block: *const ControlBlock) -> usize {
        let store = self.store();
        match block {
            _ if block.is_null() => 0,
            _ if ptr::eq(block, store.no_parent()) => NO_PARENT,
            _ => store.stacks.number_of(block).unwrap_or(0),
        }
    }

    /// Where a stack begins that has not.
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

    /// Writes what lies on a stack; returns where, and the distance of the newest link from
    /// the end.
    fn frames_of(&mut self, stack: &ControlBlock) -> Result<(Frames, u32)> {
        // SAFETY: the stack is in use, and does not run: as many bytes lie there.
        let (left, on_stack) = unsafe {
            let left = LeftAt::of(stack);
            (left, std::slice::from_raw_parts(left.sp as *const u8, count_bytes(stack)))
        };
        let len = on_stack.len();
        let end = left.sp + len;
        let mut fp = match left.fp {
            0 => None,
            fp => Some(len - (end - fp)),
        };
        // Links say where frames were.
        let linked_end = end.wrapping_sub(left.distance);
        let mut all = std::mem::take(&mut self.frames);
        let start = all.len();
        if ptr::eq(stack, self.store().context().stack)
            && let Some(running) = self.take.running
        {
            let top = self.top_of_running(running, fp.map_or(0, |fp| linked_end - (len - fp)));
            // The link is the last word of what lies on top.
            fp = Some(top.len() - 8);
            all.extend_from_slice(&top);
        }
        all.extend_from_slice(on_stack);
        let bytes = &mut all[start..];
        let below = fp.map_or(0, |fp| (bytes.len() - fp) as u32);
        let frames = Frames { start: start as u64, len: bytes.len() as u32 };
        let &ControlBlock { function, purpose, .. } = stack;
        OnStack { bytes, purpose, function, fp }
            .visit(&mut Writing { writer: self, end: linked_end })?;
        self.frames = all;
        Ok((frames, below))
    }

    /// What lies on top of the running stack, as if it had been left where it is.
    fn top_of_running(&self, running: Running, fp: usize) -> Vec<u8> {
        let context = self.store().context();
        let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let top: Vec<u8> = match running {
            Running::InHostCall(host) => {
                // SAFETY: the host function was called with this context, and types live as
                // long as the engine.
                let ty = unsafe { (*(*host).ty).id };
                let LeftCall { results, array } =
                    LeftCall::of(&self.store().options.types.func_type(ty));
                let resume = stubs::continue_call as *const () as u64;
                words(&[resume, 0, 0, 0, 0, 0, results as u64, array as u64, fp as u64])
            }
            Running::Paused => {
                let registers = context.paused;
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

    fn taken(&mut self, taken: &Taken) -> Result<TakenImage> {
        Ok(match *taken {
            Taken::FromBox { boxed, stack } => {
                TakenImage::FromBox { boxed: self.reference(boxed)?, stack }
            }
            Taken::FromFunction { taker, env, stack, mark } => TakenImage::FromFunction {
                taker: self.function_number(taker as usize)?,
                env: self.reference(env)?,
                stack,
                mark,
            },
        })
    }
}

/// The end of what lies on a stack that has memory of its own. Above the frames of a root that
/// was restored lies the [store](super::restore), and then zero, where others have the address
/// to return to.
pub(super) fn end_of_frames(stack: &ControlBlock) -> usize {
    let end = crate::stack::end_of_frames(stack);
    if stack.purpose != Purpose::Root || stack.sp == end {
        return end;
    }
    // SAFETY: something lies on the root.
    match unsafe { *((end - size_of::<usize>()) as *const usize) } {
        0 => end - super::restore::ABOVE_ROOT,
        _ => end,
    }
}

/// How many bytes lie on a stack, from its stack pointer to the end of its frames.
fn count_bytes(stack: &ControlBlock) -> usize {
    match stack.is_parked() {
        true => crate::stack::bytes_in_frames(stack),
        false => end_of_frames(stack) - stack.sp,
    }
}

/// How far the highest address of a stack is above the end of its frames.
fn above_frames(stack: &ControlBlock) -> usize {
    // SAFETY: the stack is in use, and does not run.
    unsafe { LeftAt::depth(stack) - count_bytes(stack) }
}

/// The numbers of the stacks that wait for the end of the call whose root was freed, the
/// innermost first; none, if it was not.
fn spent_with(store: &Store, root: usize) -> Vec<usize> {
    // SAFETY: blocks of the table are always initialised, and a chain leads from the innermost
    // stack to the root.
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
