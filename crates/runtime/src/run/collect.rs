//! The copying collector.
//!
//! It copies the objects that roots refer to, then the objects that copies refer to, in the order
//! of the new space. So it needs neither recursion nor a work list: the work that remains is the
//! part of the new space after the scan.

use crate::heap::Object;
use crate::inspect::frames::Frames;
use crate::stack::{ReachedStack, SavedPosition, SweepCounts, members};
use crate::store::Store;
use ropewalk_abi::heap::is_object;
use ropewalk_abi::stack::{
    FIBER_EXTRAS, KIND_MASK, NEW_STACK_ARGUMENTS, NEXT_GENERATION, Purpose, block_number, is_stack,
};
use ropewalk_abi::{ControlBlock, PARKED_PLAIN, RawVal, TrapCode, TypeKind};
use std::ops::Range;
use std::ptr;

/// The lists of a collection. They are allocated before it begins, so that nothing can fail
/// halfway.
pub(super) struct Lists {
    /// The running stacks and their parents.
    running: Vec<*const ControlBlock>,
    /// The roots of activations that have not ended.
    roots: Vec<*mut ControlBlock>,
    /// The findings about each stack, by block.
    stacks: Vec<ReachedStack>,
    /// The stacks that are or were in `pending`, by block.
    was_pending: Vec<bool>,
    /// Valid references to stacks whose frames were not visited yet, at most one for each stack.
    pending: Vec<u64>,
}

impl Lists {
    pub fn new(store: &mut Store) -> Result<Lists, TrapCode> {
        store.heap.externs.make_room_to_sweep()?;
        let count = store.stacks.len() + 1;
        let mut running = with_room(store.stacks_in_host_calls().count())?;
        running.extend(store.stacks_in_host_calls().map(ptr::from_ref));
        let mut roots = with_room(store.running.roots_in_use().count())?;
        roots.extend(store.running.roots_in_use().map(|root| root.block));
        let mut stacks = with_room(count)?;
        stacks.resize(count, ReachedStack::default());
        let mut was_pending = with_room(count)?;
        was_pending.resize(count, false);
        Ok(Lists { running, roots, stacks, was_pending, pending: with_room(count)? })
    }
}

fn with_room<T>(count: usize) -> Result<Vec<T>, TrapCode> {
    let mut list = Vec::new();
    list.try_reserve_exact(count).map_err(|_| TrapCode::OutOfMemory)?;
    Ok(list)
}

/// Copies all reachable objects to free memory at `base`, which is zero from `clean` on, and
/// updates all references. Frees unreachable stacks. Returns the end of the copies.
pub(super) fn copy_reachable(store: &mut Store, lists: Lists, base: usize, clean: usize) -> usize {
    let Lists { running, roots, stacks, was_pending, pending } = lists;
    let mut copier = Copier {
        next: base,
        clean,
        externs: std::mem::take(&mut store.heap.externs.reached),
        blocks: store.stacks.base(),
        objects: store.options.snapshots.then(|| store.object_addresses()),
        stacks,
        was_pending,
        pending,
        references: store.options.stress.check_stacks.then(|| CheckReferences::begin(store)),
    };
    store.visit_roots(running, &mut copier);
    let mut scan = base;
    loop {
        while scan < copier.next {
            // SAFETY: the copies are adjacent.
            let object = unsafe { Object::from_reference(scan as u64) };
            let object = object.expect("objects are aligned");
            object.visit_references(|reference| copier.forward(reference));
            scan += object.size();
        }
        match copier.pending.pop() {
            Some(reference) => store.visit_suspended(reference, &mut copier),
            None => break,
        }
    }
    let Copier { next, externs, stacks, references, .. } = copier;
    store.heap.violation = references.and_then(|references| references.violation);
    store.heap.externs.reached = externs;
    store.heap.externs.sweep();
    store.sweep_stacks(stacks, &roots);
    next
}

/// The least number of free stacks that keep their memory after a collection.
const KEPT: usize = 1024;

struct Copier {
    /// The address of the next copy.
    next: usize,
    /// The memory from here on is zero.
    clean: usize,
    /// The host values that were reached.
    externs: Vec<bool>,
    /// The blocks of all stacks.
    blocks: *const ControlBlock,
    /// The addresses of objects, if frames also list functions.
    objects: Option<Range<u64>>,
    stacks: Vec<ReachedStack>,
    was_pending: Vec<bool>,
    pending: Vec<u64>,
    /// In a stress mode, checks each reference.
    references: Option<CheckReferences>,
}

/// Checks that references to stacks only have generations that were handed out.
struct CheckReferences {
    /// For each block, the first reference that was not handed out. Zero if the block is retired.
    bounds: Vec<u64>,
    violation: Option<String>,
}

