//! Generates statements, which use references. Those of no particular design are here.

mod bag;
mod continuation;
mod fiber;
mod first_class;
mod form;
mod new;
mod task;

use super::generate::{Generator, Role};
use super::vocabulary::{self as v, STACK_EVENTS, Ty};
use arbitrary::Result;

use Ty::*;

type Statement<'a, 'b> = fn(&mut Generator<'a, 'b>) -> Result<String>;

impl<'a, 'b> Generator<'a, 'b> {
    /// All kinds of statements. The first [`BEFORE_START`] are allowed before `start`.
    const KINDS: [Statement<'a, 'b>; 50] = [
        |_| Ok("(nop)".to_string()),
        Self::see_something,
        Self::move_reference,
        |this| this.plain(("first-class", "level"), &[], &[I32]),
        |this| this.plain(("first-class", "leave_to"), &[I32], &[]),
        Self::enter_answer,
        Self::enter_redirect,
        Self::enter_redirect_to,
        |this| this.plain(("first-class", "check_cleared"), &[Stack], &[]),
        Self::conditional,
        // The kinds above are allowed before `start`.
        Self::protected,
        Self::protected,
        Self::protected,
        Self::throw,
        Self::throw_ref,
        Self::call,
        Self::call_indirect,
        Self::host,
        Self::again,
        Self::pass,
        Self::bag_new,
        Self::bag_switch,
        Self::bag_switch,
        Self::bag_retire,
        Self::bag_bind,
        Self::bag_throw,
        Self::bag_return_switch,
        Self::task_new,
        Self::task_resume,
        Self::task_resume,
        Self::task_suspend,
        Self::task_switchto,
        Self::task_end,
        Self::fiber_new,
        Self::fiber_go,
        Self::fiber_go,
        |this| this.plain(("fiber", "release"), &[Fiber], &[]),
        Self::stack_new,
        Self::stack_switch,
        Self::stack_switch,
        Self::stack_switch_call,
        Self::stack_extend,
        Self::stack_extend,
        Self::start_anywhere,
        |this| this.plain(("first-class", "redirect"), &[Exn, Stack], &[]),
        Self::call_stack,
        Self::continuation,
        Self::suspend,
        Self::copy,
        Self::copy,
    ];

    pub fn statement(&mut self) -> Result<String> {
        let last = if self.before_start { BEFORE_START } else { Self::KINDS.len() };
        let mut kind = self.below(last)?;
        // A kind that this module lacks is replaced by the next one that it has.
        for _ in 0..Self::KINDS.len() {
            if self.kinds >> kind & 1 == 1 {
                break;
            }
            kind = (kind + 1) % last;
        }
        Self::KINDS[kind](self)
    }

    /// Copies a stack, of one of the designs that have copies.
    fn copy(&mut self) -> Result<String> {
        let (design, ty) = match self.below(3)? {
            0 => ("cont", Cont(self.below(3)? as u8)),
            1 => ("stack", Bag(self.below(7)? as u8)),
            _ => ("first-class", Stack),
        };
        let gives = match design {
            "first-class" => vec![ty, ty],
            _ => vec![ty],
        };
        self.plain((design, "clone"), &[ty], &gives)
    }

    fn see_something(&mut self) -> Result<String> {
        let ty = self.pick(&[I32, Obj, Sub, Sub])?;
        let (operand, take) = (self.operand(ty)?, self.take(ty)?);
        Ok(format!("{operand} {take}"))
    }

    /// Copies a reference, or drops it.
    fn move_reference(&mut self) -> Result<String> {
        let ty = self.pick(&v::kept())?;
        if ty == Stack && self.one_in(4)? {
            return Ok(format!("(ref.is_null {}) {}", self.operand(ty)?, self.take(I32)?));
        }
        Ok(format!("{} {}", self.operand(ty)?, self.take(ty)?))
    }

    fn conditional(&mut self) -> Result<String> {
        let condition = self.operand(I32)?;
        Ok(format!(
            "(if {condition}\n(then\n{})\n(else\n{}))",
            self.statements(0..=2)?,
            self.statements(0..=2)?
        ))
    }

    /// Statements with catches for exceptions and events.
    fn protected(&mut self) -> Result<String> {
        let inner = |this: &mut Self| this.statements(0..=3);
        self.protect(inner)
    }

    fn protect(&mut self, inner: impl FnOnce(&mut Self) -> Result<String>) -> Result<String> {
        let of = if self.one_in(2)? { v::thrown() } else { STACK_EVENTS.to_vec() };
        let tags = self.some(&of, 3)?;
        let last = self.below(8)?;
        let with_refs = self.one_in(6)?;
        let mut labels = Vec::new();
        let mut catches = String::new();
        for tag in &tags {
            let label = self.fresh("caught");
            let word = if with_refs { "catch_ref" } else { "catch" };
            catches += &format!("({word} {} {label}) ", tag.name);
            let mut values = tag.values.to_vec();
            values.extend(with_refs.then_some(Exn));
            labels.push((label, values));
        }
        if let 1..4 = last {
            let (word, values) =
                if last == 1 { ("catch_all", vec![]) } else { ("catch_all_ref", vec![Exn]) };
            let label = self.fresh("caught");
            catches += &format!("({word} {label})");
            labels.push((label, values));
        }
        let text = format!("(try_table {catches}\n{})", inner(self)?);
        self.with_labels(text, labels.iter().map(|(label, values)| (&**label, values.clone())))
    }

    fn throw(&mut self) -> Result<String> {
        let tag = self.pick(&v::thrown())?;
        Ok(format!("{}\n(throw {})", self.operands(tag.values)?, tag.name))
    }

    fn throw_ref(&mut self) -> Result<String> {
        Ok(format!("(throw_ref (br_on_null $statement {}))", self.operand(Exn)?))
    }

    fn call(&mut self) -> Result<String> {
        let function = self.function(Role::Any, &[], &[])?;
        let word =
            if self.one_in(5)? && self.current.results.is_empty() { "return_call" } else { "call" };
        Ok(match self.one_in(4)? {
            true => format!("(ref.func {function}) ({word}_ref $k0.f)"),
            false => format!("({word} {function})"),
        })
    }

    fn call_indirect(&mut self) -> Result<String> {
        let index = self.below(16)?;
        Ok(format!("(call_indirect $funcs (type $k0.f) (i32.const {index}))"))
    }

    fn host(&mut self) -> Result<String> {
        let name = self.pick(&["$collect", "$collect", "$collect", "$throw", "$fail"])?;
        Ok(format!("(call {name})"))
    }

    fn again(&mut self) -> Result<String> {
        Ok(format!("(call $again (i32.const {}))", self.below(8)?))
    }

    /// Passes a reference to the host and back.
    fn pass(&mut self) -> Result<String> {
        let ty = self.pick(&[Stack, Fiber, Bag(0)])?;
        Ok(format!("(call $pass.{} {}) {}", ty.name(), self.operand(ty)?, self.take(ty)?))
    }
}

/// The number of kinds that are allowed before the `start` of a rout.
const BEFORE_START: usize = 10;
