//! `poll_oneoff`: waiting for times and descriptors.

use crate::abi::{Rights, Version};
use crate::ctx::{Began, WasiCtx};
use crate::descriptor::{Descriptor, Kind};
use crate::errno::{Errno, Failure, Result};
use crate::guest::{Guest, double_word, word};
use crate::wait::{Interest, Readiness, Source, Wait, readiness};
use std::time::{Duration, Instant};

/// The bytes of an event, the same in both versions.
const EVENT: usize = 32;

/// How many subscriptions a call can have. The host has such a limit too: as many as a process
/// may have open files.
const MOST_SUBSCRIPTIONS: u32 = 1 << 16;

/// What a program waits for.
enum Subscription {
    Clock { id: u32, timeout: u64, absolute: bool },
    Descriptor { fd: i32, interest: Interest },
}

/// What has become of a subscription.
enum Awaited {
    /// Something that is always ready, with this many bytes.
    Ready(u64),
    /// The n-th of the sources.
    Source(usize, Interest),
    /// A time, if it ever comes.
    Time(Option<Instant>),
    /// Nothing: it is not open, or not to be waited for. The others are waited for all the same.
    BadDescriptor,
}

/// What a program is told.
struct Event {
    /// The number by which the program knows the subscription.
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

    /// A clock of the older version has a number of its own in front.
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

    fn awaited(
        &self,
        ctx: &WasiCtx,
        began: Began,
        sources: &mut Vec<(Source, Interest)>,
    ) -> Result<Awaited> {
        match *self {
            Subscription::Clock { id, timeout, absolute } => {
                ctx.clocks.waitable(id)?;
                let now = if id == 0 { began.wall } else { began.monotonic };
                let timeout = Duration::from_nanos(timeout);
                let rest = if absolute { timeout.saturating_sub(now) } else { timeout };
                Ok(Awaited::Time(began.host.checked_add(rest)))
            }
            Subscription::Descriptor { fd, interest } => {
                let descriptor = ctx.table.get(fd).ok();
                let allowed = descriptor.filter(|it| it.base.contains(Rights::POLL_FD_READWRITE));
                let Some(descriptor) = allowed else { return Ok(Awaited::BadDescriptor) };
                match descriptor.source() {
                    None => Ok(Awaited::Ready(bytes_in(descriptor, interest))),
                    Some(source) => {
                        sources.push((source, interest));
                        Ok(Awaited::Source(sources.len() - 1, interest))
                    }
                }
            }
        }
    }
}

/// How much can be read or written at once. It is not known how much can be
/// written, but that it is something.
fn bytes_in(descriptor: &Descriptor, interest: Interest) -> u64 {
    match (&descriptor.kind, interest) {
        (_, Interest::Write) => 1,
        (Kind::Input(pipe), _) => pipe.unread() as u64,
        (Kind::File { fd, .. }, _) => {
            let size = descriptor.filestat().map_or(0, |stat| stat.size);
            size.saturating_sub(rustix::fs::tell(fd).unwrap_or(0))
        }
        _ => 0,
    }
}

pub(crate) fn poll_oneoff(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    version: Version,
    subscriptions: i32,
    events: i32,
    count: i32,
    stored: i32,
) -> Result {
    if count == 0 {
        return Err(Errno::INVAL.into());
    }
    let subscriptions = guest.array(subscriptions, count, Subscription::size(version))?;
    let (room, place) = (guest.array(events, count, EVENT)?, guest.place(stored)?);
    if count as u32 > MOST_SUBSCRIPTIONS {
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

/// All that has occurred, in the order of the subscriptions. Waits if it is
/// nothing.
fn occurred<'a>(
    ctx: &mut WasiCtx,
    version: Version,
    records: impl Iterator<Item = &'a [u8]>,
) -> Result<Vec<Event>> {
    let began = began(ctx);
    let (mut sources, mut awaited) = (Vec::new(), Vec::new());
    for record in records {
        let subscription = Subscription::decode(version, record)?;
        let what = subscription.awaited(ctx, began, &mut sources)?;
        awaited.push((double_word(record, 0), record[8], what));
    }
    let ready = readiness(&sources)?;
    let now = Instant::now();
    let event = |(userdata, ty, what): &(u64, u8, Awaited)| {
        let (error, bytes, hangup) = match what {
            Awaited::BadDescriptor => (Errno::BADF, 0, false),
            Awaited::Ready(bytes) => (Errno::SUCCESS, *bytes, false),
            Awaited::Time(time) => {
                time.filter(|time| *time <= now).map(|_| (Errno::SUCCESS, 0, false))?
            }
            Awaited::Source(i, interest) => {
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
        Awaited::Time(time) => *time,
        _ => None,
    });
    let until = times.min();
    Err(Failure::Wait(Wait { sources, until }))
}

/// When the program called. Times are counted from there, however often this is
/// tried.
fn began(ctx: &mut WasiCtx) -> Began {
    let clocks = &ctx.clocks;
    *ctx.progress.began.get_or_insert_with(|| Began {
        host: Instant::now(),
        wall: clocks.wall.now(),
        monotonic: clocks.monotonic.now(),
    })
}

/// How many bytes have arrived at a source.
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
