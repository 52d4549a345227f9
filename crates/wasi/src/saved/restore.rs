//! Restores saved contexts.

use crate::abi::{FdFlags, FileType, OFlags, Rights};
use crate::context::WasiCtx;
use crate::context::builder::WasiCtxBuilder;
use crate::context::clock::ContinuedClock;
use crate::files::descriptor::{Descriptor, DescriptorKind, filetype_of};
use crate::files::descriptor_table::DescriptorTable;
use crate::files::directory::Entry;
use crate::files::open::OpenRequest;
use crate::recording::Recording;
use crate::saved::state::{SavedDescriptor, SavedObject, SavedPath, WasiState};
use rustix::fs::SeekFrom;
use std::io;
use std::time::Duration;

/// Why a context cannot be [restored](WasiCtxBuilder::restore).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// The builder does not have a directory that the program uses.
    #[error("the program uses the directory `{0}`, which is not preopened")]
    NoDirectory(String),
    /// An open file or directory does not exist anymore.
    #[error("descriptor {fd}: {place} no longer exists")]
    Vanished {
        /// The number of the descriptor.
        fd: u32,
        /// The path and the preopened directory where it begins.
        place: String,
    },
    /// A path names another kind of file now.
    #[error("descriptor {fd}: {place} is no longer a {expected}")]
    WrongKind {
        /// The number of the descriptor.
        fd: u32,
        /// The path and the preopened directory where it begins.
        place: String,
        /// `file` or `directory`.
        expected: &'static str,
    },
    /// The permissions of the directory do not allow what the program had opened a file for.
    #[error("descriptor {fd}: the directory does not permit reading or writing {place} as before")]
    NotAllowed {
        /// The number of the descriptor.
        fd: u32,
        /// The path and the preopened directory where it begins.
        place: String,
    },
    /// The host cannot open it.
    #[error("descriptor {fd}: {place} cannot be opened: {error}")]
    Host {
        /// The number of the descriptor.
        fd: u32,
        /// The path and the preopened directory where it begins.
        place: String,
        /// The error of the host.
        #[source]
        error: io::Error,
    },
    /// The builder [records](WasiCtxBuilder::record) or [replays](WasiCtxBuilder::replay), which
    /// must begin at the start of a program.
    #[error("a restored context can be neither recorded nor replayed")]
    Recording,
}

