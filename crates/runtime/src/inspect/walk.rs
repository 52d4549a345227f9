//! Collecting the frames of stacks for a backtrace, from the innermost outwards.

use super::capture::resume_instruction;
use super::links::Links;
use super::repetitions::{Repetitions, Run};
use crate::arch;
use crate::code::LoadedModule;
use crate::report::backtrace::{Backtrace, Boundary, Frame, FrameRun};
use crate::stack::TopFrame;
use crate::store::Store;
use ropewalk_abi::ControlBlock;
use ropewalk_abi::code::{FunctionCode, index};
use std::collections::TryReserveError;
use std::sync::{Arc, OnceLock};

/// Up to this many frames, a backtrace has all of them.
const MAX_FRAMES: usize = 64;

/// A [`Boundary`] whose tags are not named yet.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RawBoundary {
    Resume { instruction: &'static str, handlers: *const u64 },
    Host,
}

impl RawBoundary {
    pub fn resume(child: &ControlBlock, parent: &ControlBlock) -> RawBoundary {
        let instruction = resume_instruction(child, parent);
        RawBoundary::Resume { instruction, handlers: parent.handlers }
    }
}

/// A frame before it is resolved: an address in its code, and the boundary before it.
type RawFrame = (usize, Option<RawBoundary>);

pub(super) struct Walker<'a> {
    store: &'a Store,
    folded: Repetitions<RawFrame>,
    /// Whether there was no memory for a frame.
    lacks_memory: bool,
    /// The boundary before the next frame.
    pub boundary: Option<RawBoundary>,
    /// The module of the last resolved frame, and its instance if there is only one.
    newest: Option<(&'a Arc<LoadedModule>, Option<usize>)>,
    /// Recent addresses, and whether they are in a function: deep stacks repeat few of them.
    recent: [(usize, bool); RECENT],
}

const RECENT: usize = 8;

impl<'a> Walker<'a> {
    pub fn new(store: &'a Store) -> Walker<'a> {
        let (folded, recent) = (Repetitions::new(MAX_FRAMES), [(0, false); RECENT]);
        Walker { store, folded, lacks_memory: false, boundary: None, newest: None, recent }
    }

    /// The instance of a module, if there is only one.
    fn only_instance(&mut self, module: &'a Arc<LoadedModule>) -> Option<usize> {
        if let Some((newest, instance)) = self.newest
            && Arc::ptr_eq(newest, module)
        {
            return instance;
        }
        let instances = self.store.objects.instances.iter().enumerate();
        let mut found = instances.filter(|(_, instance)| Arc::ptr_eq(instance.module(), module));
        let instance = found.next().filter(|_| found.next().is_none()).map(|(index, _)| index);
        self.newest = Some((module, instance));
        instance
    }

    /// Adds the frames of a stack.
    ///
    /// # Safety
    ///
    /// The stack must have been left at `left`.
    pub unsafe fn walk_left(&mut self, left: &TopFrame) {
        self.push(left.pc, !left.at_fault);
        // SAFETY: `sp` was the stack pointer when it was left.
        let missing = unsafe { self.unlinked_caller(left) };
        if let Some(pc) = missing {
            self.push(pc, true);
        }
        // SAFETY: the caller's promise.
        for (_, pc) in unsafe { Links::new(left.fp, left.distance) } {
            self.push(pc, true);
        }
    }

    /// The return address of a function, or of its probe, that faulted before it linked its frame.
    unsafe fn unlinked_caller(&self, left: &TopFrame) -> Option<usize> {
        if !left.at_fault {
            return None;
        }
        let (module, offset) = self.store.objects.module_at(left.pc)?;
        let image = module.code.tables();
        let start = image.function_at(offset).map(|f| image.functions[f as usize].start);
        let place = arch::frames::unlinked_return_address(start.map(|start| offset - start))?;
        // SAFETY: the return address is on top of the stack, or below what the function pushed.
        Some(unsafe { *((left.sp + place) as *const usize) })
    }

    /// Whether an address is in the code of a function.
    fn is_in_function(&mut self, address: usize) -> bool {
        let recent = &mut self.recent[address % RECENT];
        if recent.0 != address {
            let function = self.store.objects.function_at(address);
            let is_function = |(.., code): (_, _, FunctionCode)| index(code.function).is_some();
            *recent = (address, function.is_some_and(is_function));
        }
        recent.1
    }

    /// Adds the frame of a function, if the address is in one.
    pub fn push(&mut self, pc: usize, is_return_address: bool) {
        let address = if is_return_address { pc - 1 } else { pc };
        if !self.is_in_function(address) {
            return;
        }
        let frame = (address, self.boundary.take());
        self.lacks_memory |= self.folded.push(frame).is_err();
    }

    /// The backtrace: all frames if they are few, folded ones, or only their number without memory.
    pub fn finish(mut self) -> Backtrace {
        let folded = std::mem::replace(&mut self.folded, Repetitions::new(MAX_FRAMES));
        let count = folded.count();
        match self.lacks_memory {
            true => None,
            false => self.frames(folded).ok(),
        }
        .unwrap_or(Backtrace { count, ..Backtrace::default() })
    }

    fn frames(&mut self, folded: Repetitions<RawFrame>) -> Result<Backtrace, TryReserveError> {
        let mut trace = Backtrace { count: folded.count(), ..Backtrace::default() };
        let is_whole = trace.count <= MAX_FRAMES;
        let runs = folded.finish()?;
        trace.runs.try_reserve_exact(runs.len())?;
        for Run { number, items, times } in runs {
            let (first, copies) = (trace.frames.len(), if is_whole { times } else { 1 });
            trace.frames.try_reserve(copies * items.len())?;
            for _ in 0..copies {
                trace.frames.extend(items.iter().map(|frame| self.frame(*frame)));
            }
            trace.runs.push(FrameRun { number, first, length: items.len(), times });
        }
        Ok(trace)
    }

    fn frame(&mut self, (address, boundary): RawFrame) -> Frame {
        let found = self.store.objects.function_at(address);
        let (module, offset, code) = found.expect("it was found in a function");
        Frame {
            instance: self.only_instance(module).map(|index| (self.store.id(), index)),
            function: code.function,
            body: Some(code.body),
            offset: module.code.position_at(offset),
            module: module.clone(),
            boundary: boundary.map(|boundary| match boundary {
                // SAFETY: the stack that waits with these clauses was just walked.
                RawBoundary::Resume { instruction, handlers } => unsafe {
                    self.store.boundary_of(instruction, handlers)
                },
                RawBoundary::Host => Boundary::Host,
            }),
            places: OnceLock::new(),
        }
    }
}
