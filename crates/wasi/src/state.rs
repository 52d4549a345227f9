//! A context that has been written down.
//!
//! ```text
//!   "ropewalk-wasi" 0 0 version | WasiState | hash of all that
//! ```

use crate::abi::{FdFlags, Rights};
use crate::directory::Entry;
use crate::origin::Role;
use crate::table::MOST;
use serde::{Deserialize, Serialize};
use std::fmt;
use xxhash_rust::xxh3::xxh3_64;

/// What a state begins with; the version follows.
const MAGIC: &[u8; 15] = b"ropewalk-wasi\0\0";
const VERSION: u8 = 1;
const HASH: usize = size_of::<u64>();

/// A [`WasiCtx`](crate::WasiCtx) that has been [saved](crate::WasiCtx::save): arguments,
/// environment, what was open, and what time it was for the program.
///
/// It holds names and numbers, and nothing of the host's: a builder
/// [restores](crate::WasiCtxBuilder::restore) it with directories and streams that it is
/// given. It can be written to bytes, and read back in another process.
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
    /// What the clock showed that only goes forward, in nanoseconds.
    pub(crate) monotonic: u64,
    /// The names of the directories that the program found.
    pub(crate) preopens: Vec<String>,
    /// Their numbers rise.
    pub(crate) descriptors: Vec<Saved>,
}

/// A descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Saved {
    pub(crate) fd: u32,
    base: u64,
    inheriting: u64,
    flags: u16,
    pub(crate) what: What,
}

/// What was open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum What {
    Stream(Role),
    Preopened { preopen: u32, listing: Option<Vec<Entry>> },
    File { place: Place, offset: u64 },
    Directory { place: Place, listing: Option<Vec<Entry>> },
}

/// Where something is that the program opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) preopen: u32,
    pub(crate) path: String,
    pub(crate) follow: bool,
}

/// Why bytes are no [`WasiState`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// They do not begin like one.
    #[error("it is no saved state of WASI")]
    Unknown,
    /// Another version of this crate has written them.
    #[error("the state has version {0}, and this Ropewalk reads version {VERSION}")]
    Version(u8),
    /// Something is missing or has been changed.
    #[error("the state is damaged")]
    Damaged,
}

impl Saved {
    pub(crate) fn new(
        fd: u32,
        (base, inheriting): (Rights, Rights),
        flags: FdFlags,
        what: What,
    ) -> Saved {
        let (base, inheriting, flags) = (base.bits(), inheriting.bits(), flags.bits());
        Saved { fd, base, inheriting, flags, what }
    }

    pub(crate) fn rights(&self) -> (Rights, Rights) {
        (Rights::from_bits_truncate(self.base), Rights::from_bits_truncate(self.inheriting))
    }

    pub(crate) fn flags(&self) -> FdFlags {
        FdFlags::from_bits_truncate(self.flags)
    }
}

impl What {
    /// The number of the directory that it is or is below.
    pub(crate) fn preopen(&self) -> Option<u32> {
        match self {
            What::Stream(_) => None,
            What::Preopened { preopen, .. } => Some(*preopen),
            What::File { place, .. } | What::Directory { place, .. } => Some(place.preopen),
        }
    }
}

