//! Prints type definitions in the standard text.

use crate::dialect::definitions::Sub;
use crate::dialect::lower::Pieces;

/// A name, and the offset in the source that it maps to.
pub(crate) type Placed = (String, usize);

/// `(type $name (sub final? $supertype* inner))`, or without `sub`.
pub(crate) fn standard_type(
    at: usize,
    name: Option<Placed>,
    sub: Option<&Sub<'_>>,
    supertypes: Vec<Placed>,
    inner: Pieces,
) -> Pieces {
    let mut pieces = Pieces::text("(type ", at);
    if let Some((name, at)) = name {
        pieces.push(name + " ", at);
    }
    if let Some(sub) = sub {
        pieces.push(if sub.is_final { "(sub final " } else { "(sub " }, at);
    }
    for (name, at) in supertypes {
        pieces.push(name + " ", at);
    }
    pieces.append(inner);
    pieces.push(if sub.is_some() { "))" } else { ")" }, at);
    pieces
}
