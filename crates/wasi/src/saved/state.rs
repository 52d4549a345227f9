//! The state of a saved context, and its encoding.
//!
//! ```text
//!   "ropewalk-wasi" 0 0 version | WasiState | hash of the preceding bytes
//! ```

use crate::abi::{FdFlags, Rights};
use crate::files::descriptor_table::MAX_DESCRIPTORS;
use crate::files::directory::Entry;
use crate::files::origin::Role;
use serde::{Deserialize, Serialize};
use std::fmt;
use xxhash_rust::xxh3::xxh3_64;

/// The first bytes of a state; the version follows.
const MAGIC: &[u8; 15] = b"ropewalk-wasi\0\0";
const VERSION: u8 = 1;
const HASH: usize = size_of::<u64>();

/// A [`WasiCtx`](crate::WasiCtx) that has been [saved](crate::WasiCtx::save): arguments,
/// environment, open descriptors, and the time of the program.
///
/// It contains names and numbers but no resources of the host. A builder
/// [restores](crate::WasiCtxBuilder::restore) it with new directories and streams. It can be
/// encoded as bytes, and decoded in another process.
///
/// ```
/// use ropewalk_wasi::{WasiCtx, WasiState};
///
/// let ctx = WasiCtx::builder().arg("program").saveable(true).build();
/// let bytes = ctx.save()?.to_bytes();
/// let state = WasiState::from_bytes(&bytes)?;
/// let ctx = WasiCtx::builder().restore(&state)?;
/// # drop(ctx);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WasiState {
    pub(crate) args: Vec<Vec<u8>>,
    pub(crate) environment: Vec<Vec<u8>>,
    /// The time of the monotonic clock, in nanoseconds.
    pub(crate) monotonic: u64,
    /// The names of the preopened directories.
    pub(crate) preopens: Vec<String>,
    /// Sorted by number.
    pub(crate) descriptors: Vec<SavedDescriptor>,
}

/// A saved descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedDescriptor {
    pub(crate) fd: u32,
    base: u64,
    inheriting: u64,
    flags: u16,
    pub(crate) object: SavedObject,
}

/// The object behind a saved descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SavedObject {
    Stream(Role),
    Preopened { preopen: u32, listing: Option<Vec<Entry>> },
    File { place: SavedPath, offset: u64 },
    Directory { place: SavedPath, listing: Option<Vec<Entry>> },
}

/// The path of a file or directory that the program opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedPath {
    pub(crate) preopen: u32,
    pub(crate) path: String,
    pub(crate) follow: bool,
}

/// Why bytes are not a valid [`WasiState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// They do not begin as a state does.
    #[error("this is not a saved state of WASI")]
    Unknown,
    /// They have another version of the format.
    #[error("expected a state of version {VERSION}, found version {0}")]
    Version(u8),
    /// Bytes are missing or have been changed.
    #[error("the state is damaged")]
    Damaged,
}

impl SavedDescriptor {
    pub(crate) fn new(
        fd: u32,
        (base, inheriting): (Rights, Rights),
        flags: FdFlags,
        object: SavedObject,
    ) -> SavedDescriptor {
        let (base, inheriting, flags) = (base.bits(), inheriting.bits(), flags.bits());
        SavedDescriptor { fd, base, inheriting, flags, object }
    }

    pub(crate) fn rights(&self) -> (Rights, Rights) {
        (Rights::from_bits_truncate(self.base), Rights::from_bits_truncate(self.inheriting))
    }

    pub(crate) fn flags(&self) -> FdFlags {
        FdFlags::from_bits_truncate(self.flags)
    }
}

impl SavedObject {
    /// The index of the preopened directory that it is or is below.
    pub(crate) fn preopen(&self) -> Option<u32> {
        match self {
            SavedObject::Stream(_) => None,
            SavedObject::Preopened { preopen, .. } => Some(*preopen),
            SavedObject::File { place, .. } | SavedObject::Directory { place, .. } => {
                Some(place.preopen)
            }
        }
    }
}

