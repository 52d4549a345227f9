//! The blocks of a file: their kinds and checksums.

use xxhash_rust::xxh3::xxh3_64;

/// The kind of a block's items.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BlockKind {
    Name,
    Functions,
    Positions,
    Tags,
    Stacks,
    Frames,
    Events,
    End,
}

impl BlockKind {
    const ALL: [BlockKind; 8] = [
        BlockKind::Name,
        BlockKind::Functions,
        BlockKind::Positions,
        BlockKind::Tags,
        BlockKind::Stacks,
        BlockKind::Frames,
        BlockKind::Events,
        BlockKind::End,
    ];

    pub(super) fn of(byte: u8) -> Option<BlockKind> {
        BlockKind::ALL.get(usize::from(byte)).copied()
    }
}

/// The size of a block's head.
pub(super) const HEAD: usize = 13;

/// The head of a block, before its payload.
pub(super) struct Head {
    pub(super) kind: u8,
    pub(super) length: usize,
    checksum: u64,
}

impl Head {
    pub(super) fn to_bytes(kind: BlockKind, payload: &[u8]) -> [u8; HEAD] {
        let length = u32::try_from(payload.len()).expect("blocks are written before they are long");
        let mut bytes = [0; HEAD];
        bytes[0] = kind as u8;
        bytes[1..5].copy_from_slice(&length.to_le_bytes());
        bytes[5..].copy_from_slice(&checksum(kind as u8, payload).to_le_bytes());
        bytes
    }

    pub(super) fn from_bytes(bytes: &[u8; HEAD]) -> Head {
        let [kind, l0, l1, l2, l3, checksum @ ..] = *bytes;
        Head {
            kind,
            length: u32::from_le_bytes([l0, l1, l2, l3]) as usize,
            checksum: u64::from_le_bytes(checksum),
        }
    }

    /// Whether a payload has the checksum of the head.
    pub(super) fn fits(&self, payload: &[u8]) -> bool {
        self.checksum == checksum(self.kind, payload)
    }
}

fn checksum(kind: u8, payload: &[u8]) -> u64 {
    xxh3_64(payload) ^ u64::from(kind)
}