impl WasiState {
    /// The state as bytes, with the version of their layout and a hash.
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = [MAGIC, &[VERSION][..]].concat();
        let mut bytes =
            postcard::to_extend(self, head).expect("vectors take all that they are given");
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// The state that [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// The hash is for accidents. Bytes that somebody made up are read too if they are in
    /// order, and give a program nothing that is not below the directories which the builder
    /// is given, nor more than their permissions allow.
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
        match rest.is_empty() && state.is_in_order() {
            true => Ok(state),
            false => Err(StateError::Damaged),
        }
    }

    /// Whether it can be that of a context.
    fn is_in_order(&self) -> bool {
        let rising = self.descriptors.is_sorted_by(|a, b| a.fd < b.fd);
        let fits = |saved: &Saved| {
            (saved.fd as usize) < MOST
                && Rights::from_bits(saved.base).is_some()
                && Rights::from_bits(saved.inheriting).is_some()
                && FdFlags::from_bits(saved.flags).is_some()
                && saved.what.preopen().is_none_or(|i| (i as usize) < self.preopens.len())
                && !matches!(saved.what, What::File { offset, .. } if i64::try_from(offset).is_err())
        };
        // A program cannot have one of these twice.
        let mut unique: Vec<_> = self
            .descriptors
            .iter()
            .filter_map(|saved| match saved.what {
                What::Stream(role) => Some((0, role as u32)),
                What::Preopened { preopen, .. } => Some((1, preopen)),
                What::File { .. } | What::Directory { .. } => None,
            })
            .collect();
        unique.sort_unstable();
        rising && self.descriptors.iter().all(fits) && unique.is_sorted_by(|a, b| a < b)
    }

    /// What messages call a place.
    pub(crate) fn describe(&self, place: &Place) -> String {
        let preopen = self.preopens.get(place.preopen as usize).map_or("", String::as_str);
        Named { preopen, path: &place.path }.to_string()
    }
}

/// A path and the directory that it begins at, for messages.
pub(crate) struct Named<'a> {
    pub(crate) preopen: &'a str,
    pub(crate) path: &'a str,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` below `{}`", self.path, self.preopen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> WasiState {
        let place = Place { preopen: 0, path: "a/b".into(), follow: true };
        let what = [
            What::Stream(Role::Stdout),
            What::Preopened { preopen: 0, listing: None },
            What::File { place: place.clone(), offset: 5 },
            What::Directory { place, listing: Some(Vec::new()) },
        ];
        let saved =
            |(fd, what)| Saved::new(fd, (Rights::FILE, Rights::empty()), FdFlags::APPEND, what);
        WasiState {
            args: vec![b"program".to_vec()],
            environment: vec![b"NAME=value".to_vec()],
            monotonic: 77,
            preopens: vec!["/".into()],
            descriptors: (1..).zip(what).map(saved).collect(),
        }
    }

    /// What reading says of bytes in which the hash is right.
    fn read(state: &WasiState) -> Result<WasiState, StateError> {
        WasiState::from_bytes(&state.to_bytes())
    }

    #[test]
    fn a_state_is_read_as_it_was_written() {
        assert_eq!(read(&state()), Ok(state()));
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
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
    fn other_versions_and_other_files_are_told_apart() {
        let mut bytes = state().to_bytes();
        bytes[MAGIC.len()] = 200;
        assert_eq!(WasiState::from_bytes(&bytes), Err(StateError::Version(200)));
        assert_eq!(WasiState::from_bytes(b"something else"), Err(StateError::Unknown));
        assert_eq!(WasiState::from_bytes(b""), Err(StateError::Unknown));
    }

    #[test]
    fn what_no_program_can_have_is_refused() {
        let damages: [fn(&mut WasiState); 9] = [
            |state| state.descriptors[0].fd = 2,
            |state| state.descriptors[3].fd = MOST as u32,
            |state| state.descriptors[0].base = 1 << 60,
            |state| state.descriptors[0].inheriting = 1 << 60,
            |state| state.descriptors[0].flags = 1 << 9,
            |state| state.descriptors[1].what = What::Preopened { preopen: 1, listing: None },
            |state| state.descriptors[2].what = What::Preopened { preopen: 0, listing: None },
            |state| state.descriptors[2].what = What::Stream(Role::Stdout),
            |state| {
                let place = Place { preopen: 0, path: "x".into(), follow: false };
                state.descriptors[2].what = What::File { place, offset: 1 << 63 };
            },
        ];
        for (i, damage) in damages.into_iter().enumerate() {
            let mut state = state();
            damage(&mut state);
            assert_eq!(read(&state), Err(StateError::Damaged), "damage {i}");
        }
    }
}
