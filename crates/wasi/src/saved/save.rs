//! Saves contexts.

use crate::abi::{FileType, Rights};
use crate::context::WasiCtx;
use crate::files::descriptor::{Descriptor, DescriptorKind};
use crate::files::origin::{MAX_PATH, Origin, Preopen};
use crate::recording::Recording;
use crate::saved::state::{DisplayPath, SavedDescriptor, SavedObject, SavedPath, WasiState};
use cap_std::fs::MetadataExt as _;
use std::io;

/// Why a context cannot be [saved](WasiCtx::save).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The builder did not set [`saveable`](crate::WasiCtxBuilder::saveable).
    #[error("the context was not built to be saved (`WasiCtxBuilder::saveable`)")]
    NotSaveable,
    /// It [replays a recording](crate::WasiCtxBuilder::replay), so nothing is open.
    #[error("a context that replays a recording cannot be saved")]
    Replays,
    /// An open descriptor could not be opened again.
    #[error("descriptor {fd} cannot be saved: {reason}")]
    Descriptor {
        /// The number of the descriptor.
        fd: u32,
        /// The reason.
        reason: Unsaveable,
    },
}

/// Why a descriptor cannot be [saved](WasiCtx::save).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unsaveable {
    /// It is a socket, whose peer is connected to this process.
    #[error("it is a socket")]
    Socket,
    /// It is a [`MemoryInputPipe`](crate::MemoryInputPipe) that has not been read to its end.
    #[error("the program has not read the last {0} bytes of the input in memory")]
    UnreadInput(usize),
    /// It is a [`MemoryOutputPipe`](crate::MemoryOutputPipe) with bytes that the host has not read.
    #[error("the host has not read the last {0} bytes of the output in memory")]
    UnseenOutput(usize),
    /// It is a pipe or a device, whose state is not known.
    #[error("{0} is neither a file nor a directory")]
    NoFile(String),
    /// Its path does not exist anymore.
    #[error("{0} has been removed or renamed since it was opened")]
    Moved(String),
    /// Its path names another file now.
    #[error("{0} is not the file that was opened")]
    Replaced(String),
    /// The program opened it by a path that is too long for the host.
    #[error("its path has more than {MAX_PATH} bytes")]
    LongPath,
    /// The host cannot look it up.
    #[error("{place} cannot be looked up: {error}")]
    Host {
        /// The path and the preopened directory where it begins.
        place: String,
        /// The error of the host.
        #[source]
        error: io::Error,
    },
}

impl WasiCtx {
    /// Saves the context, so that a builder can [restore](crate::WasiCtxBuilder::restore) it later,
    /// in this process or in another. The context is not changed.
    ///
    /// The state contains the number, rights and flags of each descriptor. Standard streams are
    /// saved by their roles, preopened directories by their names, and files and directories below
    /// them by their paths. Offsets of files and partial listings of directories are saved, too.
    /// Contents of files are not.
    ///
    /// Fails if a descriptor could not be opened again:
    ///
    /// * a socket, a pipe, a device;
    /// * a file that has been removed or renamed;
    /// * an input in memory that the program has not read to its end;
    /// * an output in memory that the host has not read.
    ///
    /// ```
    /// use ropewalk_wasi::{MemoryInputPipe, WasiCtx};
    ///
    /// let input = MemoryInputPipe::new("not read");
    /// let ctx = WasiCtx::builder().stdin(input.clone()).saveable(true).build();
    /// let error = ctx.save().unwrap_err();
    /// assert!(error.to_string().starts_with("descriptor 0 cannot be saved"));
    ///
    /// // The restored context gets the bytes.
    /// let rest = input.take_unread();
    /// let state = ctx.save()?;
    /// let ctx = WasiCtx::builder().stdin(MemoryInputPipe::new(rest)).restore(&state)?;
    /// # drop(ctx);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&self) -> Result<WasiState, SaveError> {
        let preopens = self.preopens.as_ref().ok_or(SaveError::NotSaveable)?;
        if let Recording::Replays(_) = self.recording {
            return Err(SaveError::Replays);
        }
        let saved = self.table.iter().map(|(fd, descriptor)| {
            let object =
                saved_object(descriptor).map_err(|reason| SaveError::Descriptor { fd, reason })?;
            let rights = (descriptor.base, descriptor.inheriting);
            Ok(SavedDescriptor::new(fd, rights, descriptor.flags, object))
        });
        Ok(WasiState {
            args: self.args.clone(),
            environment: self.environment.clone(),
            monotonic: self.clocks.monotonic.now().as_nanos().try_into().unwrap_or(u64::MAX),
            preopens: preopens.clone(),
            descriptors: saved.collect::<Result<_, SaveError>>()?,
        })
    }
}

/// The saved form of a descriptor.
fn saved_object(descriptor: &Descriptor) -> Result<SavedObject, Unsaveable> {
    match &descriptor.kind {
        DescriptorKind::Socket(_) | DescriptorKind::Listener(_) => return Err(Unsaveable::Socket),
        DescriptorKind::Input(pipe) if pipe.unread() > 0 => {
            return Err(Unsaveable::UnreadInput(pipe.unread()));
        }
        DescriptorKind::Output(pipe) if pipe.unseen() > 0 => {
            return Err(Unsaveable::UnseenOutput(pipe.unseen()));
        }
        _ => {}
    }
    let listing = || {
        descriptor.directory(Rights::empty()).ok().and_then(|directory| directory.listing.clone())
    };
    match descriptor.origin.as_deref().ok_or(Unsaveable::LongPath)? {
        Origin::Stream(role) => Ok(SavedObject::Stream(*role)),
        Origin::Preopened(preopen) => {
            Ok(SavedObject::Preopened { preopen: preopen.number, listing: listing() })
        }
        Origin::Below { preopen, path, follow } => {
            let named = DisplayPath { preopen: &preopen.name, path };
            let offset = check_path(descriptor, preopen, path, *follow, &named)?;
            let place = SavedPath { preopen: preopen.number, path: path.clone(), follow: *follow };
            Ok(match offset {
                Some(offset) => SavedObject::File { place, offset },
                None => SavedObject::Directory { place, listing: listing() },
            })
        }
    }
}

/// Checks that the path still names the open file or directory. Returns the offset of a file.
fn check_path(
    descriptor: &Descriptor,
    preopen: &Preopen,
    path: &str,
    follow: bool,
    named: &DisplayPath<'_>,
) -> Result<Option<u64>, Unsaveable> {
    let host = |error: io::Error| Unsaveable::Host { place: named.to_string(), error };
    let offset = match &descriptor.kind {
        DescriptorKind::Directory(_) => None,
        DescriptorKind::File { fd, filetype: FileType::RegularFile } => {
            Some(rustix::fs::tell(fd).map_err(|error| host(error.into()))?)
        }
        _ => return Err(Unsaveable::NoFile(named.to_string())),
    };
    let dir = &preopen.dir;
    let there = if follow { dir.metadata(path) } else { dir.symlink_metadata(path) };
    let there = there.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            Unsaveable::Moved(named.to_string())
        }
        _ => host(error),
    })?;
    let fd = descriptor.host().ok_or_else(|| Unsaveable::NoFile(named.to_string()))?;
    let open = rustix::fs::fstat(fd).map_err(|error| host(error.into()))?;
    match (there.dev(), there.ino()) == (open.st_dev, open.st_ino) {
        true => Ok(offset),
        false => Err(Unsaveable::Replaced(named.to_string())),
    }
}
