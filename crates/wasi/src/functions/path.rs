//! Functions of paths, each beginning at a directory that the program has.

use crate::abi::{Filestat, FstFlags, LookupFlags, Rights, Version, flags, rights};
use crate::ctx::WasiCtx;
use crate::directory::filestat;
use crate::errno::{Errno, Result};
use crate::guest::Guest;
use crate::open::Request;
use crate::times::Times;
use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use std::os::unix::ffi::OsStrExt as _;

/// A directory that the program may do this in.
fn directory(ctx: &WasiCtx, fd: i32, rights: Rights) -> Result<&Dir> {
    let descriptor = ctx.table.get(fd)?;
    let directory = descriptor.directory()?;
    descriptor.require(rights)?;
    Ok(&directory.dir)
}

/// The directories between which something is linked or moved. Nothing gets into one
/// whose files may be used for more than those of the other.
fn directories(
    ctx: &WasiCtx,
    (old, from): (i32, Rights),
    (new, to): (i32, Rights),
) -> Result<(&Dir, &Dir)> {
    let directories = (directory(ctx, old, from)?, directory(ctx, new, to)?);
    match ctx.table.get(old)?.inheriting.contains(ctx.table.get(new)?.inheriting) {
        true => Ok(directories),
        false => Err(Errno::NOTCAPABLE.into()),
    }
}

fn follows(bits: i32) -> Result<bool> {
    Ok(flags::<LookupFlags>(bits as u32)?.contains(LookupFlags::SYMLINK_FOLLOW))
}

pub(crate) fn path_create_directory(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    path: i32,
    len: i32,
) -> Result {
    let path = guest.path(path, len)?;
    let dir = directory(ctx, fd, Rights::PATH_CREATE_DIRECTORY)?;
    Ok(dir.create_dir(path)?)
}

pub(crate) fn path_remove_directory(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    path: i32,
    len: i32,
) -> Result {
    let path = guest.path(path, len)?;
    let dir = directory(ctx, fd, Rights::PATH_REMOVE_DIRECTORY)?;
    // A slash at the end means nothing, but that it is a directory.
    let trimmed = path.trim_end_matches('/');
    Ok(dir.remove_dir(if trimmed.is_empty() { path } else { trimmed })?)
}

pub(crate) fn path_unlink_file(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    path: i32,
    len: i32,
) -> Result {
    let path = guest.path(path, len)?;
    let dir = directory(ctx, fd, Rights::PATH_UNLINK_FILE)?;
    Ok(dir.remove_file_or_symlink(path)?)
}

#[allow(clippy::too_many_arguments, reason = "the specification's")]
pub(crate) fn path_filestat_get(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    version: Version,
    fd: i32,
    lookup: i32,
    path: i32,
    len: i32,
    stat: i32,
) -> Result {
    let place = guest.range(stat, Filestat::size_in(version))?;
    let (path, follow) = (guest.path(path, len)?, follows(lookup)?);
    let dir = directory(ctx, fd, Rights::PATH_FILESTAT_GET)?;
    // What ends in a slash, or in the directory itself, follows a link too, and asks for
    // a directory.
    let slash = path.ends_with('/') || path.ends_with("/.");
    let metadata = if follow || slash { dir.metadata(path)? } else { dir.symlink_metadata(path)? };
    if slash && !metadata.is_dir() {
        return Err(Errno::NOTDIR.into());
    }
    guest.get_mut(place).copy_from_slice(&filestat(&metadata).encode(version));
    Ok(())
}

#[allow(clippy::too_many_arguments, reason = "the specification's")]
pub(crate) fn path_filestat_set_times(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    lookup: i32,
    path: i32,
    len: i32,
    atim: i64,
    mtim: i64,
    which: i32,
) -> Result {
    let (path, follow) = (guest.path(path, len)?, follows(lookup)?);
    let (atim, mtim) = Times::new(atim, mtim, flags::<FstFlags>(which as u32)?)?.specs();
    let dir = directory(ctx, fd, Rights::PATH_FILESTAT_SET_TIMES)?;
    match follow {
        true => Ok(dir.set_times(path, atim, mtim)?),
        // The host does not look at a path of which it is to change nothing.
        false if atim.is_none() && mtim.is_none() => Ok(dir.symlink_metadata(path).map(drop)?),
        false => Ok(dir.set_symlink_times(path, atim, mtim)?),
    }
}

