//! Generates statements of the bag of stacks.

use crate::imports::generate::{Generator, Role};
use crate::imports::vocabulary::{self as v, THROWN, Tag, Ty};
use arbitrary::Result;

use Ty::*;

impl Generator<'_, '_> {
    pub(super) fn bag_new(&mut self) -> Result<String> {
        let n = self.below(7)? as u8;
        Ok(format!("{} {}", self.new_bag(n)?, self.take(Bag(n))?))
    }

    /// The values that a switch to a stack gives, and that it takes besides the stack.
    pub(super) fn bag_types(&mut self) -> Result<(u8, Vec<Ty>, Vec<Ty>)> {
        let n = self.below(7)? as u8;
        let mut takes = v::bag(n);
        let Some(Bag(left)) = takes.pop() else { return Ok((n, vec![], vec![])) };
        Ok((n, takes, v::bag(left)))
    }

    pub(super) fn bag_switch(&mut self) -> Result<String> {
        let (n, mut takes, gives) = self.bag_types()?;
        takes.push(Bag(n));
        self.plain(("stack", "switch"), &takes, &gives)
    }

    pub(super) fn bag_retire(&mut self) -> Result<String> {
        let (n, mut takes, _) = self.bag_types()?;
        takes.push(Bag(n));
        self.plain(("stack", "switch_retire"), &takes, &[])
    }

    pub(super) fn bag_bind(&mut self) -> Result<String> {
        let (takes, n): (&[Ty], _) = self.pick(&[
            (&[I32, Bag(1)][..], 3),
            (&[Sub, Bag(2)], 4),
            (&[Bag(0)], 0),
            (&[Bag(1)], 1),
            (&[Bag(6)], 5),
            (&[Bag(2)], 2),
        ])?;
        let import = self.import("stack", "bind", v::each(takes), vec![format!("(ref $c{n})")]);
        Ok(format!("{}\n(call {import}) {}", self.operands(takes)?, self.take(Bag(n))?))
    }

    /// A tag for `switch_throw`, and the stacks that accept it.
    pub(super) fn bag_thrown(&mut self) -> Result<(Tag, Vec<Ty>, Vec<Ty>)> {
        let (tag, targets): (usize, &[u8]) =
            self.pick(&[(0, &[0][..]), (1, &[1, 3]), (2, &[5, 6])])?;
        let n = self.pick(targets)?;
        let Some(Bag(left)) = v::bag(n).pop() else { return Ok((THROWN[tag], vec![], vec![])) };
        let tag = THROWN[tag];
        let mut takes = tag.values[..tag.values.len() - 1].to_vec();
        takes.push(Bag(n));
        Ok((tag, takes, v::bag(left)))
    }

    pub(super) fn bag_throw(&mut self) -> Result<String> {
        let (tag, takes, gives) = self.bag_thrown()?;
        let import = self.import("stack", "switch_throw", v::each(&takes), v::each(&gives));
        let call = self.tagged(&import, &takes, &[], &gives, tag, &[])?;
        Ok(format!("{call}\n{}", self.takes(&gives)?))
    }

    pub(super) fn bag_return_switch(&mut self) -> Result<String> {
        let (n, mut takes, gives) = self.bag_types()?;
        takes.push(Bag(n));
        let gone_on = self.current.results.clone();
        let next = self.function(Role::Any, &gives, &gone_on)?;
        let import = self.import("stack", "return_switch", v::each(&takes), v::each(&gives));
        Ok(format!("{}\n(call {import})\n(return_call {next})", self.operands(&takes)?))
    }
}
