//! Functions of paths, which begin at a directory of the program.

#![allow(clippy::too_many_arguments, reason = "the signatures of the specification")]

use crate::abi::errno::Errno;
use crate::abi::{Filestat, FstFlags, LookupFlags, Rights, flags, rights};
use crate::call::Call;
use crate::context::WasiCtx;
use crate::failure::Result;
use crate::files::directory::filestat;
use crate::files::file_times::FileTimes;
use crate::files::open::OpenRequest;
use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use std::os::unix::ffi::OsStrExt as _;

/// A directory with rights.
fn directory(ctx: &WasiCtx, fd: i32, rights: Rights) -> Result<&Dir> {
    Ok(&ctx.table.get(fd)?.directory(rights)?.dir)
}

/// The source and the target directory of a link or a move. Files must not get more rights in
/// the target than they had in the source.
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

pub fn path_create_directory(call: &mut Call<'_>, fd: i32, path: i32, len: i32) -> Result {
    let path = call.guest.path(path, len)?;
    Ok(directory(call.ctx, fd, Rights::PATH_CREATE_DIRECTORY)?.create_dir(path)?)
}

pub fn path_remove_directory(call: &mut Call<'_>, fd: i32, path: i32, len: i32) -> Result {
    let path = call.guest.path(path, len)?;
    let dir = directory(call.ctx, fd, Rights::PATH_REMOVE_DIRECTORY)?;
    // A trailing slash only says that the path is a directory.
    let trimmed = path.trim_end_matches('/');
    Ok(dir.remove_dir(if trimmed.is_empty() { path } else { trimmed })?)
}

pub fn path_unlink_file(call: &mut Call<'_>, fd: i32, path: i32, len: i32) -> Result {
    let path = call.guest.path(path, len)?;
    Ok(directory(call.ctx, fd, Rights::PATH_UNLINK_FILE)?.remove_file_or_symlink(path)?)
}

pub fn path_filestat_get(
    call: &mut Call<'_>,
    fd: i32,
    lookup: i32,
    path: i32,
    len: i32,
    stat: i32,
) -> Result {
    let place = call.guest.range(stat, Filestat::size_in(call.version))?;
    let (path, follow) = (call.guest.path(path, len)?, follows(lookup)?);
    let dir = directory(call.ctx, fd, Rights::PATH_FILESTAT_GET)?;
    // A path that ends in `/` or `/.` follows a link and must be a directory.
    let slash = path.ends_with('/') || path.ends_with("/.");
    let metadata = if follow || slash { dir.metadata(path)? } else { dir.symlink_metadata(path)? };
    if slash && !metadata.is_dir() {
        return Err(Errno::NOTDIR.into());
    }
    call.guest.get_mut(place).copy_from_slice(&filestat(&metadata).encode(call.version));
    Ok(())
}

pub fn path_filestat_set_times(
    call: &mut Call<'_>,
    fd: i32,
    lookup: i32,
    path: i32,
    len: i32,
    atim: i64,
    mtim: i64,
    which: i32,
) -> Result {
    let (path, follow) = (call.guest.path(path, len)?, follows(lookup)?);
    let (atim, mtim) = FileTimes::new(atim, mtim, flags::<FstFlags>(which as u32)?)?.specs();
    let dir = directory(call.ctx, fd, Rights::PATH_FILESTAT_SET_TIMES)?;
    match follow {
        true => Ok(dir.set_times(path, atim, mtim)?),
        // The host does not resolve the path if it changes neither time.
        false if atim.is_none() && mtim.is_none() => Ok(dir.symlink_metadata(path).map(drop)?),
        false => Ok(dir.set_symlink_times(path, atim, mtim)?),
    }
}

/// Creates a hard link. A symbolic link at the end of the old path is not followed.
pub fn path_link(
    call: &mut Call<'_>,
    old_fd: i32,
    old_lookup: i32,
    old_path: i32,
    old_len: i32,
    new_fd: i32,
    new_path: i32,
    new_len: i32,
) -> Result {
    let old_path = call.guest.path(old_path, old_len)?;
    let new_path = call.guest.path(new_path, new_len)?;
    let (source, target) = (Rights::PATH_LINK_SOURCE, Rights::PATH_LINK_TARGET);
    let (old, new) = directories(call.ctx, (old_fd, source), (new_fd, target))?;
    if follows(old_lookup)? {
        return Err(Errno::INVAL.into());
    }
    Ok(old.hard_link(old_path, new, new_path)?)
}

pub fn path_rename(
    call: &mut Call<'_>,
    old_fd: i32,
    old_path: i32,
    old_len: i32,
    new_fd: i32,
    new_path: i32,
    new_len: i32,
) -> Result {
    let old_path = call.guest.path(old_path, old_len)?;
    let new_path = call.guest.path(new_path, new_len)?;
    let (source, target) = (Rights::PATH_RENAME_SOURCE, Rights::PATH_RENAME_TARGET);
    let (old, new) = directories(call.ctx, (old_fd, source), (new_fd, target))?;
    // A trailing slash requires a directory.
    if new_path.ends_with('/') && !old.symlink_metadata(old_path)?.is_dir() {
        return match new.symlink_metadata(new_path).map_err(Errno::from) {
            Ok(_) | Err(Errno::NOENT) => Err(Errno::NOTDIR.into()),
            Err(errno) => Err(errno.into()),
        };
    }
    Ok(old.rename(old_path, new, new_path)?)
}

/// Creates a symbolic link. Its target must be a relative path, since absolute paths leave the
/// directory.
pub fn path_symlink(
    call: &mut Call<'_>,
    old_path: i32,
    old_len: i32,
    fd: i32,
    new_path: i32,
    new_len: i32,
) -> Result {
    let old_path = call.guest.path(old_path, old_len)?;
    let new_path = call.guest.path(new_path, new_len)?;
    Ok(directory(call.ctx, fd, Rights::PATH_SYMLINK)?.symlink(old_path, new_path)?)
}

/// Stores the target of a link, truncated to the size of the buffer.
pub fn path_readlink(
    call: &mut Call<'_>,
    fd: i32,
    path: i32,
    len: i32,
    buffer: i32,
    buffer_len: i32,
    used: i32,
) -> Result {
    let Call { ctx, guest, .. } = call;
    let (buffer, place) = (guest.buffer(buffer, buffer_len)?, guest.place(used)?);
    let path = guest.path(path, len)?;
    let target = directory(ctx, fd, Rights::PATH_READLINK)?.read_link(path)?;
    let rest = guest.put_bytes(buffer.clone(), target.as_os_str().as_bytes());
    guest.put_count(place, rest.start - buffer.start);
    Ok(())
}

pub fn path_open(
    call: &mut Call<'_>,
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
    let place = call.guest.place(opened)?;
    let path = call.guest.path(path, len)?;
    let request = OpenRequest {
        follow: follows(lookup)?,
        oflags: flags(oflags as u32)?,
        fdflags: flags(fdflags as u32)?,
        rights: rights(base),
    };
    let parent = call.ctx.table.get(fd)?;
    call.ctx.table.check_room()?;
    let descriptor = request.open(parent, path)?;
    let number = call.ctx.table.insert(descriptor)?;
    call.guest.put(place, number);
    Ok(())
}
