//! Throws exceptions.
//!
//! A search outward through the frames finds the handler. Its frame becomes the newest: the control
//! block gets its position, and the stub continues there. Without a handler the activation ends.
//! The host gets the exception, or a trap if the base is a stack of the bag or a first-class one.

use crate::heap::Object;
use crate::inspect::frames::{Frame, Frames};
use crate::report::backtrace::Backtrace;
use crate::store::Store;
use crate::store::running::Ending;
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::code::index;
use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{ControlBlock, RawVal, StorageType, TagDef, TrapCode};
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// Where an exception continues.
pub(super) struct Landing {
    sp: usize,
    fp: usize,
    ip: usize,
    /// The number of owned stacks that its frame keeps.
    kept: usize,
}

impl Store {
    /// Throws an exception in the newest activation, which is in a host call.
    pub fn throw(&mut self, exception: u64) -> Outcome {
        self.throw_from(exception, Backtrace::default())
    }

    /// As [`throw`](Self::throw). If nothing catches the exception, the backtrace says where it was
    /// thrown, unless it is empty.
    pub fn throw_from(&mut self, exception: u64, backtrace: Backtrace) -> Outcome {
        // SAFETY: only exceptions are thrown, and they are never null.
        let object = unsafe { Object::from_reference(exception) }.expect("not null");
        match self.find_handler(object.tag()) {
            Some((stack, landing)) => {
                self.trace_throw(stack, object.tag());
                self.land(stack, &landing);
                Outcome::catch(exception)
            }
            None => {
                if let Some(error) = self.error_of_trap(exception) {
                    return self.end_with(Ending::Error(error));
                }
                // SAFETY: running stacks are alive.
                let trap = match unsafe { (*self.base_of_running()).purpose } {
                    Purpose::Bag => Some(TrapCode::CoroutineException),
                    Purpose::FirstClass => Some(TrapCode::UncaughtOnStack),
                    _ => None,
                };
                if trap.is_none() {
                    self.trace_throw(ptr::null_mut(), object.tag());
                }
                let ending = match trap {
                    Some(code) => Ending::DetailedTrap(code, self.describe_exception(exception)),
                    None => match self.heap.roots.own(exception) {
                        Some(owned) => Ending::Exception(owned, backtrace),
                        // Without memory the host cannot own the exception.
                        None => Ending::Trap(TrapCode::OutOfMemory),
                    },
                };
                self.end_with(ending)
            }
        }
    }

    /// Throws an exception, or ends the activation with a trap.
    pub(crate) fn throw_or_trap(&mut self, thrown: Result<u64, TrapCode>) -> Outcome {
        match thrown {
            Ok(exception) => self.throw(exception),
            Err(code) => self.end_with(code),
        }
    }

    /// Makes the frame of a handler the newest. It is on the running stack or one of its parents.
    fn land(&mut self, stack: *mut ControlBlock, landing: &Landing) {
        self.release_running(stack);
        self.abandon_extension();
        // SAFETY: the handler was found on this stack.
        let owned = unsafe { self.owned_inside(stack, landing.fp, landing.kept) };
        self.free_owned(owned);
        // SAFETY: the running stack's block is alive.
        unsafe {
            ((*stack).sp, (*stack).fp) = (landing.sp, landing.fp);
            // This drops the marks of functions that were left.
            self.stacks.settle_marks(stack);
        }
        self.context_mut().landing = landing.ip;
    }

    /// The nearest handler on the running stack or its parents.
    fn find_handler(&self, tag: *const TagDef) -> Option<(*mut ControlBlock, Landing)> {
        // SAFETY: the running stack's block is alive.
        let running = unsafe { &*self.context().stack };
        self.running.with_parents(running).find_map(|stack| {
            let mut frames = Frames::of_host_call(self, stack);
            let landing = frames.find_map(|frame| handler_in(&frame, tag, true))?;
            Some((ptr::from_ref(stack).cast_mut(), landing))
        })
    }

    /// Makes an exception. Its values must have the types of the tag.
    pub fn new_exception(
        &mut self,
        tag: NonNull<TagDef>,
        values: impl Fn(&mut Store) -> anyhow::Result<Vec<RawVal>>,
    ) -> anyhow::Result<u64> {
        // SAFETY: tags live as long as the store.
        let ty = unsafe { tag.as_ref() }.ty;
        // SAFETY: types live as long as the engine.
        let id = unsafe { (*ty).id };
        let registered = self.options.types.get(id);
        let size = u64::from(registered.layout().size);
        let object = self.allocate(ty, size).map_err(|code| self.trap(code))?;
        object.set_tag(tag.as_ptr());
        // From here on nothing is allocated, so the object does not move.
        let values = values(self)?;
        let params = registered.ty().composite.as_func().expect("tags have function types");
        let params = params.params().iter().zip(&registered.layout().offsets);
        for (value, (ty, offset)) in values.iter().zip(params) {
            // SAFETY: the layout of the type has room for the value.
            unsafe {
                crate::heap::write_storage(object.at(*offset), StorageType::Val(*ty), value);
            }
        }
        Ok(object.reference())
    }
}

/// The first handler of a frame for a tag, perhaps one for any tag.
#[inline]
pub(super) fn handler_in(frame: &Frame<'_>, tag: *const TagDef, or_any: bool) -> Option<Landing> {
    let (image, site, sp) = frame.site()?;
    let module = frame.module()?;
    let handlers = image.handlers_of(site).iter();
    let found = handlers.into_iter().find(|handler| match index(handler.tag) {
        None => or_any,
        Some(index) => {
            // SAFETY: the exception table says that the context of an instance of the frame's
            // module is there.
            let its_tag = unsafe {
                let context = *((sp + handler.context as usize) as *const *const c_void);
                let place = context.byte_offset(module.layout.tag(index) as isize);
                *place.cast::<*const TagDef>()
            };
            std::ptr::eq(its_tag, tag)
        }
    })?;
    let ip = module.code.start() + found.code as usize;
    Some(Landing { sp, fp: frame.fp, ip, kept: found.kept as usize })
}
