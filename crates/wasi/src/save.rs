//! Writing a context down.

use crate::abi::FileType;
use crate::ctx::WasiCtx;
use crate::descriptor::{Descriptor, Kind};
use crate::origin::{LONGEST_PATH, Origin, Preopen};
use crate::state::{Named, Place, Saved, WasiState, What};
use crate::tape::Tape;
use cap_std::fs::MetadataExt as _;
use std::io;

/// Why a context cannot be [saved](WasiCtx::save).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SaveError {
    /// The builder did not [say so](crate::WasiCtxBuilder::saveable).
    #[error("the context was not built to be saved (`WasiCtxBuilder::saveable`)")]
    NotSaveable,
    /// It [replays a recording](crate::WasiCtxBuilder::replay), and has nothing open.
    #[error("a context that replays a recording cannot be saved")]
    Replays,
    /// Something is open that could not be opened again.
    #[error("descriptor {fd} cannot be saved: {reason}")]
    Descriptor {
        /// The number that the program knows it by.
        fd: u32,
        /// What is the matter with it.
        reason: Unsaveable,
    },
}

/// Why a descriptor cannot be [saved](WasiCtx::save).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unsaveable {
    /// Whoever is at the other end of a connection knows of this process only.
    #[error("it is a socket")]
    Socket,
    /// It is a [`MemoryInputPipe`](crate::MemoryInputPipe) that has not been read to its end.
    #[error("the program has not read the last {0} bytes of the input in memory")]
    UnreadInput(usize),
    /// It is a [`MemoryOutputPipe`](crate::MemoryOutputPipe) that nobody has looked at since
    /// the program wrote.
    #[error("nobody has looked at the last {0} bytes of the output in memory")]
    UnseenOutput(usize),
    /// It is a pipe or a device, of which nobody knows what it has given and taken.
    #[error("{0} is neither a file nor a directory")]
    NoFile(String),
    /// Its path leads nowhere any more.
    #[error("{0} has been removed or renamed since it was opened")]
    Moved(String),
    /// Its path leads to something else.
    #[error("{0} is another file than the one that was opened")]
    Replaced(String),
    /// The program opened it by a path that no host looks up.
    #[error("its path has more than {LONGEST_PATH} bytes")]
    LongPath,
    /// The host does not tell.
    #[error("{place} cannot be looked up: {error}")]
    Host {
        /// Its path, and the directory where that begins.
        place: String,
        /// What the host said.
        #[source]
        error: io::Error,
    },
}

impl WasiCtx {
    /// Writes the context down, so that a builder can
    /// [make it again](crate::WasiCtxBuilder::restore): in this process or in another, at any
    /// later time. The context is not changed, and can go on.
    ///
    /// What is open is kept by its number, with rights and flags: standard streams by what
    /// they are, directories that the builder opened by their names, and files and directories
    /// below them by their paths, files with their offsets. What a program has of a directory's
    /// listing is kept too. Contents of files are not; they are what they are when the context
    /// is restored.
    ///
    /// It fails if something is open that could not be opened again, and names it: a socket, a
    /// pipe or a device, a file that has been removed or renamed since, an input in memory that
    /// the program has not read to its end, an output in memory that nobody has looked at.
    ///
    /// ```
    /// use ropewalk_wasi::{MemoryInputPipe, WasiCtx};
    ///
    /// let input = MemoryInputPipe::new("nobody reads this");
    /// let ctx = WasiCtx::builder().stdin(input.clone()).saveable(true).build();
    /// let error = ctx.save().unwrap_err();
    /// assert!(error.to_string().starts_with("descriptor 0 cannot be saved"));
    ///
    /// // The next one gets it.
    /// let rest = input.take_unread();
    /// let state = ctx.save()?;
    /// let ctx = WasiCtx::builder().stdin(MemoryInputPipe::new(rest)).restore(&state)?;
    /// # drop(ctx);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&self) -> Result<WasiState, SaveError> {
        let preopens = self.preopens.as_ref().ok_or(SaveError::NotSaveable)?;
        if let Tape::Replays(_) = self.tape {
            return Err(SaveError::Replays);
        }
        let saved = self.table.iter().map(|(fd, descriptor)| {
            let what = what(descriptor).map_err(|reason| SaveError::Descriptor { fd, reason })?;
            let rights = (descriptor.base, descriptor.inheriting);
            Ok(Saved::new(fd, rights, descriptor.flags, what))
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

/// What has to be known of a descriptor.
fn what(descriptor: &Descriptor) -> Result<What, Unsaveable> {
    match &descriptor.kind {
        Kind::Socket(_) | Kind::Listener(_) => return Err(Unsaveable::Socket),
        Kind::Input(pipe) if pipe.unread() > 0 => {
            return Err(Unsaveable::UnreadInput(pipe.unread()));
        }
        Kind::Output(pipe) if pipe.unseen() > 0 => {
            return Err(Unsaveable::UnseenOutput(pipe.unseen()));
        }
        _ => {}
    }
    let listing = || descriptor.directory().ok().and_then(|directory| directory.listing.clone());
    match descriptor.origin.as_deref().ok_or(Unsaveable::LongPath)? {
        Origin::Stream(role) => Ok(What::Stream(*role)),
        Origin::Preopened(preopen) => {
            Ok(What::Preopened { preopen: preopen.number, listing: listing() })
        }
        Origin::Below { preopen, path, follow } => {
            let named = Named { preopen: &preopen.name, path };
            let offset = still_there(descriptor, preopen, path, *follow, &named)?;
            let place = Place { preopen: preopen.number, path: path.clone(), follow: *follow };
            Ok(match offset {
                Some(offset) => What::File { place, offset },
                None => What::Directory { place, listing: listing() },
            })
        }
    }
}

/// The offset of a file, if a path still leads to it; nothing of a directory.
fn still_there(
    descriptor: &Descriptor,
    preopen: &Preopen,
    path: &str,
    follow: bool,
    named: &Named<'_>,
) -> Result<Option<u64>, Unsaveable> {
    let host = |error: io::Error| Unsaveable::Host { place: named.to_string(), error };
    let offset = match &descriptor.kind {
        Kind::Directory(_) => None,
        Kind::File { fd, filetype: FileType::RegularFile } => {
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
