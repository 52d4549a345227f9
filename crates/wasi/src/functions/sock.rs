//! Functions of sockets. A program cannot make one: it is handed those it has.

use crate::abi::{FdFlags, RiFlags, Rights, SdFlags, flags};
use crate::ctx::{Socket, WasiCtx};
use crate::descriptor::Kind;
use crate::errno::{Errno, Failure, Result};
use crate::guest::Guest;
use crate::pieces::part;
use crate::wait::{Interest, Source, Wait};
use rustix::net::{RecvFlags, Shutdown, SocketFlags, accept_with};

pub(crate) fn sock_accept(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    bits: i32,
    accepted: i32,
) -> Result {
    let (place, new): (_, FdFlags) = (guest.place(accepted)?, flags(bits as u32)?);
    if !FdFlags::NONBLOCK.contains(new) {
        return Err(Errno::INVAL.into());
    }
    let descriptor = ctx.table.get(fd)?;
    let socket = match &descriptor.kind {
        Kind::Listener(socket) => socket,
        Kind::Socket(_) => return Err(Errno::INVAL.into()),
        _ => return Err(Errno::NOTSOCK.into()),
    };
    descriptor.require(Rights::SOCK_ACCEPT)?;
    ctx.table.check_room()?;
    let accepted = rustix::io::retry_on_intr(|| {
        accept_with(socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
    });
    let accepted = accepted.map_err(|error| descriptor.unless_blocking(error, Interest::Read))?;
    let number = ctx.table.insert(Socket::waiting_elsewhere(accepted, false, new))?;
    guest.put(place, number);
    Ok(())
}

#[allow(clippy::too_many_arguments, reason = "the specification's")]
pub(crate) fn sock_recv(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    vectors: i32,
    count: i32,
    bits: i32,
    size: i32,
    out_flags: i32,
) -> Result {
    let (place, out_flags) = (guest.place(size)?, guest.place::<u16>(out_flags)?);
    let buffers = guest.buffers(vectors, count)?;
    let how: RiFlags = flags(bits as u32)?;
    let descriptor = ctx.table.get(fd)?;
    let socket = descriptor.socket()?;
    descriptor.require_data(Rights::FD_READ)?;
    let peek = how.contains(RiFlags::PEEK);
    let buffers = part(&buffers, ctx.progress.done, usize::MAX);
    let wanted: usize = buffers.iter().map(ExactSizeIterator::len).sum();
    let host = if peek { RecvFlags::PEEK } else { RecvFlags::empty() };
    let received = descriptor.receive(&mut guest.slices_mut(&buffers), host)?;
    guest.filled(&buffers, received);
    let all = how.contains(RiFlags::WAITALL) && !peek;
    if all && (1..wanted).contains(&received) && !descriptor.flags.contains(FdFlags::NONBLOCK) {
        let wait = Wait::new(Source::Owned(socket.clone()), Interest::Read);
        ctx.progress.done += received;
        return Err(Failure::Wait(wait));
    }
    guest.put_count(place, ctx.progress.done + received);
    guest.put(out_flags, 0);
    Ok(())
}

pub(crate) fn sock_send(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    vectors: i32,
    count: i32,
    bits: i32,
    size: i32,
) -> Result {
    let (place, buffers) = (guest.place(size)?, guest.buffers(vectors, count)?);
    let descriptor = ctx.table.get(fd)?;
    descriptor.socket()?;
    // There are no flags yet.
    if bits != 0 {
        return Err(Errno::INVAL.into());
    }
    descriptor.require_data(Rights::FD_WRITE)?;
    let sent = descriptor.send(&guest.slices(&buffers))?;
    guest.put_count(place, sent);
    Ok(())
}

pub(crate) fn sock_shutdown(ctx: &mut WasiCtx, _: &mut Guest<'_>, fd: i32, bits: i32) -> Result {
    let descriptor = ctx.table.get(fd)?;
    let socket = descriptor.socket()?;
    let how = match flags::<SdFlags>(bits as u32)? {
        SdFlags::RD => Shutdown::Read,
        SdFlags::WR => Shutdown::Write,
        both if both.is_all() => Shutdown::Both,
        _ => return Err(Errno::INVAL.into()),
    };
    descriptor.require(Rights::SOCK_SHUTDOWN)?;
    Ok(rustix::net::shutdown(socket, how)?)
}
