//! Waits without blocking a thread for each call.
//!
//! Asynchronous calls can run on any executor. A single thread of the process waits for all of
//! them and wakes their tasks. The first asynchronous wait starts it.
//!
//! ```text
//!   a waiting call                     the thread
//!   +--------------------+  add        +---------------------------------+
//!   | Ready: a number,   | ----------> | epoll: descriptors, with numbers|
//!   | sources            |             | times, with numbers             |
//!   +--------------------+ <---------- | wakers by number                |
//!            polled again     wake     +---------------------------------+
//! ```
//!
//! Each wait has its own number. A number without a waker has been woken. A wait removes what it
//! has added when it is dropped.

use crate::abi::errno::Result;
use crate::wait::{Interest, Source, Wait, timespec};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::Future;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// The number of the event descriptor that tells the thread about an earlier time. Waits have
/// other numbers.
const NOTIFY: u64 = 0;

/// The maximum number of events per `epoll_wait`.
const EVENTS: usize = 64;

/// The state that waiting calls share with the thread.
struct Reactor {
    epoll: OwnedFd,
    notify: OwnedFd,
    waits: Mutex<Waits>,
}

#[derive(Default)]
struct Waits {
    /// The number of the newest wait.
    last: u64,
    /// The wakers of waits that have not been woken.
    wakers: HashMap<u64, Waker>,
    times: BTreeSet<(Instant, u64)>,
}

/// The reactor of the process, which the first call starts.
fn reactor() -> rustix::io::Result<&'static Reactor> {
    static REACTOR: Mutex<Option<&Reactor>> = Mutex::new(None);
    let mut started = lock(&REACTOR);
    if let Some(reactor) = *started {
        return Ok(reactor);
    }
    let reactor: &'static Reactor = Box::leak(Box::new(Reactor::new()?));
    let thread = std::thread::Builder::new().name("ropewalk-wasi".to_owned());
    thread.spawn(|| reactor.run()).map_err(|_| Errno::AGAIN)?;
    Ok(started.insert(reactor))
}

/// Locks a mutex. No code panics while it holds a lock, since wakers, which may run arbitrary
/// code, are not cloned, woken or dropped then.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reactor {
    fn new() -> rustix::io::Result<Reactor> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let notify = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        epoll::add(&epoll, &notify, EventData::new_u64(NOTIFY), EventFlags::IN)?;
        Ok(Reactor { epoll, notify, waits: Mutex::default() })
    }

    /// Adds a wait with a waker and an optional time; returns its number.
    fn begin(&self, until: Option<Instant>, waker: Waker) -> u64 {
        let mut waits = lock(&self.waits);
        waits.last += 1;
        let number = waits.last;
        waits.wakers.insert(number, waker);
        if let Some(until) = until {
            let is_first = waits.times.first().is_none_or(|(first, _)| until < *first);
            waits.times.insert((until, number));
            drop(waits);
            if is_first {
                // If the counter is full, the thread has not read an earlier notification.
                let _ = rustix::io::write(&self.notify, &1u64.to_ne_bytes());
            }
        }
        number
    }

    /// Whether a wait has been woken; if not, replaces its waker.
    fn poll(&self, number: u64, waker: Waker) -> Poll<()> {
        let mut waits = lock(&self.waits);
        let Some(place) = waits.wakers.get_mut(&number) else { return Poll::Ready(()) };
        let before = std::mem::replace(place, waker);
        drop(waits);
        drop(before);
        Poll::Pending
    }

    fn end(&self, number: u64, until: Option<Instant>) {
        let mut waits = lock(&self.waits);
        if let Some(until) = until {
            waits.times.remove(&(until, number));
        }
        let waker = waits.wakers.remove(&number);
        drop(waits);
        drop(waker);
    }

    fn run(&self) -> ! {
        loop {
            self.wait();
            let mut events = Vec::with_capacity(EVENTS);
            // This fails only if a signal arrives.
            let room = rustix::buffer::spare_capacity(&mut events);
            let _ = epoll::wait(&self.epoll, room, Some(&timespec(Duration::ZERO)));
            let numbers = events.iter().map(|event| event.data.u64());
            for waker in self.due(numbers) {
                // A waker that panics must not affect the others.
                let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
            }
        }
    }

    /// Waits for an event or the first time. `poll` waits for the descriptor of `epoll`, since
    /// `epoll_wait` counts only milliseconds.
    fn wait(&self) {
        let first = lock(&self.waits).times.first().map(|(time, _)| *time);
        let rest = first.map(|time| timespec(time.saturating_duration_since(Instant::now())));
        let mut fds = [PollFd::new(&self.epoll, PollFlags::IN)];
        // After a signal the caller polls again.
        let _ = poll(&mut fds, rest.as_ref());
    }

    /// Takes the wakers of the waits whose event or time has arrived.
    fn due(&self, numbers: impl Iterator<Item = u64>) -> Vec<Waker> {
        let mut waits = lock(&self.waits);
        let mut due = Vec::new();
        for number in numbers {
            if number == NOTIFY {
                let _ = rustix::io::read(&self.notify, &mut [0; 8]);
            }
            due.extend(waits.wakers.remove(&number));
        }
        let now = Instant::now();
        while let Some((time, number)) = waits.times.first().copied()
            && time <= now
        {
            waits.times.pop_first();
            due.extend(waits.wakers.remove(&number));
        }
        due
    }
}

