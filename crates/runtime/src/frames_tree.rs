//! Where stacks were when something was recorded or sampled: frames in a tree, each of which
//! is in it once.

use crate::activation::LeavePoint;
use crate::store::Store;
use ropewalk_abi::code::index;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// How many frames of a stack are kept: the innermost.
const MAX_FRAMES: usize = 64;
/// How many frames there may be in the tree. What comes later has none.
const MAX_NODES: usize = 1 << 20;

/// A frame of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    /// The frame that called it.
    pub caller: Option<u32>,
    /// Where the code of its module begins.
    pub code: usize,
    pub function: u32,
    pub position: Option<u32>,
}

/// Frames that were seen.
#[derive(Debug, Default)]
pub(crate) struct FrameTree {
    pub nodes: Vec<Node>,
    numbers: HashMap<Node, u32>,
    /// What a walk has found, by a hash of the addresses that it met. Mostly a stack is
    /// where it, or another of its function, has been before.
    known: HashMap<u64, Option<u32>, BuildHasherDefault<AsItIs>>,
    /// The addresses that a walk meets.
    met: Vec<usize>,
}

/// A hash of what is one already.
#[derive(Debug, Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only words are hashed")
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }
}

impl FrameTree {
    /// The innermost frame of a stack that was left somewhere; none if it has not begun.
    ///
    /// # Safety
    ///
    /// The stack must have been left there, and what lies on it be still there.
    pub unsafe fn of(&mut self, store: &Store, left: &LeavePoint) -> Option<u32> {
        // SAFETY: the caller's promise.
        let hash = unsafe { self.walk(left) };
        if let Some(known) = self.known.get(&hash) {
            return *known;
        }
        let found = self.resolve(store);
        self.known.insert(hash, found);
        found
    }

    /// Notes the addresses on a stack, the innermost first; returns a hash of them.
    unsafe fn walk(&mut self, left: &LeavePoint) -> u64 {
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        self.met.clear();
        self.met.push(left.pc);
        let mut hash = (left.pc as u64).wrapping_mul(FACTOR);
        let mut fp = left.fp;
        while fp != 0 && self.met.len() < MAX_FRAMES {
            // SAFETY: `fp` is a link of the chain, so a saved frame pointer and a return
            // address are there.
            let (next, pc) = unsafe { (*(fp as *const usize), *((fp + 8) as *const usize)) };
            self.met.push(pc);
            hash = (hash.rotate_left(23) ^ pc as u64).wrapping_mul(FACTOR);
            fp = match next {
                0 => 0,
                link => link.wrapping_add(left.distance),
            };
        }
        hash
    }

    /// Puts the frames of the functions whose addresses were met into the tree.
    fn resolve(&mut self, store: &Store) -> Option<u32> {
        let mut caller = None;
        for pc in std::mem::take(&mut self.met).into_iter().rev() {
            // Where a call returns to may be after the code.
            let Some((module, offset)) = store.module_at(pc - 1) else { continue };
            let image = module.code.tables();
            let code = image.function_at(offset).map(|number| image.functions[number as usize]);
            let Some(function) = code.and_then(|code| index(code.function)) else { continue };
            let position = module.code.position_at(offset);
            let node = Node { caller, code: module.code.start(), function, position };
            caller = self.number(node).or(caller);
        }
        caller
    }

    fn number(&mut self, node: Node) -> Option<u32> {
        if let Some(number) = self.numbers.get(&node) {
            return Some(*number);
        }
        if self.nodes.len() >= MAX_NODES {
            return None;
        }
        let number = self.nodes.len() as u32;
        self.nodes.push(node);
        self.numbers.insert(node, number);
        Some(number)
    }
}