impl WasiCtxBuilder {
    /// Builds a context from a [saved](WasiCtx::save) state, and resets the builder. If it fails,
    /// the builder is not changed.
    ///
    /// The builder provides the resources of the host, as for a new context: standard streams,
    /// clocks, random numbers, and directories with the same names. The state provides arguments,
    /// environment, and the numbers of descriptors. Resources of the builder that the state does not
    /// use are closed.
    ///
    /// Files and directories are opened again by their paths, below the directories of the builder
    /// and with their permissions. No file is created or truncated. A file keeps its offset even if
    /// it is shorter now. The monotonic clock continues from the saved time.
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
        if !matches!(self.recording, Recording::None) {
            return Err(RestoreError::Recording);
        }
        let given = self.matching_directories(state);
        for saved in &state.descriptors {
            if let Some(preopen) = saved.object.preopen().filter(|i| given[*i as usize].is_none()) {
                let name = state.preopens[preopen as usize].clone();
                return Err(RestoreError::NoDirectory(name));
            }
        }
        self.set_origins(given.iter().map(|given| given.unwrap_or(usize::MAX)));
        let reopened: Vec<_> = state
            .descriptors
            .iter()
            .map(|saved| self.reopen(state, &given, saved))
            .collect::<Result<_, _>>()?;
        let mut builder = std::mem::take(self);
        let (mut table, mut streams) = (DescriptorTable::default(), builder.streams().map(Some));
        let mut directories: Vec<_> =
            std::mem::take(&mut builder.directories).into_iter().map(Some).collect();
        for (saved, reopened) in state.descriptors.iter().zip(reopened) {
            let descriptor = match &saved.object {
                SavedObject::Stream(role) => streams[*role as usize].take(),
                SavedObject::Preopened { preopen, .. } => {
                    given[*preopen as usize].and_then(|given| directories[given].take())
                }
                SavedObject::File { .. } | SavedObject::Directory { .. } => reopened,
            };
            let mut descriptor = descriptor.expect("a consistent state names each of them once");
            saved.apply(&mut descriptor);
            table.put(saved.fd, descriptor);
        }
        builder.args.clone_from(&state.args);
        builder.environment.clone_from(&state.environment);
        let mut ctx = builder.finish(table, &state.preopens);
        let from = Duration::from_nanos(state.monotonic);
        ctx.clocks.monotonic = Box::new(ContinuedClock::new(ctx.clocks.monotonic, from));
        Ok(ctx)
    }

    /// The index of the builder's directory for each preopened directory of the state. Directories
    /// with the same name match in order.
    fn matching_directories(&self, state: &WasiState) -> Vec<Option<usize>> {
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

    /// Opens a file or directory again. Returns nothing for streams and preopened directories.
    fn reopen(
        &self,
        state: &WasiState,
        given: &[Option<usize>],
        saved: &SavedDescriptor,
    ) -> Result<Option<Descriptor>, RestoreError> {
        let (place, expected) = match &saved.object {
            SavedObject::Stream(_) | SavedObject::Preopened { .. } => return Ok(None),
            SavedObject::File { place, .. } => (place, FileType::RegularFile),
            SavedObject::Directory { place, .. } => (place, FileType::Directory),
        };
        let Some(parent) = given[place.preopen as usize].map(|given| &self.directories[given])
        else {
            return Ok(None);
        };
        let reopening = Reopening { fd: saved.fd, place, name: state.describe(place), expected };
        let descriptor = reopening.open(parent, saved)?;
        if let (SavedObject::File { offset, .. }, DescriptorKind::File { fd, .. }) =
            (&saved.object, &descriptor.kind)
        {
            rustix::fs::seek(fd, SeekFrom::Start(*offset))
                .map_err(|error| reopening.error(error.into()))?;
        }
        Ok(Some(descriptor))
    }
}

/// A file or directory that is opened again.
struct Reopening<'a> {
    fd: u32,
    place: &'a SavedPath,
    name: String,
    expected: FileType,
}

impl Reopening<'_> {
    /// Opens it as the program would, but without waiting if it has become a pipe.
    fn open(
        &self,
        parent: &Descriptor,
        saved: &SavedDescriptor,
    ) -> Result<Descriptor, RestoreError> {
        let mut request = OpenRequest {
            follow: self.place.follow,
            oflags: OFlags::empty(),
            fdflags: saved.flags().union(FdFlags::NONBLOCK),
            rights: saved.rights().0,
        };
        request.oflags.set(OFlags::DIRECTORY, self.expected == FileType::Directory);
        let (fd, place) = (self.fd, || self.name.clone());
        let denied = |_| RestoreError::NotAllowed { fd, place: place() };
        request.check(parent).map_err(denied)?;
        let directory = parent.directory(Rights::empty()).map_err(denied)?;
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

impl SavedDescriptor {
    /// Applies the saved rights, flags and listing to a descriptor, which gets no new rights.
    fn apply(&self, descriptor: &mut Descriptor) {
        let (base, inheriting) = self.rights();
        descriptor.narrow(base, inheriting);
        descriptor.flags = self.flags();
        let listing: Option<&Vec<Entry>> = match &self.object {
            SavedObject::Preopened { listing, .. } | SavedObject::Directory { listing, .. } => {
                listing.as_ref()
            }
            SavedObject::Stream(_) | SavedObject::File { .. } => None,
        };
        if let DescriptorKind::Directory(directory) = &mut descriptor.kind {
            directory.listing = listing.cloned();
        }
    }
}
