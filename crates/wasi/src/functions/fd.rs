//! Functions of descriptors.

use crate::abi::errno::Errno;
use crate::abi::{FdFlags, Fdstat, Filestat, FstFlags, Rights, Version, dirent, flags, rights};
use crate::call::Call;
use crate::context::WasiCtx;
use crate::exit::BrokenPipe;
use crate::failure::{Failure, Result};
use crate::files::descriptor::DescriptorKind;
use crate::files::file_times::FileTimes;
use crate::functions::chunks::transfer;
use rustix::fs::{Advice, FallocateFlags, SeekFrom};
use std::num::NonZeroU64;
use std::os::fd::BorrowedFd;

pub fn fd_advise(call: &mut Call<'_>, fd: i32, offset: i64, len: i64, advice: i32) -> Result {
    let file = call.descriptor(fd)?.file(Rights::FD_ADVISE)?;
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

pub fn fd_allocate(call: &mut Call<'_>, fd: i32, offset: i64, len: i64) -> Result {
    let file = call.descriptor(fd)?.file(Rights::FD_ALLOCATE)?;
    let (offset, len) = file_range(offset, len)?;
    Ok(rustix::fs::fallocate(file, FallocateFlags::empty(), offset, len)?)
}

/// A range of a file. Sizes of files are below 2⁶³.
fn file_range(offset: i64, len: i64) -> Result<(u64, u64)> {
    match offset.checked_add(len) {
        Some(_) if offset >= 0 && len >= 0 => Ok((offset as u64, len as u64)),
        _ => Err(Errno::INVAL.into()),
    }
}

pub fn fd_close(call: &mut Call<'_>, fd: i32) -> Result {
    call.ctx.table.remove(fd).map(drop)
}

pub fn fd_datasync(call: &mut Call<'_>, fd: i32) -> Result {
    Ok(rustix::fs::fdatasync(call.descriptor(fd)?.file(Rights::FD_DATASYNC)?)?)
}

pub fn fd_sync(call: &mut Call<'_>, fd: i32) -> Result {
    Ok(rustix::fs::fsync(call.descriptor(fd)?.file(Rights::FD_SYNC)?)?)
}

pub fn fd_fdstat_get(call: &mut Call<'_>, fd: i32, stat: i32) -> Result {
    let place = call.guest.range(stat, Fdstat::SIZE)?;
    let descriptor = call.descriptor(fd)?;
    let stat = Fdstat {
        filetype: descriptor.filetype(),
        flags: descriptor.flags,
        base: descriptor.base,
        inheriting: descriptor.inheriting,
    };
    call.guest.get_mut(place).copy_from_slice(&stat.encode());
    Ok(())
}

/// Changes whether a file appends and whether it blocks. How it is synchronized cannot be
/// changed.
pub fn fd_fdstat_set_flags(call: &mut Call<'_>, fd: i32, bits: i32) -> Result {
    let new: FdFlags = flags(bits as u32)?;
    let descriptor = call.ctx.table.get_mut(fd)?;
    if let DescriptorKind::Directory(_) = descriptor.kind {
        return Err(Errno::BADF.into());
    }
    descriptor.require(Rights::FD_FDSTAT_SET_FLAGS)?;
    let changeable = FdFlags::APPEND | FdFlags::NONBLOCK;
    let changed = new.symmetric_difference(descriptor.flags);
    if !changeable.contains(changed) {
        return Err(Errno::NOTSUP.into());
    }
    // The host's flags do not change: see `wait` and `Descriptor::write_now`.
    descriptor.flags = new;
    Ok(())
}

/// Drops rights, which cannot be regained.
pub fn fd_fdstat_set_rights(call: &mut Call<'_>, fd: i32, base: i64, inheriting: i64) -> Result {
    let descriptor = call.ctx.table.get_mut(fd)?;
    let (base, inheriting) = (rights(base), rights(inheriting));
    if !descriptor.base.contains(base) || !descriptor.inheriting.contains(inheriting) {
        return Err(Errno::NOTCAPABLE.into());
    }
    (descriptor.base, descriptor.inheriting) = (base, inheriting);
    Ok(())
}

pub fn fd_filestat_get(call: &mut Call<'_>, fd: i32, stat: i32) -> Result {
    let place = call.guest.range(stat, Filestat::size_in(call.version))?;
    let descriptor = call.descriptor(fd)?;
    descriptor.require(Rights::FD_FILESTAT_GET)?;
    let stat = descriptor.filestat()?.encode(call.version);
    call.guest.get_mut(place).copy_from_slice(&stat);
    Ok(())
}

pub fn fd_filestat_set_size(call: &mut Call<'_>, fd: i32, size: i64) -> Result {
    let file = call.descriptor(fd)?.file(Rights::FD_FILESTAT_SET_SIZE)?;
    let size = u64::try_from(size).map_err(|_| Errno::INVAL)?;
    Ok(rustix::fs::ftruncate(file, size)?)
}

pub fn fd_filestat_set_times(
    call: &mut Call<'_>,
    fd: i32,
    atim: i64,
    mtim: i64,
    which: i32,
) -> Result {
    let times = FileTimes::new(atim, mtim, flags::<FstFlags>(which as u32)?)?;
    let descriptor = call.descriptor(fd)?;
    descriptor.require(Rights::FD_FILESTAT_SET_TIMES)?;
    let file = descriptor.host().ok_or(Errno::BADF)?;
    Ok(rustix::fs::futimens(file, &times.timestamps())?)
}

pub fn fd_read(call: &mut Call<'_>, fd: i32, vectors: i32, count: i32, size: i32) -> Result {
    transfer(call, (vectors, count, size), |Call { ctx, guest, .. }, buffers, _| {
        let descriptor = ctx.table.get(fd)?;
        descriptor.require(Rights::FD_READ)?;
        let read = descriptor.read(&mut guest.slices_mut(buffers))?;
        guest.filled(buffers, read);
        Ok(read)
    })
}

pub fn fd_pread(
    call: &mut Call<'_>,
    fd: i32,
    vectors: i32,
    count: i32,
    offset: i64,
    size: i32,
) -> Result {
    transfer(call, (vectors, count, size), |Call { ctx, guest, .. }, buffers, done| {
        let (file, offset) = position(ctx, fd, Rights::FD_READ, offset, done)?;
        let mut slices = guest.slices_mut(buffers);
        let read = rustix::io::retry_on_intr(|| rustix::io::preadv(file, &mut slices, offset))?;
        drop(slices);
        guest.filled(buffers, read);
        Ok(read)
    })
}

pub fn fd_write(call: &mut Call<'_>, fd: i32, vectors: i32, count: i32, size: i32) -> Result {
    transfer(call, (vectors, count, size), |Call { ctx, guest, .. }, buffers, _| {
        let descriptor = ctx.table.get(fd)?;
        descriptor.require(Rights::FD_WRITE)?;
        let written = descriptor.write(&guest.slices(buffers), ctx.progress.is_async);
        written.map_err(|failure| {
            let ends =
                ctx.end_on_broken_pipe && matches!(descriptor.kind, DescriptorKind::Stdio(_));
            match failure {
                Failure::Errno(Errno::PIPE) if ends => Failure::End(BrokenPipe.into()),
                failure => failure,
            }
        })
    })
}

pub fn fd_pwrite(
    call: &mut Call<'_>,
    fd: i32,
    vectors: i32,
    count: i32,
    offset: i64,
    size: i32,
) -> Result {
    transfer(call, (vectors, count, size), |Call { ctx, guest, .. }, buffers, done| {
        let (file, offset) = position(ctx, fd, Rights::FD_WRITE, offset, done)?;
        let slices = guest.slices(buffers);
        Ok(rustix::io::retry_on_intr(|| rustix::io::pwritev(file, &slices, offset))?)
    })
}

/// A file, and the offset in it after the bytes that were transferred.
fn position(
    ctx: &WasiCtx,
    fd: i32,
    rights: Rights,
    offset: i64,
    done: u64,
) -> Result<(BorrowedFd<'_>, u64)> {
    let file = ctx.table.get(fd)?.positioned(rights)?;
    Ok((file, u64::try_from(offset).map_err(|_| Errno::INVAL)? + done))
}

pub fn fd_seek(call: &mut Call<'_>, fd: i32, offset: i64, whence: i32, position: i32) -> Result {
    let place = call.guest.place(position)?;
    let descriptor = call.descriptor(fd)?;
    let file = descriptor.positioned(Rights::empty())?;
    let to = seek_from(call.version, offset, whence)?;
    let tells = to == SeekFrom::Current(0);
    descriptor.require(if tells { Rights::FD_TELL } else { Rights::FD_SEEK })?;
    let position = rustix::fs::seek(file, to)?;
    call.guest.put(place, position);
    Ok(())
}

/// Decodes `whence`, whose numbers differ between the versions.
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

pub fn fd_tell(call: &mut Call<'_>, fd: i32, position: i32) -> Result {
    let place = call.guest.place(position)?;
    let file = call.descriptor(fd)?.positioned(Rights::FD_TELL)?;
    let position = rustix::fs::tell(file)?;
    call.guest.put(place, position);
    Ok(())
}

pub fn fd_renumber(call: &mut Call<'_>, from: i32, to: i32) -> Result {
    call.ctx.table.renumber(from, to)
}

pub fn fd_prestat_get(call: &mut Call<'_>, fd: i32, prestat: i32) -> Result {
    let place = call.guest.range(prestat, 8)?;
    let name = call.descriptor(fd)?.preopened_as().ok_or(Errno::BADF)?;
    let len = u32::try_from(name.len()).map_err(|_| Errno::OVERFLOW)?;
    let prestat = call.guest.get_mut(place);
    // The tag of a directory, the only variant.
    prestat[..4].fill(0);
    prestat[4..].copy_from_slice(&len.to_le_bytes());
    Ok(())
}

/// Stores the name of a preopened directory. Programs look for these directories from descriptor
/// 3 on, until a descriptor is a bad one.
pub fn fd_prestat_dir_name(call: &mut Call<'_>, fd: i32, buffer: i32, len: i32) -> Result {
    let Call { ctx, guest, .. } = call;
    let buffer = guest.buffer(buffer, len)?;
    let name = ctx.table.get(fd)?.preopened_as().ok_or(Errno::BADF)?.as_bytes();
    if buffer.len() < name.len() {
        return Err(Errno::NAMETOOLONG.into());
    }
    guest.get_mut(buffer.start..buffer.start + name.len()).copy_from_slice(name);
    Ok(())
}

/// Stores entries until the buffer is full; the last one may be truncated.
pub fn fd_readdir(
    call: &mut Call<'_>,
    fd: i32,
    buffer: i32,
    len: i32,
    cookie: i64,
    used: i32,
) -> Result {
    let Call { ctx, guest, .. } = call;
    let (buffer, place) = (guest.buffer(buffer, len)?, guest.place(used)?);
    let descriptor = ctx.table.get_mut(fd)?;
    descriptor.directory(Rights::FD_READDIR)?;
    let DescriptorKind::Directory(directory) = &mut descriptor.kind else {
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
