//! Functions of descriptors.

use crate::abi::{FdFlags, Fdstat, Filestat, FstFlags, Rights, Version, dirent, flags, rights};
use crate::ctx::WasiCtx;
use crate::descriptor::Kind;
use crate::errno::{Errno, Failure, Result};
use crate::exit::BrokenPipe;
use crate::guest::Guest;
use crate::pieces::transfer;
use crate::times::Times;
use rustix::fs::{Advice, FallocateFlags, SeekFrom};
use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;

pub(crate) fn fd_advise(
    ctx: &mut WasiCtx,
    _: &mut Guest<'_>,
    fd: i32,
    offset: i64,
    len: i64,
    advice: i32,
) -> Result {
    let descriptor = ctx.table.get(fd)?;
    let file = descriptor.file()?;
    descriptor.require(Rights::FD_ADVISE)?;
    let advice = match advice {
        0 => Advice::Normal,
        1 => Advice::Sequential,
        2 => Advice::Random,
        3 => Advice::WillNeed,
        4 => Advice::DontNeed,
        5 => Advice::NoReuse,
        _ => return Err(Errno::INVAL.into()),
    };
    let (offset, len) = file_range(offset, len)?;
    Ok(rustix::fs::fadvise(file, offset, NonZeroU64::new(len), advice)?)
}

pub(crate) fn fd_allocate(
    ctx: &mut WasiCtx,
    _: &mut Guest<'_>,
    fd: i32,
    offset: i64,
    len: i64,
) -> Result {
    let descriptor = ctx.table.get(fd)?;
    let file = descriptor.file()?;
    descriptor.require_data(Rights::FD_ALLOCATE)?;
    let (offset, len) = file_range(offset, len)?;
    Ok(rustix::fs::fallocate(file, FallocateFlags::empty(), offset, len)?)
}

/// A part of a file, whose sizes are below 2⁶³.
fn file_range(offset: i64, len: i64) -> Result<(u64, u64)> {
    match offset.checked_add(len) {
        Some(_) if offset >= 0 && len >= 0 => Ok((offset as u64, len as u64)),
        _ => Err(Errno::INVAL.into()),
    }
}

pub(crate) fn fd_close(ctx: &mut WasiCtx, _: &mut Guest<'_>, fd: i32) -> Result {
    ctx.table.remove(fd).map(drop)
}

pub(crate) fn fd_datasync(ctx: &mut WasiCtx, _: &mut Guest<'_>, fd: i32) -> Result {
    Ok(rustix::fs::fdatasync(synchronised(ctx, fd, Rights::FD_DATASYNC)?)?)
}

pub(crate) fn fd_sync(ctx: &mut WasiCtx, _: &mut Guest<'_>, fd: i32) -> Result {
    Ok(rustix::fs::fsync(synchronised(ctx, fd, Rights::FD_SYNC)?)?)
}

/// A file whose contents are to be on the disk.
fn synchronised(ctx: &WasiCtx, fd: i32, rights: Rights) -> Result<BorrowedFd<'_>> {
    let descriptor = ctx.table.get(fd)?;
    let file = descriptor.file()?;
    descriptor.require(rights)?;
    Ok(file)
}

pub(crate) fn fd_fdstat_get(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    stat: i32,
) -> Result {
    let place = guest.range(stat, Fdstat::SIZE)?;
    let descriptor = ctx.table.get(fd)?;
    let stat = Fdstat {
        filetype: descriptor.filetype(),
        flags: descriptor.flags,
        base: descriptor.base,
        inheriting: descriptor.inheriting,
    };
    guest.get_mut(place).copy_from_slice(&stat.encode());
    Ok(())
}

/// Whether a file appends, and whether it waits, can be changed later; how it is
/// synchronised cannot.
pub(crate) fn fd_fdstat_set_flags(
    ctx: &mut WasiCtx,
    _: &mut Guest<'_>,
    fd: i32,
    bits: i32,
) -> Result {
    let new: FdFlags = flags(bits as u32)?;
    let descriptor = ctx.table.get_mut(fd)?;
    if let Kind::Directory(_) = descriptor.kind {
        return Err(Errno::BADF.into());
    }
    descriptor.require(Rights::FD_FDSTAT_SET_FLAGS)?;
    let changeable = FdFlags::APPEND | FdFlags::NONBLOCK;
    let changed = new.symmetric_difference(descriptor.flags);
    if !changeable.contains(changed) {
        return Err(Errno::NOTSUP.into());
    }
    // Nothing changes for the host: see `wait` and `Descriptor::write_now`.
    descriptor.flags = new;
    Ok(())
}

