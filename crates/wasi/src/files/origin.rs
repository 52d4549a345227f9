//! The origin of a descriptor: how to open it again.
//!
//! Only contexts that [may be saved](crate::WasiCtxBuilder::saveable) have origins.

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The maximum length of a stored path, which is the host's.
pub(crate) const MAX_PATH: usize = 4095;

/// How a descriptor was opened.
pub(crate) enum Origin {
    Stream(Role),
    Preopened(Arc<Preopen>),
    /// The program opened it below a preopened directory.
    Below {
        preopen: Arc<Preopen>,
        /// The path from the preopened directory.
        path: String,
        /// Whether a link at the end of the path is followed.
        follow: bool,
    },
}

/// A standard stream, which the program may have moved to another number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Role {
    Stdin,
    Stdout,
    Stderr,
}

/// A preopened directory, which the program may have closed.
pub(crate) struct Preopen {
    /// The index among the preopened directories.
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) dir: Arc<Dir>,
}

impl Origin {
    /// The origin of a file that is opened by a path from here; none if the path is too long.
    pub(crate) fn below(&self, path: &str, follow: bool) -> Option<Box<Origin>> {
        let (preopen, path) = match self {
            Origin::Stream(_) => return None,
            Origin::Preopened(preopen) => (preopen, path.to_owned()),
            Origin::Below { preopen, path: parent, .. } => (preopen, format!("{parent}/{path}")),
        };
        let preopen = preopen.clone();
        (path.len() <= MAX_PATH).then(|| Box::new(Origin::Below { preopen, path, follow }))
    }
}