impl WasiState {
    /// Encodes the state, with the version of the format and a hash.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = [MAGIC, &[VERSION][..]].concat();
        let mut bytes = postcard::to_extend(self, head).expect("writing to a vector does not fail");
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// Decodes a state that [`to_bytes`](Self::to_bytes) encoded.
    ///
    /// The hash detects accidental damage. A forged state is accepted if it is consistent, but it
    /// gives a program no access beyond the directories of the builder and their permissions.
    pub fn from_bytes(bytes: &[u8]) -> Result<WasiState, StateError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(StateError::Unknown)?;
        match rest.first() {
            Some(&VERSION) => {}
            Some(&version) => return Err(StateError::Version(version)),
            None => return Err(StateError::Damaged),
        }
        let (hashed, hash) = bytes.split_last_chunk::<HASH>().ok_or(StateError::Damaged)?;
        let encoded = hashed.get(MAGIC.len() + 1..).ok_or(StateError::Damaged)?;
        if xxh3_64(hashed) != u64::from_le_bytes(*hash) {
            return Err(StateError::Damaged);
        }
        let (state, rest): (WasiState, _) =
            postcard::take_from_bytes(encoded).map_err(|_| StateError::Damaged)?;
        match rest.is_empty() && state.is_consistent() {
            true => Ok(state),
            false => Err(StateError::Damaged),
        }
    }

    /// Whether a context can have this state.
    fn is_consistent(&self) -> bool {
        let rising = self.descriptors.is_sorted_by(|a, b| a.fd < b.fd);
        let is_valid = |saved: &SavedDescriptor| {
            (saved.fd as usize) < MAX_DESCRIPTORS
                && Rights::from_bits(saved.base).is_some()
                && Rights::from_bits(saved.inheriting).is_some()
                && FdFlags::from_bits(saved.flags).is_some()
                && saved.object.preopen().is_none_or(|i| (i as usize) < self.preopens.len())
                && !matches!(saved.object, SavedObject::File { offset, .. } if i64::try_from(offset).is_err())
        };
        // A program has each stream and preopened directory at most once.
        let mut unique: Vec<_> = self
            .descriptors
            .iter()
            .filter_map(|saved| match saved.object {
                SavedObject::Stream(role) => Some((0, role as u32)),
                SavedObject::Preopened { preopen, .. } => Some((1, preopen)),
                SavedObject::File { .. } | SavedObject::Directory { .. } => None,
            })
            .collect();
        unique.sort_unstable();
        rising && self.descriptors.iter().all(is_valid) && unique.is_sorted_by(|a, b| a < b)
    }

    /// A path, for messages.
    pub(crate) fn describe(&self, path: &SavedPath) -> String {
        let preopen = self.preopens.get(path.preopen as usize).map_or("", String::as_str);
        DisplayPath { preopen, path: &path.path }.to_string()
    }
}

/// Formats a path and the directory where it begins.
pub(crate) struct DisplayPath<'a> {
    pub(crate) preopen: &'a str,
    pub(crate) path: &'a str,
}

impl fmt::Display for DisplayPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` below `{}`", self.path, self.preopen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> WasiState {
        let place = SavedPath { preopen: 0, path: "a/b".into(), follow: true };
        let what = [
            SavedObject::Stream(Role::Stdout),
            SavedObject::Preopened { preopen: 0, listing: None },
            SavedObject::File { place: place.clone(), offset: 5 },
            SavedObject::Directory { place, listing: Some(Vec::new()) },
        ];
        let saved = |(fd, what)| {
            SavedDescriptor::new(fd, (Rights::FILE, Rights::empty()), FdFlags::APPEND, what)
        };
        WasiState {
            args: vec![b"program".to_vec()],
            environment: vec![b"NAME=value".to_vec()],
            monotonic: 77,
            preopens: vec!["/".into()],
            descriptors: (1..).zip(what).map(saved).collect(),
        }
    }

    /// Encodes and decodes a state.
    fn read(state: &WasiState) -> Result<WasiState, StateError> {
        WasiState::from_bytes(&state.to_bytes())
    }

    #[test]
    fn a_decoded_state_is_equal() {
        assert_eq!(read(&state()), Ok(state()));
    }

    #[test]
    fn every_damaged_byte_is_detected() {
        let bytes = state().to_bytes();
        for i in 0..bytes.len() {
            for change in [1, 0x80, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[i] ^= change;
                assert!(WasiState::from_bytes(&damaged).is_err(), "byte {i}");
            }
            assert!(WasiState::from_bytes(&bytes[..i]).is_err(), "{i} bytes");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(WasiState::from_bytes(&longer), Err(StateError::Damaged));
    }

    #[test]
    fn other_versions_and_other_files_are_different_errors() {
        let mut bytes = state().to_bytes();
        bytes[MAGIC.len()] = 200;
        assert_eq!(WasiState::from_bytes(&bytes), Err(StateError::Version(200)));
        assert_eq!(WasiState::from_bytes(b"something else"), Err(StateError::Unknown));
        assert_eq!(WasiState::from_bytes(b""), Err(StateError::Unknown));
    }

    #[test]
    fn inconsistent_states_are_refused() {
        let damages: [fn(&mut WasiState); 9] = [
            |state| state.descriptors[0].fd = 2,
            |state| state.descriptors[3].fd = MAX_DESCRIPTORS as u32,
            |state| state.descriptors[0].base = 1 << 60,
            |state| state.descriptors[0].inheriting = 1 << 60,
            |state| state.descriptors[0].flags = 1 << 9,
            |state| {
                state.descriptors[1].object = SavedObject::Preopened { preopen: 1, listing: None }
            },
            |state| {
                state.descriptors[2].object = SavedObject::Preopened { preopen: 0, listing: None }
            },
            |state| state.descriptors[2].object = SavedObject::Stream(Role::Stdout),
            |state| {
                let place = SavedPath { preopen: 0, path: "x".into(), follow: false };
                state.descriptors[2].object = SavedObject::File { place, offset: 1 << 63 };
            },
        ];
        for (i, damage) in damages.into_iter().enumerate() {
            let mut state = state();
            damage(&mut state);
            assert_eq!(read(&state), Err(StateError::Damaged), "damage {i}");
        }
    }
}
