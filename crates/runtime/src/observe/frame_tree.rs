//! Where stacks were when something was recorded or sampled: frames in a tree, each of which
//! is in it once.

use crate::stack::TopFrame;
use crate::store::Store;
use ropewalk_abi::code::index;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// How many frames of a stack are kept: the innermost.
const MAX_FRAMES: usize = 64;
/// How many of the outermost are kept too, where they are wanted.
const OUTERMOST: usize = 64;
/// Stands among addresses for those that are left out.
const LEFT_OUT: usize = 0;
/// How many frames there may be in the tree. What comes later has none.
const MAX_NODES: usize = 1 << 20;

/// A frame of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    /// The frame that called it.
    pub caller: Option<u32>,
    /// Where the code of its module begins; 0 if the node stands for frames that are left out.
    pub code: usize,
    pub function: u32,
    pub position: Option<u32>,
}

impl Node {
    /// Whether it stands for frames that are left out, however many.
    pub fn is_left_out(&self) -> bool {
        self.code == LEFT_OUT
    }
}

/// Frames that were seen.
#[derive(Debug, Default)]
pub(crate) struct FrameTree {
    /// Whether stacks are walked to their outermost frames, however deep they are.
    is_whole: bool,
    pub nodes: Vec<Node>,
    numbers: HashMap<Node, u32>,
    /// What a walk has found, by a hash of the addresses that it met. Mostly a stack is
    /// where it, or another of its function, has been before.
    known: HashMap<u64, Option<u32>, BuildHasherDefault<AsItIs>>,
    /// The addresses that a walk meets.
    met: Vec<usize>,
    /// The last of them, if they are many.
    outermost: VecDeque<usize>,
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
    /// A tree that has the outermost frames of deep stacks too.
    pub fn with_outermost() -> FrameTree {
        FrameTree { is_whole: true, ..FrameTree::default() }
    }

    /// The innermost frame of a stack that was left somewhere; none if it has not begun.
    ///
    /// # Safety
    ///
    /// The stack must have been left there, and what lies on it be still there.
    pub unsafe fn of(&mut self, store: &Store, left: &TopFrame) -> Option<u32> {
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
    unsafe fn walk(&mut self, left: &TopFrame) -> u64 {
        self.met.clear();
        self.met.push(left.pc);
        let mut fp = left.fp;
        while fp != 0 && self.met.len() < MAX_FRAMES {
            // SAFETY: `fp` is a link of the chain.
            let (next, pc) = unsafe { link(fp, left) };
            self.met.push(pc);
            fp = next;
        }
        match (fp, self.is_whole) {
            (0, _) => {}
            // SAFETY: as above.
            (_, true) => unsafe { self.walk_outermost(fp, left) },
            (_, false) => self.met.push(LEFT_OUT),
        }
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let hash = |hash: u64, pc: &usize| (hash.rotate_left(23) ^ *pc as u64).wrapping_mul(FACTOR);
        self.met.iter().fold(0, hash)
    }

    /// Notes the last of the addresses from a link of the chain on, and that some are left out
    /// if they are more.
    unsafe fn walk_outermost(&mut self, mut fp: usize, left: &TopFrame) {
        self.outermost.clear();
        let mut is_left_out = false;
        while fp != 0 {
            if self.outermost.len() == OUTERMOST {
                self.outermost.pop_front();
                is_left_out = true;
            }
            // SAFETY: `fp` is a link of the chain.
            let (next, pc) = unsafe { link(fp, left) };
            self.outermost.push_back(pc);
            fp = next;
        }
        self.met.extend(is_left_out.then_some(LEFT_OUT));
        self.met.extend(&self.outermost);
    }

    /// Puts the frames of the functions whose addresses were met into the tree.
    fn resolve(&mut self, store: &Store) -> Option<u32> {
        let mut caller = None;
        for pc in std::mem::take(&mut self.met).into_iter().rev() {
            if pc == LEFT_OUT {
                let node = Node { caller, code: LEFT_OUT, function: 0, position: None };
                caller = self.number(node).or(caller);
                continue;
            }
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

/// The next link of the chain of frame pointers, 0 at its end, and the return address beside
/// this one.
///
/// # Safety
///
/// `fp` must be a link of the chain of a stack that was left there.
unsafe fn link(fp: usize, left: &TopFrame) -> (usize, usize) {
    // SAFETY: the caller's promise: a saved frame pointer and a return address are there.
    let (next, pc) = unsafe { (*(fp as *const usize), *((fp + 8) as *const usize)) };
    let next = if next == 0 { 0 } else { next.wrapping_add(left.distance) };
    (next, pc)
}
