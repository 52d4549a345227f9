//! Where a descriptor came from, so that it can be opened again.
//!
//! It is kept only in a context that [may be saved](crate::WasiCtxBuilder::saveable).

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The longest path that is kept: the host looks up no longer one.
pub(crate) const LONGEST_PATH: usize = 4095;

/// Where a descriptor came from.
pub(crate) enum Origin {
    Stream(Role),
    Preopened(Arc<Preopen>),
    /// The program opened it.
    Below {
        preopen: Arc<Preopen>,
        /// From the preopened directory on.
        path: String,
        /// Whether a link at the end of the path is followed.
        follow: bool,
    },
}

/// Which of the standard streams something is, wherever the program has moved it to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Role {
    Stdin,
    Stdout,
    Stderr,
}

/// A directory that was there when the program began. The program may have closed it.
pub(crate) struct Preopen {
    /// In the order in which the program found them.
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) dir: Arc<Dir>,
}

impl Origin {
    /// Of what is opened by a path that begins here. Nothing if it cannot be kept.
    pub(crate) fn below(&self, path: &str, follow: bool) -> Option<Box<Origin>> {
        let (preopen, path) = match self {
            Origin::Stream(_) => return None,
            Origin::Preopened(preopen) => (preopen, path.to_owned()),
            Origin::Below { preopen, path: parent, .. } => (preopen, format!("{parent}/{path}")),
        };
        let preopen = preopen.clone();
        (path.len() <= LONGEST_PATH).then(|| Box::new(Origin::Below { preopen, path, follow }))
    }
}
