//! Memory for the unboxed futures of host functions. A store reuses it for one future after
//! another.
//!
//! A future must not move after its first poll, and only that poll says whether it waits. So it
//! is put into memory on the heap before. If it was ready, the memory goes back to the store. If
//! it waits, it keeps the memory.

use std::alloc::{Layout, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// The size of reused memory. Larger futures have memory of their own.
const REUSED: usize = 512;

const REUSED_LAYOUT: Layout = match Layout::from_size_align(REUSED, 16) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// The memory for the next future of a store, if an earlier future has left some.
#[derive(Debug, Default)]
pub(crate) struct FutureMemory(Option<NonNull<u8>>);

// SAFETY: it owns the memory.
unsafe impl Send for FutureMemory {}
// SAFETY: a shared reference gives no access to the memory.
unsafe impl Sync for FutureMemory {}

impl FutureMemory {
    #[inline]
    fn take(&mut self, layout: Layout) -> NonNull<u8> {
        match self.0 {
            Some(memory) if layout == REUSED_LAYOUT => {
                self.0 = None;
                memory
            }
            _ => allocate(layout),
        }
    }

    /// Keeps memory for the next future, or frees it.
    ///
    /// # Safety
    ///
    /// [`take`](Self::take) must have returned the memory for this layout, and nothing may use
    /// it.
    #[inline]
    unsafe fn keep(&mut self, memory: NonNull<u8>, layout: Layout) {
        match self.0 {
            None if layout == REUSED_LAYOUT => self.0 = Some(memory),
            // SAFETY: the caller's promise.
            _ => unsafe { dealloc(memory.as_ptr(), layout) },
        }
    }
}

impl Drop for FutureMemory {
    fn drop(&mut self) {
        if let Some(memory) = self.0 {
            // SAFETY: memory is kept only if it has this layout, and nothing uses it.
            unsafe { dealloc(memory.as_ptr(), REUSED_LAYOUT) };
        }
    }
}

#[cold]
fn allocate(layout: Layout) -> NonNull<u8> {
    // SAFETY: neither `REUSED_LAYOUT` nor any `FutureSlot::LAYOUT` has a size of zero.
    let memory = unsafe { std::alloc::alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Empty memory for a future.
pub(crate) struct FutureSlot<F>(NonNull<F>);

impl<F> FutureSlot<F> {
    /// The layout of the memory. Its size is never zero.
    const LAYOUT: Layout =
        match size_of::<F>() <= REUSED && align_of::<F>() <= REUSED_LAYOUT.align() {
            true => REUSED_LAYOUT,
            false => match Layout::new::<F>().size() {
                0 => match Layout::from_size_align(1, align_of::<F>()) {
                    Ok(layout) => layout,
                    Err(_) => unreachable!(),
                },
                _ => Layout::new::<F>(),
            },
        };

    /// Takes memory of a store.
    #[inline]
    pub fn new(memory: &mut FutureMemory) -> FutureSlot<F> {
        FutureSlot(memory.take(Self::LAYOUT).cast())
    }

    #[inline]
    pub fn put(self, future: F) -> StoredFuture<F> {
        let slot = ManuallyDrop::new(self);
        // SAFETY: the layout has room for it.
        unsafe { slot.0.write(future) };
        StoredFuture(slot.0, PhantomData)
    }
}

impl<F> Drop for FutureSlot<F> {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and is empty.
        unsafe { dealloc(self.0.cast().as_ptr(), Self::LAYOUT) };
    }
}

/// A future in its memory.
pub(crate) struct StoredFuture<F>(NonNull<F>, PhantomData<F>);

// SAFETY: it owns the future.
unsafe impl<F: Send> Send for StoredFuture<F> {}

/// The future stays in place if this moves.
impl<F> Unpin for StoredFuture<F> {}

impl<F> Drop for StoredFuture<F> {
    fn drop(&mut self) {
        let _slot = FutureSlot(self.0);
        // SAFETY: the memory holds the future, which is not used again.
        unsafe { self.0.drop_in_place() };
    }
}

impl<F: Future> Future for StoredFuture<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future does not move before it is dropped.
        unsafe { Pin::new_unchecked(self.get_mut().0.as_mut()).poll(context) }
    }
}