impl CheckReferences {
    fn begin(store: &Store) -> CheckReferences {
        let checked = match store.check_stacks() {
            Ok(checked) => checked,
            Err(violation) => {
                return CheckReferences { bounds: Vec::new(), violation: Some(violation) };
            }
        };
        let bound = |number| {
            // SAFETY: blocks of the table are always initialized.
            let stack = unsafe { &*store.stacks.block(number) };
            match checked.may_be_named(stack, number) {
                true => stack.reference.saturating_add(NEXT_GENERATION),
                false => stack.reference,
            }
        };
        // Null names block 0.
        let bounds = [0].into_iter().chain((1..=store.stacks.len()).map(bound)).collect();
        CheckReferences { bounds, violation: None }
    }

    fn check(&mut self, reference: u64) {
        let number = block_number(reference);
        let bound = self.bounds.get(number).copied().unwrap_or(0);
        if bound != 0 && reference & !KIND_MASK >= bound {
            let what =
                format!("stack {number}: a reference has a generation that was not handed out");
            self.violation.get_or_insert(what);
        }
    }
}

impl Copier {
    /// Whether a reference in a frame is a function. The stack maps of code for snapshots list
    /// these too.
    fn is_function(&self, reference: u64) -> bool {
        let objects = self.objects.as_ref();
        objects.is_some_and(|objects| is_object(reference) && !objects.contains(&reference))
    }

    /// Updates a reference to an object, which is copied first if necessary.
    fn forward(&mut self, reference: &mut u64) {
        if is_stack(*reference) {
            return self.reach_stack(*reference);
        }
        // SAFETY: roots and fields are references of the store, and each is updated once.
        let Some(object) = (unsafe { Object::from_reference(*reference) }) else { return };
        let copy = object.forwarded().unwrap_or_else(|| self.copy(object));
        *reference = copy.reference();
    }

    /// Marks a block as named. If the reference is valid, its stack must be visited.
    fn reach_stack(&mut self, reference: u64) {
        if let Some(references) = &mut self.references {
            references.check(reference);
        }
        let number = block_number(reference);
        let stack = &mut self.stacks[number];
        stack.is_named = true;
        if stack.is_live || self.was_pending[number] || number == 0 {
            return;
        }
        // SAFETY: blocks of the table are always initialized, and the lists have an entry for each.
        let block = unsafe { &*self.blocks.add(number) };
        if block.reference != reference & !KIND_MASK {
            return;
        }
        if refers_to_nothing(block) {
            stack.is_live = true;
        } else {
            self.was_pending[number] = true;
            self.pending.push(reference);
        }
    }

    fn copy(&mut self, object: Object) -> Object {
        if object.ty().kind == TypeKind::Extern {
            let number = object.extern_number() as usize;
            self.externs.resize(self.externs.len().max(number + 1), false);
            self.externs[number] = true;
        }
        let size = object.size();
        let place = self.next;
        self.next += size;
        // SAFETY: the new space is as large as all objects, and zero from `clean` on where nothing
        // was copied.
        unsafe { object.copy_to(place, size, self.clean) }
    }
}

/// Whether a stack with a valid reference needs no visit: it is alone and refers to nothing. There
/// can be millions of these.
fn refers_to_nothing(stack: &ControlBlock) -> bool {
    stack.limit == PARKED_PLAIN
        && ptr::eq(stack.innermost, stack)
        && (!stack.purpose.has_identity() || stack.parent.is_null())
}

impl Store {
    /// Visits all references outside of the heap.
    fn visit_roots(&mut self, running: Vec<*const ControlBlock>, copier: &mut Copier) {
        for stack in running {
            let number = self.stacks.number(stack);
            copier.stacks[number].is_live = true;
            // SAFETY: running stacks and their parents are alive.
            let frames = Frames::of_host_call(self, unsafe { &*stack });
            visit_frames(frames, copier);
            self.visit_marks(stack, copier);
        }
        for number in self.stacks.host_owned.numbers() {
            // SAFETY: blocks of the table are always initialized.
            copier.reach_stack(unsafe { (*self.stacks.block(number)).reference });
        }
        self.heap.roots.visit(|reference| copier.forward(reference));
        self.objects.visit_references(|reference| copier.forward(reference));
    }

