//! `poll_oneoff`: waits for times and descriptors.

use crate::abi::errno::Errno;
use crate::abi::guest_memory::{double_word, word};
use crate::abi::{Rights, Version};
use crate::call::Call;
use crate::context::{StartTime, WasiCtx};
use crate::failure::{Failure, Result};
use crate::files::descriptor::{Descriptor, DescriptorKind};
use crate::wait::{Interest, Readiness, Source, Wait, readiness};
use std::time::{Duration, Instant};

/// The size of an event in both versions.
const EVENT: usize = 32;

/// The maximum number of subscriptions in a call. The host has a similar limit, the number of
/// files that a process may have open.
const MAX_SUBSCRIPTIONS: u32 = 1 << 16;

/// An event that a program waits for.
enum Subscription {
    Clock { id: u32, timeout: u64, absolute: bool },
    Descriptor { fd: i32, interest: Interest },
}

/// How a subscription can become ready.
enum Readying {
    /// It is always ready, with this many bytes.
    Ready(u64),
    /// When the n-th source is ready.
    Source(usize, Interest),
    /// At a time, unless it is too far in the future.
    Time(Option<Instant>),
    /// Immediately, with an error: the descriptor is not open or lacks the right.
    BadDescriptor,
}

/// An event that has occurred.
struct Event {
    /// The number that the program gave to the subscription.
    userdata: u64,
    error: Errno,
    ty: u8,
    bytes: u64,
    hangup: bool,
}

impl Subscription {
    fn size(version: Version) -> usize {
        match version {
            Version::Unstable => 56,
            Version::Preview1 => 48,
        }
    }

    /// In the older version, the record of a clock begins with another number.
    fn decode(version: Version, record: &[u8]) -> Result<Subscription> {
        let clock = match version {
            Version::Unstable => 24,
            Version::Preview1 => 16,
        };
        match record[8] {
            0 => Ok(Subscription::Clock {
                id: word(record, clock),
                timeout: double_word(record, clock + 8),
                absolute: match record[clock + 24..clock + 26] {
                    [0, 0] => false,
                    [1, 0] => true,
                    _ => return Err(Errno::INVAL.into()),
                },
            }),
            1 => Ok(Subscription::to(record, Interest::Read)),
            2 => Ok(Subscription::to(record, Interest::Write)),
            _ => Err(Errno::INVAL.into()),
        }
    }

    fn to(record: &[u8], interest: Interest) -> Subscription {
        Subscription::Descriptor { fd: word(record, 16) as i32, interest }
    }

    fn readying(
        &self,
        ctx: &WasiCtx,
        start: StartTime,
        sources: &mut Vec<(Source, Interest)>,
    ) -> Result<Readying> {
        match *self {
            Subscription::Clock { id, timeout, absolute } => {
                ctx.clocks.waitable(id)?;
                let now = if id == 0 { start.wall } else { start.monotonic };
                let timeout = Duration::from_nanos(timeout);
                let rest = if absolute { timeout.saturating_sub(now) } else { timeout };
                Ok(Readying::Time(start.host.checked_add(rest)))
            }
            Subscription::Descriptor { fd, interest } => {
                let descriptor = ctx.table.get(fd).ok();
                let allowed = descriptor.filter(|it| it.base.contains(Rights::POLL_FD_READWRITE));
                let Some(descriptor) = allowed else { return Ok(Readying::BadDescriptor) };
                match descriptor.source() {
                    None => Ok(Readying::Ready(bytes_in(descriptor, interest))),
                    Some(source) => {
                        sources.push((source, interest));
                        Ok(Readying::Source(sources.len() - 1, interest))
                    }
                }
            }
        }
    }
}

/// How many bytes can be read or written without waiting. For writes, the exact number is not
/// known, and the result is 1.
fn bytes_in(descriptor: &Descriptor, interest: Interest) -> u64 {
    match (&descriptor.kind, interest) {
        (_, Interest::Write) => 1,
        (DescriptorKind::Input(pipe), _) => pipe.unread() as u64,
        (DescriptorKind::File { fd, .. }, _) => {
            let size = descriptor.filestat().map_or(0, |stat| stat.size);
            size.saturating_sub(rustix::fs::tell(fd).unwrap_or(0))
        }
        _ => 0,
    }
}