/// Rights can be given up, and never be got back.
pub(crate) fn fd_fdstat_set_rights(
    ctx: &mut WasiCtx,
    _: &mut Guest<'_>,
    fd: i32,
    base: i64,
    inheriting: i64,
) -> Result {
    let descriptor = ctx.table.get_mut(fd)?;
    let (base, inheriting) = (rights(base), rights(inheriting));
    if !descriptor.base.contains(base) || !descriptor.inheriting.contains(inheriting) {
        return Err(Errno::NOTCAPABLE.into());
    }
    (descriptor.base, descriptor.inheriting) = (base, inheriting);
    Ok(())
}

pub(crate) fn fd_filestat_get(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    version: Version,
    fd: i32,
    stat: i32,
) -> Result {
    let place = guest.range(stat, Filestat::size_in(version))?;
    let descriptor = ctx.table.get(fd)?;
    descriptor.require(Rights::FD_FILESTAT_GET)?;
    let stat = descriptor.filestat()?;
    guest.get_mut(place).copy_from_slice(&stat.encode(version));
    Ok(())
}

pub(crate) fn fd_filestat_set_size(
    ctx: &mut WasiCtx,
    _: &mut Guest<'_>,
    fd: i32,
    size: i64,
) -> Result {
    let descriptor = ctx.table.get(fd)?;
    let file = descriptor.file()?;
    descriptor.require_data(Rights::FD_FILESTAT_SET_SIZE)?;
    let size = u64::try_from(size).map_err(|_| Errno::INVAL)?;
    Ok(rustix::fs::ftruncate(file, size)?)
}

pub(crate) fn fd_filestat_set_times(
    ctx: &mut WasiCtx,
    _: &mut Guest<'_>,
    fd: i32,
    atim: i64,
    mtim: i64,
    which: i32,
) -> Result {
    let times = Times::new(atim, mtim, flags::<FstFlags>(which as u32)?)?;
    let descriptor = ctx.table.get(fd)?;
    descriptor.require(Rights::FD_FILESTAT_SET_TIMES)?;
    let file = descriptor.host().ok_or(Errno::BADF)?;
    Ok(rustix::fs::futimens(file, &times.timestamps())?)
}

pub(crate) fn fd_read(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    vectors: i32,
    count: i32,
    size: i32,
) -> Result {
    let place = guest.place(size)?;
    let read = transfer(ctx, guest, (vectors, count), |ctx, guest, buffers, _| {
        let descriptor = ctx.table.get(fd)?;
        descriptor.require_data(Rights::FD_READ)?;
        let read = descriptor.read(&mut guest.slices_mut(buffers))?;
        guest.filled(buffers, read);
        Ok(read)
    })?;
    guest.put_count(place, read);
    Ok(())
}

pub(crate) fn fd_pread(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    vectors: i32,
    count: i32,
    offset: i64,
    size: i32,
) -> Result {
    let place = guest.place(size)?;
    let read = transfer(ctx, guest, (vectors, count), |ctx, guest, buffers, done| {
        let descriptor = ctx.table.get(fd)?;
        let file = descriptor.positioned()?;
        descriptor.require_data(Rights::FD_READ)?;
        let offset = u64::try_from(offset).map_err(|_| Errno::INVAL)? + done;
        let mut slices = guest.slices_mut(buffers);
        let read = rustix::io::retry_on_intr(|| rustix::io::preadv(file, &mut slices, offset))?;
        drop(slices);
        guest.filled(buffers, read);
        Ok(read)
    })?;
    guest.put_count(place, read);
    Ok(())
}

pub(crate) fn fd_write(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    vectors: i32,
    count: i32,
    size: i32,
) -> Result {
    let place = guest.place(size)?;
    let written = transfer(ctx, guest, (vectors, count), |ctx, guest, buffers, _| {
        let descriptor = ctx.table.get(fd)?;
        descriptor.require_data(Rights::FD_WRITE)?;
        let written = descriptor.write(&guest.slices(buffers), ctx.progress.is_polled);
        written.map_err(|failure| {
            let ends = ctx.end_on_broken_pipe && matches!(descriptor.kind, Kind::Stdio(_));
            match failure {
                Failure::Errno(Errno::PIPE) if ends => Failure::End(BrokenPipe.into()),
                failure => failure,
            }
        })
    })?;
    guest.put_count(place, written);
    Ok(())
}