/// A link is made to what the old path names, and not to what that may lead to.
#[allow(clippy::too_many_arguments, reason = "the specification's")]
pub(crate) fn path_link(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    old_fd: i32,
    old_lookup: i32,
    old_path: i32,
    old_len: i32,
    new_fd: i32,
    new_path: i32,
    new_len: i32,
) -> Result {
    let (old_path, new_path) = (guest.path(old_path, old_len)?, guest.path(new_path, new_len)?);
    let (source, target) = (Rights::PATH_LINK_SOURCE, Rights::PATH_LINK_TARGET);
    let (old, new) = directories(ctx, (old_fd, source), (new_fd, target))?;
    if follows(old_lookup)? {
        return Err(Errno::INVAL.into());
    }
    Ok(old.hard_link(old_path, new, new_path)?)
}

#[allow(clippy::too_many_arguments, reason = "the specification's")]
pub(crate) fn path_rename(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    old_fd: i32,
    old_path: i32,
    old_len: i32,
    new_fd: i32,
    new_path: i32,
    new_len: i32,
) -> Result {
    let (old_path, new_path) = (guest.path(old_path, old_len)?, guest.path(new_path, new_len)?);
    let (source, target) = (Rights::PATH_RENAME_SOURCE, Rights::PATH_RENAME_TARGET);
    let (old, new) = directories(ctx, (old_fd, source), (new_fd, target))?;
    // A slash at the end asks for a directory.
    if new_path.ends_with('/') && !old.symlink_metadata(old_path)?.is_dir() {
        return match new.symlink_metadata(new_path).map_err(Errno::from) {
            Ok(_) | Err(Errno::NOENT) => Err(Errno::NOTDIR.into()),
            Err(errno) => Err(errno.into()),
        };
    }
    Ok(old.rename(old_path, new, new_path)?)
}

/// What a link leads to must be a relative path, or nothing could ever follow it.
#[allow(clippy::too_many_arguments, reason = "the specification's")]
pub(crate) fn path_symlink(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    old_path: i32,
    old_len: i32,
    fd: i32,
    new_path: i32,
    new_len: i32,
) -> Result {
    let (old_path, new_path) = (guest.path(old_path, old_len)?, guest.path(new_path, new_len)?);
    let dir = directory(ctx, fd, Rights::PATH_SYMLINK)?;
    Ok(dir.symlink(old_path, new_path)?)
}

/// Stores as much as there is room for.
#[allow(clippy::too_many_arguments, reason = "the specification's")]
pub(crate) fn path_readlink(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    path: i32,
    len: i32,
    buffer: i32,
    buffer_len: i32,
    used: i32,
) -> Result {
    let (buffer, place) = (guest.buffer(buffer, buffer_len)?, guest.place(used)?);
    let path = guest.path(path, len)?;
    let target = directory(ctx, fd, Rights::PATH_READLINK)?.read_link(path)?;
    let target = target.as_os_str().as_bytes();
    let used = target.len().min(buffer.len());
    guest.get_mut(buffer.start..buffer.start + used).copy_from_slice(&target[..used]);
    guest.put_count(place, used);
    Ok(())
}

#[allow(clippy::too_many_arguments, reason = "the specification's")]
pub(crate) fn path_open(
    ctx: &mut WasiCtx,
    guest: &mut Guest<'_>,
    fd: i32,
    lookup: i32,
    path: i32,
    len: i32,
    oflags: i32,
    base: i64,
    _inheriting: i64,
    fdflags: i32,
    opened: i32,
) -> Result {
    let place = guest.place(opened)?;
    let path = guest.path(path, len)?;
    let request = Request {
        follow: follows(lookup)?,
        oflags: flags(oflags as u32)?,
        fdflags: flags(fdflags as u32)?,
        rights: rights(base),
    };
    let parent = ctx.table.get(fd)?;
    ctx.table.check_room()?;
    let descriptor = request.open(parent, path)?;
    let number = ctx.table.insert(descriptor)?;
    guest.put(place, number);
    Ok(())
}