/// The future of a host function, boxed or in memory of the store.
pub(crate) trait HostCallFuture: Future + Unpin + Send + 'static {
    /// Drops a future that was ready on its first poll, and keeps its memory.
    ///
    /// # Safety
    ///
    /// `memory` must be valid. Only the future may use it while it is dropped.
    unsafe fn end(self, memory: *mut FutureMemory);
}

impl<F: Future + Send + 'static> HostCallFuture for StoredFuture<F> {
    #[inline]
    unsafe fn end(self, memory: *mut FutureMemory) {
        let this = ManuallyDrop::new(self);
        // SAFETY: the future is not used again. A slot took its memory. Until the future is
        // dropped, it may have the store borrowed, and `memory` with it.
        unsafe {
            this.0.drop_in_place();
            (*memory).keep(this.0.cast(), FutureSlot::<F>::LAYOUT);
        }
    }
}

impl<R: 'static> HostCallFuture for Pin<Box<dyn Future<Output = R> + Send>> {
    #[inline]
    unsafe fn end(self, _: *mut FutureMemory) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::task::Waker;

    /// Ready at once, with its own address.
    async fn place<const SIZE: usize>(_shared: Arc<()>) -> usize {
        let bytes = [1u8; SIZE];
        std::future::ready(()).await;
        std::hint::black_box(&bytes).as_ptr() as usize
    }

    fn places<const SIZE: usize>() -> [usize; 2] {
        let (mut memory, shared) = (FutureMemory::default(), Arc::new(()));
        let places = [(); 2].map(|()| {
            let mut future = FutureSlot::new(&mut memory).put(place::<SIZE>(shared.clone()));
            let polled = Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop()));
            let Poll::Ready(place) = polled else { panic!("it is ready at once") };
            // SAFETY: nothing else uses the memory.
            unsafe { future.end(&mut memory) };
            place
        });
        drop(FutureSlot::new(&mut memory).put(place::<SIZE>(shared.clone())));
        assert_eq!(Arc::strong_count(&shared), 1);
        places
    }

    #[test]
    fn a_small_future_reuses_the_memory_of_the_one_before() {
        let [first, second] = places::<100>();
        assert_eq!(first, second);
    }

    #[test]
    fn futures_of_any_size_are_dropped_once() {
        places::<1>();
        places::<5000>();
    }

    /// Ready at once, with its own address. It has a size of zero, and a large alignment.
    #[repr(align(64))]
    struct Nowhere;

    impl Future for Nowhere {
        type Output = usize;

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<usize> {
            Poll::Ready(&raw const *self as usize)
        }
    }

    #[test]
    fn a_future_of_size_zero_is_aligned() {
        assert_eq!(size_of::<Nowhere>(), 0);
        assert!(FutureSlot::<Nowhere>::LAYOUT.size() > 0, "allocations have at least one byte");
        let mut memory = FutureMemory::default();
        let mut future = FutureSlot::new(&mut memory).put(Nowhere);
        let polled = Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(place) if place % 64 == 0));
        // SAFETY: nothing else uses the memory.
        unsafe { future.end(&mut memory) };
    }

    #[test]
    fn an_empty_slot_is_freed() {
        let mut memory = FutureMemory::default();
        drop(FutureSlot::<[u8; 100]>::new(&mut memory));
        drop(FutureSlot::<[u8; 5000]>::new(&mut memory));
    }

    #[test]
    fn nested_futures_have_memory_of_their_own() {
        let mut memory = FutureMemory::default();
        let shared = Arc::new(());
        let outer = FutureSlot::new(&mut memory).put(place::<8>(shared.clone()));
        let inner = FutureSlot::new(&mut memory).put(place::<8>(shared.clone()));
        assert_ne!(outer.0, inner.0);
        // SAFETY: nothing else uses the memory.
        unsafe {
            inner.end(&mut memory);
            outer.end(&mut memory);
        }
        assert_eq!(Arc::strong_count(&shared), 1);
    }
}