pub(crate) fn fd_pwrite(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    vectors: i32,
    count: i32,
    offset: i64,
    size: i32,
) -> Result {
    let place = guest.place(size)?;
    let written = transfer(ctx, guest, (vectors, count), |ctx, guest, buffers, done| {
        let descriptor = ctx.table.get(fd)?;
        let file = descriptor.positioned()?;
        descriptor.require_data(Rights::FD_WRITE)?;
        let offset = u64::try_from(offset).map_err(|_| Errno::INVAL)? + done;
        let slices = guest.slices(buffers);
        Ok(rustix::io::retry_on_intr(|| rustix::io::pwritev(file, &slices, offset))?)
    })?;
    guest.put_count(place, written);
    Ok(())
}

pub(crate) fn fd_seek(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    version: Version,
    fd: i32,
    offset: i64,
    whence: i32,
    position: i32,
) -> Result {
    let place = guest.place(position)?;
    let descriptor = ctx.table.get(fd)?;
    let file = descriptor.positioned()?;
    let to = seek_from(version, offset, whence)?;
    let tells = to == SeekFrom::Current(0);
    descriptor.require(if tells { Rights::FD_TELL } else { Rights::FD_SEEK })?;
    let position = rustix::fs::seek(file, to)?;
    guest.put(place, position);
    Ok(())
}

/// The versions number the places that a seek begins at differently.
fn seek_from(version: Version, offset: i64, whence: i32) -> Result<SeekFrom> {
    let [set, current, end] = match version {
        Version::Unstable => [2, 0, 1],
        Version::Preview1 => [0, 1, 2],
    };
    match whence {
        _ if whence == set => Ok(SeekFrom::Start(u64::try_from(offset).map_err(|_| Errno::INVAL)?)),
        _ if whence == current => Ok(SeekFrom::Current(offset)),
        _ if whence == end => Ok(SeekFrom::End(offset)),
        _ => Err(Errno::INVAL.into()),
    }
}

pub(crate) fn fd_tell(ctx: &mut WasiCtx, guest: &mut Guest<'_>, fd: i32, position: i32) -> Result {
    let place = guest.place(position)?;
    let descriptor = ctx.table.get(fd)?;
    let file = descriptor.positioned()?;
    descriptor.require(Rights::FD_TELL)?;
    let position = rustix::fs::tell(file)?;
    guest.put(place, position);
    Ok(())
}

pub(crate) fn fd_renumber(ctx: &mut WasiCtx, _: &mut Guest<'_>, from: i32, to: i32) -> Result {
    ctx.table.renumber(from, to)
}

pub(crate) fn fd_prestat_get(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    prestat: i32,
) -> Result {
    let place = guest.range(prestat, 8)?;
    let name = preopened_as(ctx, fd)?;
    let len = u32::try_from(name.len()).map_err(|_| Errno::OVERFLOW)?;
    let prestat = guest.get_mut(place);
    // The only kind that there is: a directory.
    prestat[..4].fill(0);
    prestat[4..].copy_from_slice(&len.to_le_bytes());
    Ok(())
}

pub(crate) fn fd_prestat_dir_name(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    buffer: i32,
    len: i32,
) -> Result {
    let buffer = guest.buffer(buffer, len)?;
    let name = preopened_as(ctx, fd)?.as_bytes();
    if buffer.len() < name.len() {
        return Err(Errno::NAMETOOLONG.into());
    }
    guest.get_mut(buffer.start..buffer.start + name.len()).copy_from_slice(name);
    Ok(())
}

/// The name of a directory that was there when the program began. Programs look
/// for them from 3 on, until a descriptor is a bad one.
fn preopened_as(ctx: &WasiCtx, fd: i32) -> Result<&str> {
    Ok(ctx.table.get(fd)?.preopened_as().ok_or(Errno::BADF)?)
}

/// Stores entries until the buffer is full; the last may be cut off.
pub(crate) fn fd_readdir(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    buffer: i32,
    len: i32,
    cookie: i64,
    used: i32,
) -> Result {
    let (buffer, place) = (guest.buffer(buffer, len)?, guest.place(used)?);
    let descriptor = ctx.table.get_mut(fd)?;
    descriptor.directory()?;
    descriptor.require(Rights::FD_READDIR)?;
    let Kind::Directory(directory) = &mut descriptor.kind else {
        return Err(Errno::NOTDIR.into());
    };
    let cookie = cookie as u64;
    let mut rest = buffer.clone();
    let entries = directory.entries(cookie, &mut ctx.progress.listing)?;
    for (entry, next) in entries.iter().zip(cookie.saturating_add(1)..) {
        let head = dirent(next, entry.ino, entry.name.len(), entry.filetype);
        for bytes in [&head[..], &entry.name] {
            rest = guest.put_bytes(rest, bytes);
        }
        if rest.is_empty() {
            break;
        }
    }
    guest.put_count(place, buffer.len() - rest.len());
    Ok(())
}