pub fn poll_oneoff(
    call: &mut Call<'_>,
    subscriptions: i32,
    events: i32,
    count: i32,
    stored: i32,
) -> Result {
    let Call { ctx, guest, version } = call;
    let version = *version;
    if count == 0 {
        return Err(Errno::INVAL.into());
    }
    let subscriptions = guest.array(subscriptions, count, Subscription::size(version))?;
    let (room, place) = (guest.array(events, count, EVENT)?, guest.place(stored)?);
    if count as u32 > MAX_SUBSCRIPTIONS {
        return Err(Errno::INVAL.into());
    }
    let records = guest.get(subscriptions).chunks_exact(Subscription::size(version));
    let events = occurred(ctx, version, records)?;
    let used = room.start..room.start + events.len() * EVENT;
    for (event, room) in events.iter().zip(guest.get_mut(used).chunks_exact_mut(EVENT)) {
        event.encode(room);
    }
    guest.put_count(place, events.len());
    Ok(())
}

/// The events that have occurred, in the order of the subscriptions. Waits if there are none.
fn occurred<'a>(
    ctx: &mut WasiCtx,
    version: Version,
    records: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<Event>> {
    let start = start_time(ctx);
    let (mut sources, mut awaited) = (Vec::new(), Vec::new());
    for record in records {
        let subscription = Subscription::decode(version, record)?;
        let what = subscription.readying(ctx, start, &mut sources)?;
        awaited.push((double_word(record, 0), record[8], what));
    }
    let ready = readiness(&sources)?;
    let now = Instant::now();
    let event = |(userdata, ty, what): &(u64, u8, Readying)| {
        let (error, bytes, hangup) = match what {
            Readying::BadDescriptor => (Errno::BADF, 0, false),
            Readying::Ready(bytes) => (Errno::SUCCESS, *bytes, false),
            Readying::Time(time) => {
                time.filter(|time| *time <= now).map(|_| (Errno::SUCCESS, 0, false))?
            }
            Readying::Source(i, interest) => {
                let Readiness { ready, hangup } = ready[*i];
                let bytes = ready.then(|| available(&sources[*i].0, *interest))?;
                (Errno::SUCCESS, bytes, hangup)
            }
        };
        Some(Event { userdata: *userdata, error, ty: *ty, bytes, hangup })
    };
    let events: Vec<Event> = awaited.iter().filter_map(event).collect();
    if !events.is_empty() {
        return Ok(events);
    }
    let times = awaited.iter().filter_map(|(_, _, what)| match what {
        Readying::Time(time) => *time,
        _ => None,
    });
    let until = times.min();
    Err(Failure::Wait(Wait { sources, until }))
}

/// The time when the program called. Relative times count from there, also when the function is
/// called again.
fn start_time(ctx: &mut WasiCtx) -> StartTime {
    let clocks = &ctx.clocks;
    *ctx.progress.start.get_or_insert_with(|| StartTime {
        host: Instant::now(),
        wall: clocks.wall.now(),
        monotonic: clocks.monotonic.now(),
    })
}

/// How many bytes can be read from a source.
fn available(source: &Source, interest: Interest) -> u64 {
    match interest {
        Interest::Read => rustix::io::ioctl_fionread(source).unwrap_or(0),
        Interest::Write => 1,
    }
}

impl Event {
    fn encode(&self, room: &mut [u8]) {
        room.fill(0);
        room[0..8].copy_from_slice(&self.userdata.to_le_bytes());
        room[8..10].copy_from_slice(&(self.error as u16).to_le_bytes());
        room[10] = self.ty;
        room[16..24].copy_from_slice(&self.bytes.to_le_bytes());
        room[24] = self.hangup.into();
    }
}
