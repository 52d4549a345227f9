//! Making a context again that was written down.

use crate::abi::{FdFlags, FileType, OFlags};
use crate::clock::Continued;
use crate::ctx::{WasiCtx, WasiCtxBuilder};
use crate::descriptor::{Descriptor, Kind, filetype_of};
use crate::directory::Entry;
use crate::open::Request;
use crate::state::{Place, Saved, WasiState, What};
use crate::table::Table;
use crate::tape::Tape;
use rustix::fs::SeekFrom;
use std::io;
use std::time::Duration;

/// Why a context cannot be [restored](WasiCtxBuilder::restore).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The program uses a directory that the builder was not given.
    #[error("the program uses the directory `{0}`, which is not preopened")]
    NoDirectory(String),
    /// Something that was open is not there any more.
    #[error("descriptor {fd}: {place} is not there any more")]
    Vanished {
        /// The number that the program knows it by.
        fd: u32,
        /// Its path, and the directory where that begins.
        place: String,
    },
    /// A file has become something else, or a directory has.
    #[error("descriptor {fd}: {place} is no {expected} any more")]
    WrongKind {
        /// The number that the program knows it by.
        fd: u32,
        /// Its path, and the directory where that begins.
        place: String,
        /// What it was.
        expected: &'static str,
    },
    /// The program had a file open for what its directory does not allow now.
    #[error("descriptor {fd}: {place} may not be read or written as the program did")]
    NotAllowed {
        /// The number that the program knows it by.
        fd: u32,
        /// Its path, and the directory where that begins.
        place: String,
    },
    /// The host does not open it.
    #[error("descriptor {fd}: {place} cannot be opened: {error}")]
    Host {
        /// The number that the program knows it by.
        fd: u32,
        /// Its path, and the directory where that begins.
        place: String,
        /// What the host said.
        #[source]
        error: io::Error,
    },
    /// The builder is to [record](WasiCtxBuilder::record) or [replay](WasiCtxBuilder::replay),
    /// which begins where a program begins.
    #[error("a context that is restored can be neither recorded nor replayed")]
    Recording,
}

impl WasiCtxBuilder {
    /// The context that was [saved](WasiCtx::save), instead of [a new one](Self::build). The
    /// builder is as new then; if it fails, the builder is as before.
    ///
    /// The builder is given what belongs to the host, as for a new context: standard streams,
    /// clocks, random numbers, and the directories, under the names that they had. Which number
    /// each of them has for the program, and what else is open, the state says; arguments and
    /// environment are the state's too. What the builder is given and the state does not name
    /// is closed.
    ///
    /// Files and directories are opened again by their paths, below the directories that the
    /// builder is given and with no more than their permissions, as if the program did it, and
    /// nothing is created or cut off. A file is at its offset, also if it is shorter now. The
    /// clock that only goes forward goes on from where it was, and has not counted the time in
    /// between.
    ///
    /// ```
    /// use ropewalk_wasi::{DirPerms, FilePerms, WasiCtx, WasiState};
    ///
    /// # fn main() -> ropewalk::Result<()> {
    /// let mut builder = WasiCtx::builder();
    /// builder.preopened_dir(".", "/data", DirPerms::READ, FilePerms::READ)?;
    /// let state = builder.saveable(true).build().save()?;
    ///
    /// let mut builder = WasiCtx::builder();
    /// let error = builder.restore(&state).unwrap_err();
    /// assert_eq!(error.to_string(), "the program uses the directory `/data`, which is not preopened");
    /// builder.preopened_dir(".", "/data", DirPerms::READ, FilePerms::READ)?;
    /// let ctx = builder.restore(&state)?;
    /// # drop(ctx);
    /// # Ok(())
    /// # }
    /// ```
    pub fn restore(&mut self, state: &WasiState) -> Result<WasiCtx, RestoreError> {
        if !matches!(self.tape, Tape::None) {
            return Err(RestoreError::Recording);
        }
        let given = self.given(state);
        for saved in &state.descriptors {
            if let Some(preopen) = saved.what.preopen().filter(|i| given[*i as usize].is_none()) {
                let name = state.preopens[preopen as usize].clone();
                return Err(RestoreError::NoDirectory(name));
            }
        }
        self.note_origins(given.iter().map(|given| given.unwrap_or(usize::MAX)));
        let reopened: Vec<_> = state
            .descriptors
            .iter()
            .map(|saved| self.reopen(state, &given, saved))
            .collect::<Result<_, _>>()?;
        let mut builder = std::mem::take(self);
        let (mut table, mut streams) = (Table::default(), builder.streams().map(Some));
        let mut directories: Vec<_> =
            std::mem::take(&mut builder.directories).into_iter().map(Some).collect();
        for (saved, reopened) in state.descriptors.iter().zip(reopened) {
            let descriptor = match &saved.what {
                What::Stream(role) => streams[*role as usize].take(),
                What::Preopened { preopen, .. } => {
                    given[*preopen as usize].and_then(|given| directories[given].take())
                }
                What::File { .. } | What::Directory { .. } => reopened,
            };
            let mut descriptor = descriptor.expect("a state in order names each of them once");
            saved.apply(&mut descriptor);
            table.put(saved.fd, descriptor);
        }
        builder.args.clone_from(&state.args);
        builder.environment.clone_from(&state.environment);
        let mut ctx = builder.finish(table, &state.preopens);
        let from = Duration::from_nanos(state.monotonic);
        ctx.clocks.monotonic = Box::new(Continued::new(ctx.clocks.monotonic, from));
        Ok(ctx)
    }

