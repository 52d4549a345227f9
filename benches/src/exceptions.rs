//! Rows about exceptions.

use crate::programs::program;
use crate::ropewalk::Ropewalk;
use crate::row::{Row, Size, ours, row};

/// The rows, in the order of the table.
#[rustfmt::skip]
pub fn rows() -> Vec<Row> {
    vec![
        row("throw through 1", "a throw, one frame, a catch", Size::of(3_000_000), program!("throw", "through_1")).with_peer_size(Size::of(300_000)),
        row("throw through 10", "a throw, 10 frames, a catch", Size::of(1_000_000), program!("throw", "through_10")).with_peer_size(Size::of(100_000)),
        row("throw through 100", "a throw, 100 frames, a catch", Size::of(200_000), program!("throw", "through_100")).with_peer_size(Size::of(15_000)),
        ours("try_table", "a call that does not throw", Size::of(60_000_000), program!("try", "with"))
            .against_engine::<Ropewalk>("no try_table", program!("try", "without")),
    ]
}
