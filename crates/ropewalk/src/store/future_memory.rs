//! Where the futures of host functions lie that are not boxed: in memory that the next one
//! of the store uses again.
//!
//! A future must not move once it was polled, and whether it will wait is known only then.
//! So it is put into memory from which it need not move. If it was ready, the memory goes back
//! to the store; if it waits, the memory goes along with it.

use std::alloc::{Layout, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

/// How large a future may be that lies in memory that is used again.
const ROOM: usize = 512;

const ROOM_LAYOUT: Layout = match Layout::from_size_align(ROOM, 16) {
    Ok(layout) => layout,
    Err(_) => unreachable!(),
};

/// The memory for the next future of a store, if there was one before.
#[derive(Debug, Default)]
pub(crate) struct Nest(Option<NonNull<u8>>);

// SAFETY: it is memory that nobody else has.
unsafe impl Send for Nest {}
// SAFETY: nothing can be done with a shared one.
unsafe impl Sync for Nest {}

impl Nest {
    /// Memory of a layout.
    #[inline]
    fn take(&mut self, layout: Layout) -> NonNull<u8> {
        match self.0 {
            Some(room) if layout == ROOM_LAYOUT => {
                self.0 = None;
                room
            }
            _ => allocate(layout),
        }
    }

    /// Keeps memory of a layout for the next future, if it is of use.
    ///
    /// # Safety
    ///
    /// It must have been taken so, and nobody use it any more.
    #[inline]
    unsafe fn keep(&mut self, memory: NonNull<u8>, layout: Layout) {
        match self.0 {
            None if layout == ROOM_LAYOUT => self.0 = Some(memory),
            // SAFETY: the caller's promise.
            _ => unsafe { dealloc(memory.as_ptr(), layout) },
        }
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        if let Some(room) = self.0 {
            // SAFETY: it is kept only if it was allocated so, and nobody uses it.
            unsafe { dealloc(room.as_ptr(), ROOM_LAYOUT) };
        }
    }
}

#[cold]
fn allocate(layout: Layout) -> NonNull<u8> {
    // SAFETY: no layout is of no bytes: neither that of a room nor, by its definition,
    // `Room::LAYOUT`.
    let memory = unsafe { std::alloc::alloc(layout) };
    NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Memory for a future, which is not there yet.
pub(crate) struct Room<F>(NonNull<F>);

impl<F> Room<F> {
    /// Memory for such a future. It is never of no bytes.
    const LAYOUT: Layout = match size_of::<F>() <= ROOM && align_of::<F>() <= ROOM_LAYOUT.align() {
        true => ROOM_LAYOUT,
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
    pub fn new(nest: &mut Nest) -> Room<F> {
        Room(nest.take(Self::LAYOUT).cast())
    }

    /// Puts the future there.
    #[inline]
    pub fn put(self, future: F) -> Nested<F> {
        let room = ManuallyDrop::new(self);
        // SAFETY: there is room for it.
        unsafe { room.0.write(future) };
        Nested(room.0, PhantomData)
    }
}

impl<F> Drop for Room<F> {
    fn drop(&mut self) {
        // SAFETY: it was allocated so, and nothing is there.
        unsafe { dealloc(self.0.cast().as_ptr(), Self::LAYOUT) };
    }
}

/// A future that lies where it stays.
pub(crate) struct Nested<F>(NonNull<F>, PhantomData<F>);

// SAFETY: it is a future that nobody else has.
unsafe impl<F: Send> Send for Nested<F> {}

/// The future stays where it is if this moves.
impl<F> Unpin for Nested<F> {}

impl<F> Drop for Nested<F> {
    fn drop(&mut self) {
        let _room = Room(self.0);
        // SAFETY: it lies there, and is not used again.
        unsafe { self.0.drop_in_place() };
    }
}

impl<F: Future> Future for Nested<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: the future does not move as long as it is there.
        unsafe { Pin::new_unchecked(self.get_mut().0.as_mut()).poll(context) }
    }
}

/// A future of a host function, wherever it lies.
pub(crate) trait Going: Future + Unpin + Send + 'static {
    /// Drops it, as it was ready at once, and keeps its memory.
    ///
    /// # Safety
    ///
    /// The nest must be there, and nobody use it but the future while that is dropped.
    unsafe fn end(self, nest: *mut Nest);
}