    /// Visits the stacks that were suspended under a reference, if it is still valid.
    fn visit_suspended(&mut self, reference: u64, copier: &mut Copier) {
        let Some(outermost) = self.stacks.valid(reference) else { return };
        let reached = &mut copier.stacks[block_number(reference)];
        if reached.is_live {
            return;
        }
        // SAFETY: the block of a valid reference is alive.
        if unsafe { (*outermost).purpose.has_identity() && !(*outermost).parent.is_null() } {
            // It is running, or suspended with other stacks. If those are not reached in another
            // way, it will never continue.
            reached.is_kept = true;
            return;
        }
        // SAFETY: stacks in use are alive.
        self.visit_bound(unsafe { &*(*outermost).innermost }, |bound| copier.forward(bound));
        // SAFETY: the stack is the outermost of suspended ones, or new.
        for stack in unsafe { members(outermost) } {
            let number = self.stacks.number(stack);
            copier.stacks[number].is_live = true;
            // SAFETY: stacks in use are alive.
            let block = unsafe { &*stack };
            if block.limit != PARKED_PLAIN {
                visit_frames(Frames::of_suspended(self, block), copier);
                self.visit_arguments(block, |argument| copier.forward(argument));
                self.visit_marks(stack, copier);
            }
        }
    }

    /// Visits the arguments with which a new task or fiber was made.
    pub(crate) fn visit_arguments(&self, stack: &ControlBlock, mut visit: impl FnMut(&mut u64)) {
        // SAFETY: functions live as long as the store.
        let function = unsafe { stack.function.as_ref() };
        let (Some(function), 0) = (function, stack.fp) else { return };
        // SAFETY: types live as long as the engine.
        let ty = self.options.types.get(unsafe { (*function.ty).id });
        let ty = ty.ty().composite.as_func().expect("functions have function types");
        // SAFETY: a new stack is not running.
        let left = unsafe { SavedPosition::of(stack) };
        let count = (stack.top.wrapping_add(left.distance) - left.sp) / size_of::<RawVal>();
        let params = match stack.purpose {
            Purpose::Task => &ty.params()[ty.params().len() - count..],
            Purpose::Fiber => &ty.params()[..count - FIBER_EXTRAS],
            _ => return,
        };
        let place = (left.sp + NEW_STACK_ARGUMENTS) as *mut RawVal;
        for (i, ty) in params.iter().enumerate() {
            if self.options.types.is_collected(*ty) {
                // SAFETY: the arguments are after the first word of a new stack, in slots of 16
                // bytes.
                unsafe { visit(&mut *place.add(i).cast::<u64>()) };
            }
        }
    }

    /// Visits the values that are bound to the innermost of suspended stacks, or to a new one.
    pub(crate) fn visit_bound(&self, stack: &ControlBlock, mut visit: impl FnMut(&mut u64)) {
        // SAFETY: such a stack has the address to continue at on top.
        let Some(bound) = (unsafe { self.bound(stack) }) else { return };
        // SAFETY: types live as long as the engine.
        let ty = self.options.types.get(unsafe { (*bound.ty()).id });
        let ty = ty.ty().composite.as_func().expect("continuations are made of functions");
        for (number, ty) in ty.params()[..bound.count()].iter().enumerate() {
            if self.options.types.is_collected(*ty) {
                // SAFETY: bound values are on the stack, in slots of 16 bytes.
                unsafe { visit(&mut *bound.value(number).cast::<u64>()) };
            }
        }
    }

    /// Visits the references in the marks of a stack.
    fn visit_marks(&mut self, stack: *const ControlBlock, copier: &mut Copier) {
        // SAFETY: stacks that are visited are alive.
        let count = usize::from(unsafe { (*stack).marks });
        if count == 0 {
            return;
        }
        let number = self.stacks.number(stack);
        let marks = self.stacks.marks.counted(number, count);
        marks.iter_mut().for_each(|mark| mark.visit(|reference| copier.forward(reference)));
    }

    fn sweep_stacks(&mut self, reached: Vec<ReachedStack>, roots: &[*mut ControlBlock]) {
        let mut free = self.context().free_stacks;
        let no_parent = self.running.no_parent();
        let has_first_class = self.objects.has_stackrefs();
        let swept = self.stacks.sweep(reached, no_parent, roots, has_first_class, &mut free);
        let SweepCounts { in_use, freed } = swept;
        self.context_mut().free_stacks = free;
        self.park_after_collection();
        // A program that has freed this many stacks between two collections will need as many
        // again.
        self.shrink_stacks();
        self.stacks.trim(free, in_use.max(freed).max(KEPT));
    }
}

/// Visits the references in the frames of a stack that is not running.
fn visit_frames(frames: Frames<'_>, copier: &mut Copier) {
    for frame in frames {
        let Some((image, site, sp)) = frame.site() else { continue };
        for offset in image.references_of(site) {
            // SAFETY: the stack map lists a reference there, and the frame is suspended.
            let reference = unsafe { &mut *((sp + *offset as usize) as *mut u64) };
            if !copier.is_function(*reference) {
                copier.forward(reference);
            }
        }
    }
}
