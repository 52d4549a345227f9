//! A tree of frames, in which traces and profiles record where stacks were.

use crate::inspect::address_map::AddressMap;
use crate::inspect::links::Links;
use crate::stack::TopFrame;
use crate::store::Store;
use ropewalk_abi::code::index;
use std::collections::{HashMap, VecDeque};

/// How many of the innermost frames of a stack are kept.
const MAX_FRAMES: usize = 64;
/// How many of the outermost frames are kept too, for profiles.
const OUTERMOST: usize = 64;
/// Stands for the addresses that are left out.
const LEFT_OUT: usize = 0;
/// The maximum size of the tree. Further frames are not recorded.
const MAX_NODES: usize = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub caller: Option<u32>,
    /// Where the code of its module begins; 0 for frames that are left out.
    pub code: usize,
    pub function: u32,
    pub position: Option<u32>,
}

impl Node {
    /// Whether it stands for any number of frames that are left out.
    pub fn is_left_out(&self) -> bool {
        self.code == LEFT_OUT
    }
}

#[derive(Debug, Default)]
pub(crate) struct FrameTree {
    /// Whether deep stacks are walked to their outermost frames.
    is_whole: bool,
    pub nodes: Vec<Node>,
    numbers: HashMap<Node, u32>,
    /// The results of earlier walks, by a hash of the addresses, which mostly repeat.
    known: AddressMap<u64, Option<u32>>,
    /// The addresses of the current walk.
    met: Vec<usize>,
    /// The last of them, if there are many.
    outermost: VecDeque<usize>,
}

impl FrameTree {
    /// A tree that has the outermost frames of deep stacks too.
    pub fn with_outermost() -> FrameTree {
        FrameTree { is_whole: true, ..FrameTree::default() }
    }

    /// The innermost frame of a stack; none if it has not begun.
    ///
    /// # Safety
    ///
    /// The stack must have been left at `left`, and its contents be unchanged.
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

    /// Collects the addresses on a stack, innermost first; returns their hash.
    unsafe fn walk(&mut self, left: &TopFrame) -> u64 {
        self.met.clear();
        self.met.push(left.pc);
        // SAFETY: the caller's promise.
        let mut links = unsafe { Links::new(left.fp, left.distance) };
        self.met.extend(links.by_ref().take(MAX_FRAMES - 1).map(|(_, pc)| pc));
        match self.is_whole {
            true => self.collect_outermost(links),
            false if links.is_at_end() => {}
            false => self.met.push(LEFT_OUT),
        }
        const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
        let hash = |hash: u64, pc: &usize| (hash.rotate_left(23) ^ *pc as u64).wrapping_mul(FACTOR);
        self.met.iter().fold(0, hash)
    }

    /// Collects the last addresses of the rest of a chain, and a mark if others are left out.
    fn collect_outermost(&mut self, links: Links) {
        self.outermost.clear();
        let mut is_left_out = false;
        for (_, pc) in links {
            if self.outermost.len() == OUTERMOST {
                self.outermost.pop_front();
                is_left_out = true;
            }
            self.outermost.push_back(pc);
        }
        self.met.extend(is_left_out.then_some(LEFT_OUT));
        self.met.extend(&self.outermost);
    }

    /// Adds the frames of the collected addresses to the tree.
    fn resolve(&mut self, store: &Store) -> Option<u32> {
        let mut caller = None;
        for pc in std::mem::take(&mut self.met).into_iter().rev() {
            if pc == LEFT_OUT {
                let node = Node { caller, code: LEFT_OUT, function: 0, position: None };
                caller = self.number(node).or(caller);
                continue;
            }
            // A return address may be after the code.
            let Some((module, offset, code)) = store.objects.function_at(pc - 1) else { continue };
            let Some(function) = index(code.function) else { continue };
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
        let number = (self.nodes.len() < MAX_NODES).then_some(self.nodes.len() as u32)?;
        self.nodes.push(node);
        self.numbers.insert(node, number);
        Some(number)
    }
}