impl<F: Future + Send + 'static> Going for Nested<F> {
    #[inline]
    unsafe fn end(self, nest: *mut Nest) {
        let this = ManuallyDrop::new(self);
        // SAFETY: it lies there, and is not used again; the memory was taken from a nest. The
        // future may have the store, with the nest, until it is dropped.
        unsafe {
            this.0.drop_in_place();
            (*nest).keep(this.0.cast(), Room::<F>::LAYOUT);
        }
    }
}

impl<R: 'static> Going for Pin<Box<dyn Future<Output = R> + Send>> {
    #[inline]
    unsafe fn end(self, _: *mut Nest) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::task::Waker;

    /// Is ready at once, with where it lies.
    async fn place<const SIZE: usize>(_shared: Arc<()>) -> usize {
        let bytes = [1u8; SIZE];
        std::future::ready(()).await;
        std::hint::black_box(&bytes).as_ptr() as usize
    }

    fn places<const SIZE: usize>() -> [usize; 2] {
        let (mut nest, shared) = (Nest::default(), Arc::new(()));
        let places = [(); 2].map(|()| {
            let mut future = Room::new(&mut nest).put(place::<SIZE>(shared.clone()));
            let polled = Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop()));
            let Poll::Ready(place) = polled else { panic!("it is ready at once") };
            // SAFETY: nobody else uses the nest.
            unsafe { future.end(&mut nest) };
            place
        });
        drop(Room::new(&mut nest).put(place::<SIZE>(shared.clone())));
        assert_eq!(Arc::strong_count(&shared), 1);
        places
    }

    #[test]
    fn a_small_future_lies_where_the_last_one_was() {
        let [first, second] = places::<100>();
        assert_eq!(first, second);
    }

    #[test]
    fn futures_of_any_size_are_dropped_once() {
        places::<1>();
        places::<5000>();
    }

    /// Is ready at once, has no bytes, and lies only at few places.
    #[repr(align(64))]
    struct Nowhere;

    impl Future for Nowhere {
        type Output = usize;

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<usize> {
            Poll::Ready(&raw const *self as usize)
        }
    }

    #[test]
    fn a_future_without_bytes_lies_where_it_may() {
        assert_eq!(size_of::<Nowhere>(), 0);
        assert!(Room::<Nowhere>::LAYOUT.size() > 0, "nobody may ask for no bytes");
        let mut nest = Nest::default();
        let mut future = Room::new(&mut nest).put(Nowhere);
        let polled = Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(place) if place % 64 == 0));
        // SAFETY: nobody else uses the nest.
        unsafe { future.end(&mut nest) };
    }

    #[test]
    fn room_for_which_there_is_no_future_is_given_back() {
        let mut nest = Nest::default();
        drop(Room::<[u8; 100]>::new(&mut nest));
        drop(Room::<[u8; 5000]>::new(&mut nest));
    }

    #[test]
    fn futures_inside_of_others_have_memory_of_their_own() {
        let mut nest = Nest::default();
        let shared = Arc::new(());
        let outer = Room::new(&mut nest).put(place::<8>(shared.clone()));
        let inner = Room::new(&mut nest).put(place::<8>(shared.clone()));
        assert_ne!(outer.0, inner.0);
        // SAFETY: nobody else uses the nest.
        unsafe {
            inner.end(&mut nest);
            outer.end(&mut nest);
        }
        assert_eq!(Arc::strong_count(&shared), 1);
    }
}
