//! Functions of sockets. A program cannot create sockets, except by accepting connections.

use crate::abi::errno::Errno;
use crate::abi::{FdFlags, RiFlags, Rights, SdFlags, flags};
use crate::call::Call;
use crate::context::stream::Socket;
use crate::failure::{Failure, Result};
use crate::files::descriptor::DescriptorKind;
use crate::functions::chunks::part;
use crate::wait::{Interest, Source, Wait};
use rustix::net::{RecvFlags, Shutdown, SocketFlags, accept_with};

pub fn sock_accept(call: &mut Call<'_>, fd: i32, bits: i32, accepted: i32) -> Result {
    let (place, new): (_, FdFlags) = (call.guest.place(accepted)?, flags(bits as u32)?);
    if !FdFlags::NONBLOCK.contains(new) {
        return Err(Errno::INVAL.into());
    }
    let descriptor = call.ctx.table.get(fd)?;
    let socket = match &descriptor.kind {
        DescriptorKind::Listener(socket) => socket,
        DescriptorKind::Socket(_) => return Err(Errno::INVAL.into()),
        _ => return Err(Errno::NOTSOCK.into()),
    };
    descriptor.require(Rights::SOCK_ACCEPT)?;
    call.ctx.table.check_room()?;
    let accepted = rustix::io::retry_on_intr(|| {
        accept_with(socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
    });
    let accepted = accepted.map_err(|error| descriptor.unless_blocking(error, Interest::Read))?;
    let number = call.ctx.table.insert(Socket::nonblocking(accepted, false, new))?;
    call.guest.put(place, number);
    Ok(())
}

#[allow(clippy::too_many_arguments, reason = "the signature of the specification")]
pub fn sock_recv(
    call: &mut Call<'_>,
    fd: i32,
    vectors: i32,
    count: i32,
    bits: i32,
    size: i32,
    out_flags: i32,
) -> Result {
    let Call { ctx, guest, .. } = call;
    let (place, out_flags) = (guest.place(size)?, guest.place::<u16>(out_flags)?);
    let buffers = guest.buffers(vectors, count)?;
    let how: RiFlags = flags(bits as u32)?;
    let descriptor = ctx.table.get(fd)?;
    let socket = descriptor.socket(Rights::FD_READ)?;
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

pub fn sock_send(
    call: &mut Call<'_>,
    fd: i32,
    vectors: i32,
    count: i32,
    bits: i32,
    size: i32,
) -> Result {
    let (place, buffers) = (call.guest.place(size)?, call.guest.buffers(vectors, count)?);
    let descriptor = call.descriptor(fd)?;
    descriptor.socket(Rights::empty())?;
    // The specification defines no flags.
    if bits != 0 {
        return Err(Errno::INVAL.into());
    }
    descriptor.require(Rights::FD_WRITE)?;
    let sent = descriptor.send(&call.guest.slices(&buffers))?;
    call.guest.put_count(place, sent);
    Ok(())
}

pub fn sock_shutdown(call: &mut Call<'_>, fd: i32, bits: i32) -> Result {
    let descriptor = call.descriptor(fd)?;
    let socket = descriptor.socket(Rights::empty())?;
    let how = match flags::<SdFlags>(bits as u32)? {
        SdFlags::RD => Shutdown::Read,
        SdFlags::WR => Shutdown::Write,
        both if both.is_all() => Shutdown::Both,
        _ => return Err(Errno::INVAL.into()),
    };
    descriptor.require(Rights::SOCK_SHUTDOWN)?;
    Ok(rustix::net::shutdown(socket, how)?)
}