    /// Which of the builder's directories is which of the state's: the one with the same name,
    /// or of several the one that has the same place among them.
    fn given(&self, state: &WasiState) -> Vec<Option<usize>> {
        let mut taken = vec![false; self.directories.len()];
        let given = state.preopens.iter().map(|name| {
            let mut names = self.directories.iter().map(Descriptor::preopened_as);
            let found = names
                .by_ref()
                .zip(&taken)
                .position(|(other, taken)| !taken && other == Some(name.as_str()))?;
            taken[found] = true;
            Some(found)
        });
        given.collect()
    }

    /// Opens what the program had opened; nothing if it was there when the program began.
    fn reopen(
        &self,
        state: &WasiState,
        given: &[Option<usize>],
        saved: &Saved,
    ) -> Result<Option<Descriptor>, RestoreError> {
        let (place, expected) = match &saved.what {
            What::Stream(_) | What::Preopened { .. } => return Ok(None),
            What::File { place, .. } => (place, FileType::RegularFile),
            What::Directory { place, .. } => (place, FileType::Directory),
        };
        let Some(parent) = given[place.preopen as usize].map(|given| &self.directories[given])
        else {
            return Ok(None);
        };
        let reopening = Reopening { fd: saved.fd, place, name: state.describe(place), expected };
        let descriptor = reopening.open(parent, saved)?;
        if let (What::File { offset, .. }, Kind::File { fd, .. }) = (&saved.what, &descriptor.kind)
        {
            rustix::fs::seek(fd, SeekFrom::Start(*offset))
                .map_err(|error| reopening.error(error.into()))?;
        }
        Ok(Some(descriptor))
    }
}

/// Something that is opened again.
struct Reopening<'a> {
    fd: u32,
    place: &'a Place,
    name: String,
    expected: FileType,
}

impl Reopening<'_> {
    /// Opens it as the program would. The host is not to wait for it, should it have become a
    /// pipe.
    fn open(&self, parent: &Descriptor, saved: &Saved) -> Result<Descriptor, RestoreError> {
        let mut request = Request {
            follow: self.place.follow,
            oflags: OFlags::empty(),
            fdflags: saved.flags().union(FdFlags::NONBLOCK),
            rights: saved.rights().0,
        };
        request.oflags.set(OFlags::DIRECTORY, self.expected == FileType::Directory);
        let (fd, place) = (self.fd, || self.name.clone());
        let denied = |_| RestoreError::NotAllowed { fd, place: place() };
        request.check(parent).map_err(denied)?;
        let directory = parent.directory().map_err(denied)?;
        let path = &self.place.path;
        let file = request.open_file(parent, directory, path).map_err(|error| self.error(error))?;
        match filetype_of(&file) == self.expected {
            true => Ok(request.descriptor(parent, path, file)),
            false => Err(self.wrong_kind()),
        }
    }

    fn error(&self, error: io::Error) -> RestoreError {
        let (fd, place) = (self.fd, self.name.clone());
        match error.kind() {
            io::ErrorKind::NotFound => RestoreError::Vanished { fd, place },
            io::ErrorKind::IsADirectory => self.wrong_kind(),
            io::ErrorKind::NotADirectory if self.expected == FileType::Directory => {
                self.wrong_kind()
            }
            _ => RestoreError::Host { fd, place, error },
        }
    }

    fn wrong_kind(&self) -> RestoreError {
        let expected = if self.expected == FileType::Directory { "directory" } else { "file" };
        RestoreError::WrongKind { fd: self.fd, place: self.name.clone(), expected }
    }
}

impl Saved {
    /// Makes a descriptor what it was, with no more rights than it has.
    fn apply(&self, descriptor: &mut Descriptor) {
        let (base, inheriting) = self.rights();
        descriptor.narrow(base, inheriting);
        descriptor.flags = self.flags();
        let listing: Option<&Vec<Entry>> = match &self.what {
            What::Preopened { listing, .. } | What::Directory { listing, .. } => listing.as_ref(),
            What::Stream(_) | What::File { .. } => None,
        };
        if let Kind::Directory(directory) = &mut descriptor.kind {
            directory.listing = listing.cloned();
        }
    }
}
