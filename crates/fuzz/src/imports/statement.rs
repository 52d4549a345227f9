//! Statements of each design: what a module does with its references.

use super::generate::{Generator, Role};
use super::vocabulary::{
    self as v, EVENTS, STACK_EVENTS, SUSPENSIONS, THROWN, Tag, Ty, params, results,
};
use arbitrary::Result;

use Ty::*;

type Statement<'a, 'b> = fn(&mut Generator<'a, 'b>) -> Result<String>;

impl<'a, 'b> Generator<'a, 'b> {
    /// Every kind of statement; the numbers of those that are allowed before
    /// `start` are in [`BEFORE_START`].
    const KINDS: [Statement<'a, 'b>; 48] = [
        Self::nothing,
        Self::see_something,
        Self::move_reference,
        Self::level,
        Self::leave_to,
        Self::enter_answer,
        Self::enter_redirect,
        Self::enter_redirect_to,
        Self::check_cleared,
        Self::conditional,
        // Those above are allowed before `start`.
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
        Self::fiber_release,
        Self::stack_new,
        Self::stack_switch,
        Self::stack_switch,
        Self::stack_switch_call,
        Self::stack_extend,
        Self::stack_extend,
        Self::start_anywhere,
        Self::stack_redirect,
        Self::call_stack,
        Self::continuation,
        Self::suspend,
    ];

    /// A statement.
    pub fn statement(&mut self) -> Result<String> {
        let last = if self.before_start { BEFORE_START } else { Self::KINDS.len() };
        let mut kind = self.below(last)?;
        // Kinds that this module has not are replaced by the next that it has.
        for _ in 0..Self::KINDS.len() {
            if self.kinds >> kind & 1 == 1 {
                break;
            }
            kind = (kind + 1) % last;
        }
        Self::KINDS[kind](self)
    }

    fn nothing(&mut self) -> Result<String> {
        Ok("(nop)".to_string())
    }

    fn see_something(&mut self) -> Result<String> {
        let ty = self.pick(&[I32, Obj, Sub, Sub])?;
        let (operand, take) = (self.operand(ty)?, self.take(ty)?);
        Ok(format!("{operand} {take}"))
    }

