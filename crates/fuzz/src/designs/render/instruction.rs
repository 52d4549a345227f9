//! Renders operations that are single instructions, folded with their operands.

use super::Writer;
use super::module::{function_type, wrapper};
use crate::designs::program::{Bag, FirstClass, FunctionId, Local, Op, TagId, Task, Ty, Typed};

impl Writer<'_> {
    pub(super) fn instruction(&self, op: &Op) -> String {
        let get = |local: &Local| self.get(*local);
        let wrapped =
            |name: &str, object: &Local| format!("(ref.cast (ref {name}) {})", get(object));
        let linear = wrapper(Ty::Linear);
        match op {
            Op::Typed(op) => self.typed(op),
            Op::Bag(op) => self.bag(op),
            Op::Task(op) => self.task(op),
            Op::FirstClass(op) => self.first_class(op),
            Op::Const { value, .. } => format!("(i64.const {value})"),
            Op::Mix { a, b, .. } => mixed(&get(a), &get(b)),
            Op::Copy { to, from } => match (self.ty(*from), self.ty(*to)) {
                (Ty::I64, Ty::V128) => format!("(i64x2.splat {})", get(from)),
                (Ty::V128, Ty::I64) => format!("(i64x2.extract_lane 1 {})", get(from)),
                _ => get(from),
            },
            Op::IsNull { from, .. } => extended(&format!("(ref.is_null {})", get(from))),
            Op::Drop { from } => format!("(drop {})", get(from)),
            Op::Log { from } => format!("(call $log {})", get(from)),
            Op::Note { from } => {
                format!("(global.set $digest {})", mixed("(global.get $digest)", &get(from)))
            }
            Op::NewStruct { number, object, .. } => {
                format!("(struct.new $struct {} {})", get(number), get(object))
            }
            Op::NewArray { number, length, .. } => {
                format!("(array.new $array {} (i32.const {length}))", get(number))
            }
            Op::NewI31 { number, .. } => format!("(ref.i31 (i32.wrap_i64 {}))", get(number)),
            Op::Number { object, .. } => format!("(call $number {})", get(object)),
            Op::Wrap { from, .. } => {
                format!("(struct.new {} {})", wrapper(self.ty(*from)), get(from))
            }
            Op::Unwrap { to, object } => {
                let (name, word) = (wrapper(self.ty(*to)), self.read("struct", *to));
                format!("({word} {name} 0 {})", wrapped(&name, object))
            }
            Op::Refill { object, from } => {
                format!(
                    "(struct.set_cleared {linear} 0 {} {})",
                    wrapped(&linear, object),
                    get(from)
                )
            }
            Op::IsCleared { object, .. } => {
                extended(&format!("(struct.is_cleared {linear} 0 {})", wrapped(&linear, object)))
            }
            Op::GlobalGet { to, global } => format!("({} $g{global})", self.read("global", *to)),
            Op::GlobalSet { global, from } => {
                format!("({} $g{global} {})", self.write("global", *from), get(from))
            }
            Op::TableGet { to, table, index } => {
                format!("({} $a{table} (i32.const {index}))", self.read("table", *to))
            }
            Op::TableSet { table, index, from } => {
                let word = self.write("table", *from);
                format!("({word} $a{table} (i32.const {index}) {})", get(from))
            }
            Op::Throw { tag, args } => format!("(throw $e{tag}{})", self.get_all(args)),
            Op::ThrowRef { exn } => format!("(throw_ref {})", get(exn)),
            Op::Return => {
                let results = &self.program.functions[self.function].results;
                format!("(return{})", self.get_all(results))
            }
            Op::Unreachable => "(unreachable)".to_string(),
            Op::Call { function, args, .. } => self.call("call", *function, args),
            Op::ReturnCall { function, args } => self.call("return_call", *function, args),
            Op::Enter { function, argument, swallow, .. } => {
                let (argument, swallow) = (get(argument), i32::from(*swallow));
                format!("(call $enter (i32.const {function}) {argument} (i32.const {swallow}))")
            }
            Op::HostThrow { number } => format!("(call $throw {}) (unreachable)", get(number)),
            Op::HostFail => "(call $fail) (unreachable)".to_string(),
            other => unreachable!("not one instruction: {other:?}"),
        }
    }

    /// The instruction that reads a variable into a local; linear variables have their own.
    fn read(&self, sort: &str, to: Local) -> String {
        let suffix = if self.ty(to) == Ty::Linear { "_clear" } else { "" };
        format!("{sort}.get{suffix}")
    }

    fn write(&self, sort: &str, from: Local) -> String {
        let suffix = if self.ty(from) == Ty::Linear { "_cleared" } else { "" };
        format!("{sort}.set{suffix}")
    }

    /// A call by name, or through the table if the function's module comes later.
    fn call(&self, word: &str, id: FunctionId, args: &[Local]) -> String {
        let (function, args) = (&self.program.functions[id], self.get_all(args));
        match self.is_later(id) {
            false => format!("({word} $fn{id}{args})"),
            true => {
                let ty = function_type(function);
                format!("({word}_indirect $functions{ty}{args} (i32.const {id}))")
            }
        }
    }

    /// Whether the module of a function comes after that of the current one.
    fn is_later(&self, id: FunctionId) -> bool {
        let functions = &self.program.functions;
        functions[id].module > functions[self.function].module
    }

    /// A reference to a function that has a named type.
    fn function_reference(&self, id: FunctionId) -> String {
        match self.program.functions[id].declared {
            Some(ty) if self.is_later(id) => {
                format!("(ref.cast (ref $f{ty}) (table.get $functions (i32.const {id})))")
            }
            _ => format!("(ref.func $fn{id})"),
        }
    }

    /// The operands of an instruction on a stack, which comes last.
    fn with(&self, args: &[Local], stack: Local) -> String {
        format!("{} {}", self.get_all(args), self.get(stack))
    }

    fn typed(&self, op: &Typed) -> String {
        match op {
            Typed::New { ty, function, .. } => {
                format!("(cont.new $c{ty} {})", self.function_reference(*function))
            }
            Typed::Bind { ty, into, args, cont, .. } => {
                format!("(cont.bind $c{ty} $c{into}{})", self.with(args, *cont))
            }
            Typed::Clone { ty, cont, .. } => format!("(cont.clone $c{ty} {})", self.get(*cont)),
            Typed::Suspend { tag, args, .. } => format!("(suspend $e{tag}{})", self.get_all(args)),
            Typed::Switch { ty, tag, args, cont, .. } => {
                format!("(switch $c{ty} $e{tag}{})", self.with(args, *cont))
            }
            Typed::Resume { .. } => unreachable!("it has clauses"),
        }
    }

    fn bag(&self, op: &Bag) -> String {
        match op {
            Bag::New { ty, function, by_reference, .. } => {
                match self.program.functions[*function].declared.filter(|_| *by_reference) {
                    Some(named) => {
                        let reference = self.function_reference(*function);
                        format!("(stack.new_ref $s{ty} $f{named} {reference})")
                    }
                    None => format!("(stack.new $s{ty} $fn{function})"),
                }
            }
            Bag::Bind { ty, into, args, stack, .. } => {
                format!("(stack.bind $s{ty} $s{into}{})", self.with(args, *stack))
            }
            Bag::Clone { ty, stack, .. } => format!("(stack.clone $s{ty} {})", self.get(*stack)),
            Bag::Switch { ty, args, stack, .. } => {
                format!("(switch $s{ty}{})", self.with(args, *stack))
            }
            Bag::Retire { ty, args, stack } => {
                format!("(switch_retire $s{ty}{})", self.with(args, *stack))
            }
            Bag::Throw { ty, tag, args, stack, .. } => {
                format!("(switch_throw $s{ty} $e{tag}{})", self.with(args, *stack))
            }
            Bag::ReturnSwitch { ty, args, stack, function } => {
                format!("(return_switch $s{ty} $fn{function}{})", self.with(args, *stack))
            }
            Bag::ReturnThrow { ty, tag, args, stack, function } => {
                let operands = self.with(args, *stack);
                format!("(return_switch_throw $s{ty} $e{tag} $fn{function}{operands})")
            }
        }
    }

    fn task(&self, op: &Task) -> String {
        let with = |task: &Local, args: &[Local]| self.get(*task) + &self.get_all(args);
        match op {
            Task::New { ty, function, args, .. } => {
                format!("(task.new $t{ty} $fn{function}{})", self.get_all(args))
            }
            Task::Resume { ty, task, args, .. } => {
                format!("(task.resume $t{ty} {})", with(task, args))
            }
            Task::Suspend { ty, task, args, .. } => {
                format!("(task.suspend $t{ty} {})", with(task, args))
            }
            Task::SwitchTo { ty, from, into, target, args, .. } => {
                let (from, operands) = (self.get(*from), with(target, args));
                format!("(task.switchto $t{ty} $t{into} {from} {operands})")
            }
            Task::Retire { ty, task, args } => format!("(task.retire $t{ty} {})", with(task, args)),
            Task::Release { ty, task } => format!("(task.release $t{ty} {})", self.get(*task)),
        }
    }

    fn first_class(&self, op: &FirstClass) -> String {
        let event = |event: &Option<TagId>| event.map_or(String::new(), |tag| format!(" $e{tag}"));
        match op {
            FirstClass::NewStack { .. } => "(call $new_stack)".to_string(),
            FirstClass::Clone { stack, .. } => format!("(stack.clone {})", self.get(*stack)),
            FirstClass::Switch { event, args, stack } => {
                format!("(stack.switch $e{event}{})", self.with(args, *stack))
            }
            FirstClass::SwitchCall { function, event: sent, args, stack } => {
                let operands = self.with(args, *stack);
                format!("(stack.switch_call $fn{function}{}{operands})", event(sent))
            }
            FirstClass::SwitchDrop { event, args, stack } => {
                format!("(stack.switch_drop $e{event}{})", self.with(args, *stack))
            }
            FirstClass::Extend { rout, event: sent, args, stack, .. } => {
                let operands = self.with(args, *stack);
                format!("(stack.extend $fn{rout}{}{operands})", event(sent))
            }
            FirstClass::Start => "(stack.start)".to_string(),
            FirstClass::CallStack { tag, args, .. } => {
                format!("(call_stack $ask{tag}{})", self.get_all(args))
            }
            other => unreachable!("not one instruction: {other:?}"),
        }
    }
}

/// `a * 31 + b`.
fn mixed(a: &str, b: &str) -> String {
    format!("(i64.add (i64.mul {a} (i64.const 31)) {b})")
}

/// A number for a condition.
fn extended(condition: &str) -> String {
    format!("(i64.extend_i32_u {condition})")
}
