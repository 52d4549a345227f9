//! Generates statements of first-class stacks.

use crate::imports::generate::{Generator, Role};
use crate::imports::vocabulary::{self as v, CALLS, EVENTS, STACK_EVENTS, Tag, Ty};
use arbitrary::Result;

use Ty::*;

impl Generator<'_, '_> {
    pub(super) fn stack_new(&mut self) -> Result<String> {
        self.plain(("host", "new_stack"), &[], &[Stack])
    }

    pub(super) fn stack_switch(&mut self) -> Result<String> {
        let drops = self.one_in(4)?;
        let tag = if drops { self.pick(&v::thrown())? } else { self.pick(&STACK_EVENTS)? };
        let mut takes = tag.values.to_vec();
        takes.extend(drops.then_some(Stack));
        let name = if drops { "switch_drop" } else { "switch" };
        let import = self.import("first-class", name, v::each(&takes), vec![]);
        let inner = move |this: &mut Self| this.tagged(&import, &takes, &[], &[], tag, &[]);
        if self.one_in(4)? { inner(self) } else { self.protect(inner) }
    }

    pub(super) fn stack_switch_call(&mut self) -> Result<String> {
        let (arguments, event): (&[Ty], Tag) = self.pick(&[
            (&[][..], EVENTS[0]),
            (&[I32], EVENTS[1]),
            (&[Sub, I64], EVENTS[2]),
            (&[], STACK_EVENTS[0]),
            (&[Obj], STACK_EVENTS[2]),
        ])?;
        let takes = [arguments, &[Stack]].concat();
        let function = self.function(Role::OnTop, &takes, event.values)?;
        let inner = self.on_top("switch_call", "switch_call_trap", takes, function, event, &[])?;
        let inner = move |_: &mut Self| Ok(inner);
        if self.one_in(4)? { inner(self) } else { self.protect(inner) }
    }

    pub(super) fn stack_extend(&mut self) -> Result<String> {
        let (arguments, event): (&[Ty], Tag) = self.pick(&[
            (&[][..], EVENTS[0]),
            (&[I32], EVENTS[1]),
            (&[Obj, I64], EVENTS[2]),
            (&[Stack], STACK_EVENTS[0]),
        ])?;
        let function = self.function(Role::Rout, arguments, event.values)?;
        let takes = [arguments, &[Stack]].concat();
        let call = self.on_top("extend", "extend_trap", takes, function, event, &[Stack])?;
        Ok(format!("{call}\n{}", self.take(Stack)?))
    }

    /// A call that names a function, and perhaps an event.
    pub(super) fn on_top(
        &mut self,
        with_event: &'static str,
        without: &'static str,
        takes: Vec<Ty>,
        function: String,
        event: Tag,
        gives: &[Ty],
    ) -> Result<String> {
        let mut types = v::each(&takes);
        types.push(format!("(ref $type{function})"));
        let result = v::each(gives);
        if self.one_in(3)? {
            let import = self.import("first-class", without, types, result);
            return Ok(format!("{} (ref.func {function}) (call {import})", self.operands(&takes)?));
        }
        let import = self.import("first-class", with_event, types, result);
        self.tagged(&import, &takes, &[function], gives, event, &[])
    }

    pub(super) fn start_anywhere(&mut self) -> Result<String> {
        if self.one_in(6)? { self.stack_start() } else { self.stack_new() }
    }

    pub(super) fn stack_start(&mut self) -> Result<String> {
        self.plain(("first-class", "start"), &[], &[])
    }

    /// `start`, with catches for events.
    pub(in crate::imports) fn protected_start(&mut self) -> Result<String> {
        let marks = self.statements(0..=1)?;
        self.protect(|this| Ok(format!("{marks}\n{}", this.stack_start()?)))
    }

    pub(super) fn enter_answer(&mut self) -> Result<String> {
        let (tag, takes, gives) = self.call_tag()?;
        let function = self.function(Role::Any, &[&[Env], takes].concat(), gives)?;
        let types = vec![Env.text(), format!("(ref $type{function})")];
        let import = self.import("first-class", "enter_answer", types, vec![]);
        self.tagged(&import, &[Env], &[function], &[], tag, &[])
    }

    pub(super) fn call_stack(&mut self) -> Result<String> {
        let (tag, takes, gives) = self.call_tag()?;
        let import = self.import("first-class", "call_stack", v::each(takes), v::each(gives));
        let call = self.tagged(&import, takes, &[], gives, tag, &[])?;
        Ok(format!("{call}\n{}", self.takes(gives)?))
    }

    pub(super) fn call_tag(&mut self) -> Result<(Tag, &'static [Ty], &'static [Ty])> {
        self.pick(&[(CALLS[0], &[][..], &[I32][..]), (CALLS[1], &[I32, Obj], &[Sub])])
    }

    pub(super) fn enter_redirect(&mut self) -> Result<String> {
        let name = self.pick(&["box", "box", "bigbox"])?;
        let types = vec![format!("(ref ${name})")];
        let import = self.import("first-class", "enter_redirect", types, vec![]);
        if self.one_in(3)? {
            return Ok(format!("(call {import} (global.get ${name}))"));
        }
        let stack = self.operand(Stack)?;
        let more = if name == "box" { String::new() } else { self.operand(Obj)? };
        Ok(format!("(call {import} (struct.new ${name} {stack} {more}))"))
    }

    pub(super) fn enter_redirect_to(&mut self) -> Result<String> {
        let gives = self.function(Role::Any, &[Env], &[Stack])?;
        let takes = self.function(Role::Any, &[Env, Stack], &[])?;
        let types = vec![Env.text(), format!("(ref $type{gives})"), format!("(ref $type{takes})")];
        let import = self.import("first-class", "enter_redirect_to", types, vec![]);
        let env = self.operand(Env)?;
        Ok(format!("{env} (ref.func {gives}) (ref.func {takes}) (call {import})"))
    }
}