    /// Copies a reference, or drops it.
    fn move_reference(&mut self) -> Result<String> {
        let ty = self.pick(&v::KEPT)?;
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

    // ---- forms

    /// A call in the plain form.
    fn plain(
        &mut self,
        (design, name): (&'static str, &'static str),
        operands: &[Ty],
        gives: &[Ty],
    ) -> Result<String> {
        let types = |types: &[Ty]| types.iter().map(|ty| ty.text()).collect();
        let import = self.import(design, name, types(operands), types(gives));
        Ok(format!("{}\n(call {import})\n{}", self.operands(operands)?, self.takes(gives)?))
    }

    /// A call whose tag, functions and clauses stand in a `try_table`.
    fn tagged(
        &mut self,
        import: &str,
        operands: &[Ty],
        functions: &[String],
        gives: &[Ty],
        tag: Tag,
        clauses: &[(Tag, String)],
    ) -> Result<String> {
        self.in_try_table(import, operands, functions, &results(gives), &[tag], clauses)
    }

    /// The same with any number of tags whose labels are not reached.
    fn in_try_table(
        &mut self,
        import: &str,
        operands: &[Ty],
        functions: &[String],
        gives: &str,
        tags: &[Tag],
        clauses: &[(Tag, String)],
    ) -> Result<String> {
        let (after, takes) = (self.fresh("after"), params(operands));
        let sent: Vec<(Tag, String)> = tags.iter().map(|tag| (*tag, self.fresh("sent"))).collect();
        let catches = sent.iter().chain(clauses);
        let catches = catches.map(|(tag, label)| format!("(catch {} {label})", tag.name));
        let catches = catches.collect::<Vec<_>>().join(" ");
        let functions: Vec<String> = functions.iter().map(|f| format!("(ref.func {f})")).collect();
        let functions = functions.join(" ");
        let mut text = format!(
            "(try_table {takes} {gives} {catches} {functions} (call {import}))\n(br {after})"
        );
        for (tag, label) in &sent {
            let values = results(tag.values);
            text = format!("(block {label} {takes} {values}\n{text})\n(unreachable)");
        }
        let operands = self.operands(operands)?;
        Ok(format!("{operands}\n(block {after} {takes} {gives}\n{text})"))
    }

    /// Something with clauses: what arrives at each is taken, and some more
    /// happens.
    fn with_clauses(
        &mut self,
        tags: &[Tag],
        inner: impl FnOnce(&mut Self, &[(Tag, String)]) -> Result<String>,
    ) -> Result<String> {
        let clauses: Vec<(Tag, String)> =
            tags.iter().map(|tag| (*tag, self.fresh("clause"))).collect();
        let end = self.fresh("end");
        let mut text = format!("{}\n(br {end})", inner(self, &clauses)?);
        for (tag, label) in &clauses {
            let takes = self.takes(tag.values)?;
            let more = self.statements(0..=1)?;
            text = format!(
                "(block {label} {}\n{text})\n{takes}\n{more}\n(br {end})",
                results(tag.values)
            );
        }
        Ok(format!("(block {end}\n{text})"))
    }

    /// Some tags of a list.
    fn some(&mut self, of: &[Tag], most: usize) -> Result<Vec<Tag>> {
        let count = self.below(most + 1)?;
        (0..count).map(|_| self.pick(of)).collect()
    }

    // ---- exceptions and calls

    /// Statements whose exceptions are caught, and events too.
    fn protected(&mut self) -> Result<String> {
        let inner = |this: &mut Self| this.statements(0..=3);
        self.protect(inner)
    }

    fn protect(&mut self, inner: impl FnOnce(&mut Self) -> Result<String>) -> Result<String> {
        let of = if self.one_in(2)? { v::thrown() } else { STACK_EVENTS.to_vec() };
        let tags = self.some(&of, 3)?;
        let last = self.below(8)?;
        let with_refs = self.one_in(6)?;
        let end = self.fresh("end");
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
        match last {
            0 => {}
            1 => {
                let label = self.fresh("caught");
                catches += &format!("(catch_all {label})");
                labels.push((label, vec![]));
            }
            2 | 3 => {
                let label = self.fresh("caught");
                catches += &format!("(catch_all_ref {label})");
                labels.push((label, vec![Exn]));
            }
            _ => {}
        }
        let mut text = format!("(try_table {catches}\n{})\n(br {end})", inner(self)?);
        for (label, values) in labels {
            let takes = self.takes(&values)?;
            let more = self.statements(0..=1)?;
            text = format!(
                "(block {label} {}\n{text})\n{takes}\n{more}\n(br {end})",
                results(&values)
            );
        }
        Ok(format!("(block {end}\n{text})"))
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

    // ---- the host

    fn host(&mut self) -> Result<String> {
        let name = self.pick(&["$collect", "$collect", "$collect", "$throw", "$fail"])?;
        Ok(format!("(call {name})"))
    }

    fn again(&mut self) -> Result<String> {
        Ok(format!("(call $again (i32.const {}))", self.below(8)?))
    }

    /// Lets the host have a reference, and gets it back.
    fn pass(&mut self) -> Result<String> {
        let ty = self.pick(&[Stack, Fiber, Bag(0)])?;
        Ok(format!("(call $pass.{} {}) {}", ty.name(), self.operand(ty)?, self.take(ty)?))
    }

    // ---- new stacks, as expressions

    /// An expression that makes something new of a type, if it is one of stacks.
    pub fn new_stack_of(&mut self, ty: Ty) -> Result<Option<String>> {
        Ok(Some(match ty {
            Bag(n) => self.new_bag(n)?,
            Task(n) => self.new_task(n, &[])?,
            Fiber => self.new_fiber(&[])?,
            Stack => self.new_extended()?,
            Cont(n) => self.new_continuation(n)?,
            _ => return Ok(None),
        }))
    }

    fn new_bag(&mut self, n: u8) -> Result<String> {
        let function = self.function(Role::Any, &v::bag(n), &[])?;
        let params = vec![format!("(ref null $type{function})")];
        let import = self.import("stack", "new", params, vec![format!("(ref $c{n})")]);
        let operand = match self.one_in(20)? {
            true => format!("(ref.null $type{function})"),
            false => format!("(ref.func {function})"),
        };
        Ok(format!("(call {import} {operand})"))
    }

    fn new_task(&mut self, n: u8, arguments: &[Ty]) -> Result<String> {
        let (receives, gives) = v::task(n);
        let takes = [&[Task(n)], &receives[..], arguments].concat();
        let function = self.function(Role::Any, &takes, &gives)?;
        let mut params: Vec<String> = arguments.iter().map(|ty| ty.text()).collect();
        params.push(format!("(ref $type{function})"));
        let import = self.import("task", "new", params, vec![format!("(ref $t{n})")]);
        let operands = self.operands(arguments)?;
        Ok(format!("{operands} (ref.func {function}) (call {import})"))
    }

    fn new_fiber(&mut self, arguments: &[Ty]) -> Result<String> {
        let returned = if self.one_in(2)? { Some(self.pick(&EVENTS[..3])?) } else { None };
        let gives = returned.map_or(vec![], |tag| tag.values.to_vec());
        let mut events = self.some(&EVENTS, 2)?;
        if events.is_empty() && !self.one_in(4)? {
            events.push(EVENTS[0]);
        }
        let mut functions = Vec::new();
        let mut types: Vec<String> = arguments.iter().map(|ty| ty.text()).collect();
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

    fn new_extended(&mut self) -> Result<String> {
        let new = self.import("first-class", "new_stack", vec![], vec![Stack.text()]);
        if self.one_in(6)? {
            return Ok(format!("(call {new})"));
        }
        let function = self.function(Role::Rout, &[], &[])?;
        let types = vec![Stack.text(), format!("(ref $type{function})")];
        let import = self.import("first-class", "extend_trap", types, vec![Stack.text()]);
        Ok(format!("(call {new}) (ref.func {function}) (call {import})"))
    }

    fn new_continuation(&mut self, n: u8) -> Result<String> {
        let (takes, gives) = v::cont(n);
        let function = self.function(Role::Any, &takes, &gives)?;
        Ok(format!("(cont.new $k{n} (ref.func {function}))"))
    }

    // ---- bag of stacks

    fn bag_new(&mut self) -> Result<String> {
        let n = self.below(7)? as u8;
        Ok(format!("{} {}", self.new_bag(n)?, self.take(Bag(n))?))
    }

    /// What a switch to a stack of a type gives, and what it takes beside the
    /// stack.
    fn bag_types(&mut self) -> Result<(u8, Vec<Ty>, Vec<Ty>)> {
        let n = self.below(7)? as u8;
        let mut takes = v::bag(n);
        let Some(Bag(left)) = takes.pop() else { return Ok((n, vec![], vec![])) };
        Ok((n, takes, v::bag(left)))
    }

    fn bag_switch(&mut self) -> Result<String> {
        let (n, mut takes, gives) = self.bag_types()?;
        takes.push(Bag(n));
        self.plain(("stack", "switch"), &takes, &gives)
    }

    fn bag_retire(&mut self) -> Result<String> {
        let (n, mut takes, _) = self.bag_types()?;
        takes.push(Bag(n));
        self.plain(("stack", "switch_retire"), &takes, &[])
    }

    fn bag_bind(&mut self) -> Result<String> {
        let (takes, n): (&[Ty], _) = self.pick(&[
            (&[I32, Bag(1)][..], 3),
            (&[Sub, Bag(2)], 4),
            (&[Bag(0)], 0),
            (&[Bag(1)], 1),
            (&[Bag(6)], 5),
            (&[Bag(2)], 2),
        ])?;
        let params = takes.iter().map(|ty| ty.text()).collect();
        let import = self.import("stack", "bind", params, vec![format!("(ref $c{n})")]);
        Ok(format!("{}\n(call {import}) {}", self.operands(takes)?, self.take(Bag(n))?))
    }

    /// A tag for `switch_throw`, and the stacks that it can be thrown at.
    fn bag_thrown(&mut self) -> Result<(Tag, Vec<Ty>, Vec<Ty>)> {
        let (tag, targets): (usize, &[u8]) =
            self.pick(&[(0, &[0][..]), (1, &[1, 3]), (2, &[5, 6])])?;
        let n = self.pick(targets)?;
        let Some(Bag(left)) = v::bag(n).pop() else { return Ok((THROWN[tag], vec![], vec![])) };
        let tag = THROWN[tag];
        let mut takes = tag.values[..tag.values.len() - 1].to_vec();
        takes.push(Bag(n));
        Ok((tag, takes, v::bag(left)))
    }

    fn bag_throw(&mut self) -> Result<String> {
        let (tag, takes, gives) = self.bag_thrown()?;
        let types = |types: &[Ty]| types.iter().map(|ty| ty.text()).collect();
        let import = self.import("stack", "switch_throw", types(&takes), types(&gives));
        let call = self.tagged(&import, &takes, &[], &gives, tag, &[])?;
        Ok(format!("{call}\n{}", self.takes(&gives)?))
    }

    fn bag_return_switch(&mut self) -> Result<String> {
        let (n, mut takes, gives) = self.bag_types()?;
        takes.push(Bag(n));
        let types = |types: &[Ty]| types.iter().map(|ty| ty.text()).collect();
        let gone_on = self.current.results.clone();
        let next = self.function(Role::Any, &gives, &gone_on)?;
        let import = self.import("stack", "return_switch", types(&takes), types(&gives));
        Ok(format!("{}\n(call {import})\n(return_call {next})", self.operands(&takes)?))
    }

    // ---- tasks

    fn task_new(&mut self) -> Result<String> {
        let n = self.below(6)? as u8;
        let arguments: &[Ty] = self.pick(&[&[][..], &[], &[I32], &[Sub, I64, I64, V128, Obj]])?;
        Ok(format!("{} {}", self.new_task(n, arguments)?, self.take(Task(n))?))
    }

    fn task_resume(&mut self) -> Result<String> {
        let n = self.below(6)? as u8;
        let (receives, gives) = v::task(n);
        self.plain(("task", "resume"), &[&[Task(n)], &receives[..]].concat(), &gives)
    }

    /// The number of a type, most often that of the task that runs this.
    fn own_task(&mut self) -> Result<u8> {
        Ok(match self.current.params.first().copied() {
            Some(Task(n)) if !self.one_in(4)? => n,
            _ => self.below(6)? as u8,
        })
    }

    fn task_suspend(&mut self) -> Result<String> {
        let n = self.own_task()?;
        let (receives, gives) = v::task(n);
        self.plain(("task", "suspend"), &[&[Task(n)], &gives[..]].concat(), &receives)
    }

    fn task_switchto(&mut self) -> Result<String> {
        let n = self.own_task()?;
        let to = if n == 4 && self.one_in(2)? { 5 } else { n };
        let takes = [&[Task(n), Task(to)], &v::task(to).0[..]].concat();
        self.plain(("task", "switchto"), &takes, &v::task(n).0)
    }

    fn task_end(&mut self) -> Result<String> {
        let n = self.own_task()?;
        match self.one_in(2)? {
            true => {
                let takes = [&[Task(n)], &v::task(n).1[..]].concat();
                self.plain(("task", "retire"), &takes, &[])
            }
            false => self.plain(("task", "release"), &[Task(n)], &[]),
        }
    }

    // ---- fibers

    fn fiber_new(&mut self) -> Result<String> {
        let arguments: &[Ty] = self.pick(&[&[][..], &[], &[Sub, I64]])?;
        Ok(format!("{}\n{}", self.new_fiber(arguments)?, self.take(Fiber)?))
    }

    fn fiber_go(&mut self) -> Result<String> {
        let (name, fibers) = self.pick(&[
            ("mount", 1),
            ("mount", 1),
            ("dismount", 1),
            ("dismount", 1),
            ("switch", 2),
            ("dismount_release", 1),
            ("switch_release", 2),
        ])?;
        let event = self.pick(&EVENTS)?;
        let takes = [event.values, &vec![Fiber; fibers]].concat();
        let types = takes.iter().map(|ty| ty.text()).collect();
        let import = self.import("fiber", name, types, vec![]);
        let most = if name.ends_with("release") { 0 } else { 3 };
        let tags = self.some(&EVENTS, most)?;
        self.with_clauses(&tags, |this, clauses| {
            this.tagged(&import, &takes, &[], &[], event, clauses)
        })
    }

    fn fiber_release(&mut self) -> Result<String> {
        self.plain(("fiber", "release"), &[Fiber], &[])
    }

    // ---- first-class stacks

    fn stack_new(&mut self) -> Result<String> {
        self.plain(("first-class", "new_stack"), &[], &[Stack])
    }

    fn stack_switch(&mut self) -> Result<String> {
        let drops = self.one_in(4)?;
        let tag = if drops { self.pick(&v::thrown())? } else { self.pick(&STACK_EVENTS)? };
        let mut takes = tag.values.to_vec();
        takes.extend(drops.then_some(Stack));
        let name = if drops { "switch_drop" } else { "switch" };
        let import =
            self.import("first-class", name, takes.iter().map(|ty| ty.text()).collect(), vec![]);
        let inner = move |this: &mut Self| this.tagged(&import, &takes, &[], &[], tag, &[]);
        if self.one_in(4)? { inner(self) } else { self.protect(inner) }
    }

    fn stack_switch_call(&mut self) -> Result<String> {
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

    fn stack_extend(&mut self) -> Result<String> {
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
    fn on_top(
        &mut self,
        with_event: &'static str,
        without: &'static str,
        takes: Vec<Ty>,
        function: String,
        event: Tag,
        gives: &[Ty],
    ) -> Result<String> {
        let mut types: Vec<String> = takes.iter().map(|ty| ty.text()).collect();
        types.push(format!("(ref $type{function})"));
        let result = gives.iter().map(|ty| ty.text()).collect();
        if self.one_in(3)? {
            let import = self.import("first-class", without, types, result);
            return Ok(format!("{} (ref.func {function}) (call {import})", self.operands(&takes)?));
        }
        let import = self.import("first-class", with_event, types, result);
        self.tagged(&import, &takes, &[function], gives, event, &[])
    }

    fn start_anywhere(&mut self) -> Result<String> {
        if self.one_in(6)? { self.stack_start() } else { self.stack_new() }
    }

    fn stack_start(&mut self) -> Result<String> {
        self.plain(("first-class", "start"), &[], &[])
    }

    /// `start`, and what arrives there.
    pub fn protected_start(&mut self) -> Result<String> {
        let marks = self.statements(0..=1)?;
        self.protect(|this| Ok(format!("{marks}\n{}", this.stack_start()?)))
    }

    fn check_cleared(&mut self) -> Result<String> {
        self.plain(("first-class", "check_cleared"), &[Stack], &[])
    }

    fn stack_redirect(&mut self) -> Result<String> {
        self.plain(("first-class", "redirect"), &[Exn, Stack], &[])
    }

    fn level(&mut self) -> Result<String> {
        self.plain(("first-class", "level"), &[], &[I32])
    }

    fn leave_to(&mut self) -> Result<String> {
        self.plain(("first-class", "leave_to"), &[I32], &[])
    }

    fn enter_answer(&mut self) -> Result<String> {
        let (tag, takes, gives) = self.call_tag()?;
        let function = self.function(Role::Any, &[&[Env], takes].concat(), gives)?;
        let types = vec![Env.text(), format!("(ref $type{function})")];
        let import = self.import("first-class", "enter_answer", types, vec![]);
        self.ask(&import, tag, &[Env], &[function], &[])
    }

    fn call_stack(&mut self) -> Result<String> {
        let (tag, takes, gives) = self.call_tag()?;
        let types = |types: &[Ty]| types.iter().map(|ty| ty.text()).collect();
        let import = self.import("first-class", "call_stack", types(takes), types(gives));
        let call = self.ask(&import, tag, takes, &[], gives)?;
        Ok(format!("{call}\n{}", self.takes(gives)?))
    }

    fn call_tag(&mut self) -> Result<(usize, &'static [Ty], &'static [Ty])> {
        self.pick(&[(0, &[][..], &[I32][..]), (1, &[I32, Obj], &[Sub])])
    }

    /// As [`Generator::tagged`], with a call tag, whose value is a function.
    fn ask(
        &mut self,
        import: &str,
        tag: usize,
        takes: &[Ty],
        functions: &[String],
        gives: &[Ty],
    ) -> Result<String> {
        let (after, sent) = (self.fresh("after"), self.fresh("sent"));
        let functions: Vec<String> = functions.iter().map(|f| format!("(ref.func {f})")).collect();
        let (operands, takes, gives) = (self.operands(takes)?, params(takes), results(gives));
        Ok(format!(
            "{operands}\n(block {after} {takes} {gives}\n\
             (block {sent} {takes} (result (ref null $ask{tag}))\n\
             (try_table {takes} {gives} (catch $ct{tag} {sent}) {} (call {import}))\n\
             (br {after}))\n(unreachable))",
            functions.join(" ")
        ))
    }

    fn enter_redirect(&mut self) -> Result<String> {
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

    fn enter_redirect_to(&mut self) -> Result<String> {
        let gives = self.function(Role::Any, &[Env], &[Stack])?;
        let takes = self.function(Role::Any, &[Env, Stack], &[])?;
        let types = vec![Env.text(), format!("(ref $type{gives})"), format!("(ref $type{takes})")];
        let import = self.import("first-class", "enter_redirect_to", types, vec![]);
        let env = self.operand(Env)?;
        Ok(format!("{env} (ref.func {gives}) (ref.func {takes}) (call {import})"))
    }

    // ---- typed continuations

    fn continuation(&mut self) -> Result<String> {
        let n = self.below(3)? as u8;
        let (takes, gives) = v::cont(n);
        Ok(match self.below(5)? {
            0 | 1 => {
                format!("{} {}", self.new_continuation(n)?, self.take(Cont(n))?)
            }
            4 if n == 1 => format!(
                "(cont.bind $k1 $r01 {} {}) (drop)",
                self.operand(I32)?,
                self.operand(Cont(1))?
            ),
            4 if n == 2 => {
                format!("(switch $k2 $z {}) {}", self.operand(Cont(2))?, self.take(Cont(2))?)
            }
            _ => self.resume(n, &takes, &gives)?,
        })
    }

    /// Resumes a continuation, with a handler for each tag that it is likely
    /// to suspend with.
    fn resume(&mut self, n: u8, takes: &[Ty], gives: &[Ty]) -> Result<String> {
        let end = self.fresh("end");
        let mut clauses = String::new();
        let mut labels = Vec::new();
        for (i, (name, ..)) in SUSPENSIONS.iter().enumerate() {
            if self.one_in(3)? {
                continue;
            }
            let label = self.fresh("handler");
            clauses += &format!("(on {name} {label}) ");
            labels.push((label, i));
        }
        if gives.is_empty() && self.one_in(3)? {
            clauses += "(on $z switch)";
        }
        let operands = self.operands(takes)?;
        let continuation = self.operand(Cont(n))?;
        let taken = self.takes(gives)?;
        let mut text =
            format!("{operands}\n{continuation}\n(resume $k{n} {clauses})\n{taken}\n(br {end})");
        for (label, i) in labels {
            let (_, sent, back) = SUSPENSIONS[i];
            // The rest of the computation takes what comes back; it is kept if
            // its type is one that has a place.
            let kept = back.is_empty() && gives.is_empty();
            let take = if kept { self.take(Cont(0))? } else { "(drop)".to_string() };
            let rest = match (i, n) {
                (0, 0 | 2) => "(ref $k0)".to_string(),
                (0, _) => "(ref $r01)".to_string(),
                (_, 0 | 2) => "(ref $r10)".to_string(),
                _ => "(ref $r11)".to_string(),
            };
            let takes = self.takes(sent)?;
            text = format!(
                "(block {label} (result {} {rest})\n{text})\n{take}\n{takes}\n(br {end})",
                v::texts(sent)
            );
        }
        Ok(format!("(block {end}\n{text})"))
    }

    fn suspend(&mut self) -> Result<String> {
        let (name, sent, back) = self.pick(&SUSPENSIONS)?;
        Ok(format!("{}\n(suspend {name})\n{}", self.operands(sent)?, self.takes(back)?))
    }
}

/// How many of the kinds are allowed before the `start` of a rout.
const BEFORE_START: usize = 10;