/// A future that completes when a wait ends.
pub(crate) struct Ready {
    wait: Wait,
    state: State,
}

enum State {
    New,
    /// The time is in the past, so the future only yields once.
    Yields,
    Waits(Added),
}

/// A wait in the reactor, which is removed on drop.
struct Added {
    reactor: &'static Reactor,
    number: u64,
    until: Option<Instant>,
    descriptors: Vec<Descriptor>,
}

/// A descriptor in the reactor.
enum Descriptor {
    Own(Source),
    /// A duplicate of a descriptor that another wait has added, since `epoll` accepts each
    /// descriptor only once.
    Duplicate(OwnedFd),
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Descriptor::Own(source) => source.as_fd(),
            Descriptor::Duplicate(fd) => fd.as_fd(),
        }
    }
}

impl Ready {
    pub(crate) fn new(wait: Wait) -> Ready {
        Ready { wait, state: State::New }
    }

    fn begin(&self, context: &Context<'_>) -> rustix::io::Result<State> {
        if self.wait.until.is_some_and(|until| until <= Instant::now()) {
            context.waker().wake_by_ref();
            return Ok(State::Yields);
        }
        Ok(State::Waits(Added::new(&self.wait, context.waker())?))
    }
}

impl Future for Ready {
    type Output = Result;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result> {
        match &self.state {
            State::New => {
                self.state = self.begin(context)?;
                Poll::Pending
            }
            State::Yields => Poll::Ready(Ok(())),
            State::Waits(added) => {
                added.reactor.poll(added.number, context.waker().clone()).map(Ok)
            }
        }
    }
}

/// Merges the interests in each source.
fn distinct(sources: &[(Source, Interest)]) -> BTreeMap<RawFd, (&Source, EventFlags)> {
    let mut distinct = BTreeMap::new();
    for (source, interest) in sources {
        let flags = match interest {
            Interest::Read => EventFlags::IN,
            Interest::Write => EventFlags::OUT,
        };
        let fd = source.as_fd().as_raw_fd();
        distinct.entry(fd).or_insert((source, EventFlags::empty())).1 |= flags;
    }
    distinct
}

impl Added {
    fn new(wait: &Wait, waker: &Waker) -> rustix::io::Result<Added> {
        let reactor = reactor()?;
        let until = wait.until;
        let number = reactor.begin(until, waker.clone());
        let mut added = Added { reactor, number, until, descriptors: Vec::new() };
        for (source, flags) in distinct(&wait.sources).into_values() {
            added.add(source, flags)?;
        }
        Ok(added)
    }

    fn add(&mut self, source: &Source, flags: EventFlags) -> rustix::io::Result<()> {
        let add = |fd: BorrowedFd<'_>| {
            let data = EventData::new_u64(self.number);
            epoll::add(&self.reactor.epoll, fd, data, flags | EventFlags::ONESHOT)
        };
        match add(source.as_fd()) {
            Ok(()) => self.descriptors.push(Descriptor::Own(source.clone())),
            Err(Errno::EXIST) => {
                let fd = rustix::io::fcntl_dupfd_cloexec(source, 0)?;
                add(fd.as_fd())?;
                self.descriptors.push(Descriptor::Duplicate(fd));
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Drop for Added {
    fn drop(&mut self) {
        for descriptor in &self.descriptors {
            // This fails only if the host has closed its own standard stream.
            let _ = epoll::delete(&self.reactor.epoll, descriptor);
        }
        self.reactor.end(self.number, self.until);
    }
}
