//! Generates expressions that create stacks.

use crate::imports::generate::{Generator, Role};
use crate::imports::vocabulary::{self as v, EVENTS, Tag, Ty};
use arbitrary::Result;

use Ty::*;

impl Generator<'_, '_> {
    /// An expression that creates a value of a type, if it is a type of stacks.
    pub(in crate::imports) fn new_stack_of(&mut self, ty: Ty) -> Result<Option<String>> {
        Ok(Some(match ty {
            Bag(n) => self.new_bag(n)?,
            Task(n) => self.new_task(n, &[])?,
            Fiber => self.new_fiber(&[])?,
            Stack => self.new_extended()?,
            Cont(n) => self.new_continuation(n)?,
            _ => return Ok(None),
        }))
    }

    pub(super) fn new_bag(&mut self, n: u8) -> Result<String> {
        let function = self.function(Role::Any, &v::bag(n), &[])?;
        let params = vec![format!("(ref null $type{function})")];
        let import = self.import("stack", "new", params, vec![format!("(ref $c{n})")]);
        let operand = match self.one_in(20)? {
            true => format!("(ref.null $type{function})"),
            false => format!("(ref.func {function})"),
        };
        Ok(format!("(call {import} {operand})"))
    }

    pub(super) fn new_task(&mut self, n: u8, arguments: &[Ty]) -> Result<String> {
        let (receives, gives) = v::task(n);
        let takes = [&[Task(n)], &receives[..], arguments].concat();
        let function = self.function(Role::Any, &takes, &gives)?;
        let mut params = v::each(arguments);
        params.push(format!("(ref $type{function})"));
        let import = self.import("task", "new", params, vec![format!("(ref $t{n})")]);
        let operands = self.operands(arguments)?;
        Ok(format!("{operands} (ref.func {function}) (call {import})"))
    }

    pub(super) fn new_fiber(&mut self, arguments: &[Ty]) -> Result<String> {
        let returned = if self.one_in(2)? { Some(self.pick(&EVENTS[..3])?) } else { None };
        let gives = returned.map_or(vec![], |tag| tag.values.to_vec());
        let mut events = self.some(&EVENTS, 2)?;
        if events.is_empty() && !self.one_in(4)? {
            events.push(EVENTS[0]);
        }
        let mut functions = Vec::new();
        let mut types = v::each(arguments);
        for event in &events {
            let takes = [arguments, &[Fiber], event.values].concat();
            let function = self.function(Role::Any, &takes, &gives)?;
            types.push(format!("(ref $type{function})"));
            functions.push(function);
        }
        let name = if returned.is_some() { "new_returning" } else { "new" };
        let import = self.import("fiber", name, types, vec!["(ref $fiber)".to_string()]);
        let tags: Vec<Tag> = returned.into_iter().chain(events).collect();
        let result = "(result (ref $fiber))";
        self.in_try_table(&import, arguments, &functions, result, &tags, &[])
    }

    pub(super) fn new_extended(&mut self) -> Result<String> {
        let new = self.import("host", "new_stack", vec![], vec![Stack.text()]);
        if self.one_in(6)? {
            return Ok(format!("(call {new})"));
        }
        let function = self.function(Role::Rout, &[], &[])?;
        let types = vec![Stack.text(), format!("(ref $type{function})")];
        let import = self.import("first-class", "extend_trap", types, vec![Stack.text()]);
        Ok(format!("(call {new}) (ref.func {function}) (call {import})"))
    }

    pub(super) fn new_continuation(&mut self, n: u8) -> Result<String> {
        let (takes, gives) = v::cont(n);
        let function = self.function(Role::Any, &takes, &gives)?;
        Ok(format!("(cont.new $k{n} (ref.func {function}))"))
    }
}
