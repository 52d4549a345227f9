//! Lowers a function with first-class stacks.

use std::collections::HashMap;

use crate::dialect::definitions::Header;
use crate::dialect::lower::{Closure, Lowering, Pieces};
use crate::dialect::source::{Instruction, Node, Signature, ValKind, ValType, row};
use crate::error::{Error, Result};

use super::locals::{Local, Locals};
use super::shape::{Block, BlockKind, Shape, Step, StepKind};
use super::{
    STACKREF, fields, has_two_nulls, initialization, is_place_word, is_stackref, linear, null,
    rout, stackref,
};

/// Lowers the body of a function or a rout. An import has none.
pub(super) fn lower(lowering: &mut Lowering<'_, '_>, list: Node) -> Result<()> {
    let tree = lowering.tree;
    let header = Header::read(tree, list)?;
    let is_import = |node: Node| tree.head(node) == Some("import");
    if tree.between(list + 2, header.next).any(is_import) {
        return Ok(());
    }
    let mut locals = Locals::read(lowering, list)?;
    let end = tree.last(list);
    let shape = Shape::read(tree, header.body(tree, list), end)?;
    rout::check(tree, &shape, list)?;
    locals.survey(tree, &shape);
    initialization::check(tree, &shape, &locals)?;
    let name = header.name.map_or("func".into(), |name| name.key());
    let mut function = Function {
        lowering,
        shape: &shape,
        locals,
        environment: None,
        level: String::new(),
        closures: vec![None; shape.parts.len()],
        temporaries: HashMap::new(),
        at: tree.start(list + 1),
    };
    function.begin(&name)?;
    for step in &shape.steps {
        function.step(step)?;
    }
    let exit = function.exit(0, false);
    lowering.edits.insert(tree.start(end), Pieces::text(exit, tree.start(end)));
    Ok(())
}

/// A function while it is lowered.
pub(super) struct Function<'f, 'a, 'm> {
    pub lowering: &'f mut Lowering<'a, 'm>,
    pub shape: &'f Shape<'a>,
    pub locals: Locals<'a>,
    environment: Option<Environment>,
    /// The local that holds the number of marks at the start of its part.
    level: String,
    /// The function that each part becomes.
    closures: Vec<Option<ClosureName>>,
    /// Temporary locals, by part, purpose and type.
    temporaries: HashMap<(usize, String), String>,
    at: usize,
}

/// The struct with the locals that parts use, and the local that refers to it.
#[derive(Debug, Clone)]
pub(super) struct Environment {
    pub ty: String,
    pub local: String,
}

/// The function that a part became, and its type.
#[derive(Debug, Clone)]
pub(super) struct ClosureName {
    pub function: String,
    pub ty: String,
}

/// A field of a struct that stores a local.
#[derive(Debug)]
pub(super) struct StoredLocal {
    pub object: String,
    pub field: String,
}

impl StoredLocal {
    pub fn get(&self) -> String {
        format!("(struct.get {} {})", self.field, self.object)
    }

    pub fn set(&self, value: &str) -> String {
        format!("(struct.set {} {} {value})", self.field, self.object)
    }
}

impl<'a> Function<'_, 'a, '_> {
    /// Creates the boxes and the environment, and the functions that parts become.
    fn begin(&mut self, name: &str) -> Result<()> {
        let (shape, at) = (self.shape, self.at);
        if shape.parts.iter().any(|part| part.has_marks) {
            self.level = self.lowering.label("level");
        }
        if shape.parts[0].has_marks {
            self.lowering.named_local(&self.level, "i32", at);
            let level = self.set_level(0);
            self.lowering.prologue(Pieces::text(level, at));
        }
        self.make_boxes()?;
        if shape.parts.len() > 1 {
            self.make_environment(name);
        }
        for block in &shape.blocks {
            self.make_closures(block, name)?;
        }
        Ok(())
    }

    /// The start of a part that leaves marks: it saves the number of marks.
    fn set_level(&mut self, part: usize) -> String {
        if !self.shape.parts[part].has_marks {
            return String::new();
        }
        let primitive = self.lowering.primitive("first-class", "level", " (result i32)", self.at);
        format!(" (local.set {} (call {primitive}))", self.level)
    }

    fn make_boxes(&mut self) -> Result<()> {
        for block in self.shape.blocks.iter().filter(|block| block.kind == BlockKind::Redirect) {
            if let Some(name) = block.index {
                self.locals.stackref(name.text, name.at, "stack.redirect")?;
            }
        }
        let boxed: Vec<usize> =
            (0..self.locals.all.len()).filter(|&n| self.locals.all[n].is_boxed).collect();
        for number in boxed {
            let ty = self.box_type();
            let index = self.locals.all[number].index.clone();
            let wish = format!("{}.box", index.trim_start_matches('$').trim_matches('"'));
            let name = self.lowering.local(&wish, &format!("(ref {ty})"), self.at);
            let made = format!(" (local.set {name} (struct.new {ty} (local.get {index})))");
            self.lowering.prologue(Pieces::text(made, self.at));
            self.clear_param(number);
            self.own(&ty, &name);
            self.locals.all[number].box_local = name;
        }
        Ok(())
    }

    /// Clears a parameter whose stackref was moved.
    fn clear_param(&mut self, number: usize) {
        let local = &self.locals.all[number];
        if local.is_param && is_stackref(local.ty) {
            let null = null(self.lowering);
            let clear = format!(" (local.set {} {null})", local.index);
            self.lowering.prologue(Pieces::text(clear, self.at));
        }
    }

    /// Makes the function own a struct: the stacks in it end with the function, and a copy of the
    /// function's stack gets a copy of it.
    fn own(&mut self, ty: &str, local: &str) {
        let param = format!(" (param (ref {ty}))");
        let primitive = self.lowering.primitive("first-class", "own", &param, self.at);
        let own = format!(" (call {primitive} (local.get {local}))");
        self.lowering.prologue(Pieces::text(own, self.at));
    }

    /// The struct that stores a local that `stack.redirect` names.
    fn box_type(&mut self) -> String {
        let definition = format!("(struct (field (mut {})))", stackref(self.lowering));
        self.lowering.standard_type("stackref.box", &definition, self.at)
    }

    fn make_environment(&mut self, name: &str) {
        let ty = self.lowering.names.fresh(&format!("{name}.env"));
        let box_type = self.locals.all.iter().any(|local| local.is_boxed).then(|| self.box_type());
        let (mut fields, mut values) = (String::new(), String::new());
        let captured: Vec<usize> =
            (0..self.locals.all.len()).filter(|&n| self.locals.all[n].is_captured).collect();
        for &number in &captured {
            let local = &self.locals.all[number];
            let name = if local.index.starts_with('$') { local.index.as_str() } else { "" };
            match &box_type {
                Some(ty) if local.is_boxed => {
                    fields += &format!(" (field {name} (ref {ty}))");
                    values += &format!(" (local.get {})", local.box_local);
                }
                _ => {
                    fields += &format!(" (field {name} (mut {}))", local.field_type(self.lowering));
                    values += &format!(" {}", local.first_value(self.lowering));
                }
            }
        }
        self.lowering.back.push(format!("\n  (type {ty} (struct{fields}))"), self.at);
        let local = self.lowering.label("env");
        self.lowering.named_local(&local, &format!("(ref {ty})"), self.at);
        let made = format!(" (local.set {local} (struct.new {ty}{values}))");
        self.lowering.prologue(Pieces::text(made, self.at));
        // Also without stacks: a copy of the function's stack has locals of its own.
        if !captured.is_empty() {
            self.own(&ty, &local);
        }
        for number in captured {
            if !self.locals.all[number].is_boxed {
                self.clear_param(number);
            }
        }
        self.environment = Some(Environment { ty, local });
    }

    pub fn environment(&self) -> Environment {
        let none = || Environment { ty: String::new(), local: String::new() };
        self.environment.clone().unwrap_or_else(none)
    }

    /// Turns the parts of a block into functions.
    fn make_closures(&mut self, block: &Block<'a>, name: &str) -> Result<()> {
        match (block.kind, &block.parts[..]) {
            (BlockKind::Answer, &[part]) => {
                let Some(tag) = block.index else { return Ok(()) };
                let module = self.lowering.module;
                let Signature { params, results } =
                    module.signature(fields::call_tag(module, tag)?)?;
                self.make_closure(part, &format!("{name}.answer"), params, results);
            }
            (BlockKind::RedirectTo, &[target, back]) => {
                let at = self.lowering.tree.start(block.keyword);
                let stack = [ValType { kind: ValKind::Word(STACKREF), at }];
                self.make_closure(target, &format!("{name}.target"), &[], &stack);
                self.make_closure(back, &format!("{name}.back"), &stack, &[]);
            }
            _ => {}
        }
        Ok(())
    }

    /// `(func $name (type $name.type) (param $env (ref $env)) (param ..) (result ..)`; it begins by
    /// pushing its parameters.
    fn make_closure(
        &mut self,
        part: usize,
        wish: &str,
        params: &[ValType<'a>],
        results: &[ValType<'a>],
    ) {
        let range = self.shape.parts[part].range.clone();
        let at = range.start;
        let function = self.lowering.names.fresh(wish);
        let ty = self.lowering.names.fresh(&format!("{wish}.type"));
        let environment = self.environment();
        let (env, local) = (&environment.ty, &environment.local);
        let rest = self.lowering.signature(params, results);
        let definition = format!("\n  (type {ty} (func (param (ref {env})){rest}))");
        self.lowering.back.push(definition, at);
        let head = format!("(func {function} (type {ty}) (param {local} (ref {env})){rest}");
        let has_level = self.shape.parts[part].has_marks;
        let locals = if has_level { format!(" (local {} i32)", self.level) } else { String::new() };
        let prologue = self.set_level(part) + &self.push_params(params);
        self.lowering.closure(Closure {
            range,
            head: Pieces::text(head, at),
            locals: Pieces::text(locals, at),
            prologue: Pieces::text(prologue, at),
            note: format!(
                "type mismatch: this code starts with `{}` on the stack and must end with `{}`",
                row(params),
                row(results)
            ),
        });
        self.closures[part] = Some(ClosureName { function, ty });
    }

    /// Pushes the parameters of a part, which follow the environment.
    fn push_params(&self, params: &[ValType<'a>]) -> String {
        let null = null(self.lowering);
        let push = |(number, ty): (usize, &ValType<'a>)| match is_stackref(*ty) {
            true => format!(" (local.get {number}) (local.set {number} {null})"),
            false => format!(" (local.get {number})"),
        };
        (1..).zip(params).map(push).collect()
    }

    pub fn closure(&self, part: usize) -> ClosureName {
        let none = || ClosureName { function: String::new(), ty: String::new() };
        self.closures[part].clone().unwrap_or_else(none)
    }

    /// The field that stores a local, if it is not a plain local.
    pub fn stored_local(&self, local: &Local<'a>, part: usize) -> Option<StoredLocal> {
        let environment = self.environment();
        let (ty, env) = (&environment.ty, format!("(local.get {})", environment.local));
        let field = || match local.index.starts_with('$') {
            true => format!("{ty} {}", local.index),
            false => format!("{ty} {}", local.field),
        };
        match (local.is_boxed, local.is_captured) {
            (false, false) => None,
            (false, true) => Some(StoredLocal { object: env, field: field() }),
            (true, _) => {
                let object = match part {
                    0 => format!("(local.get {})", local.box_local),
                    _ => format!("(struct.get {} {env})", field()),
                };
                Some(StoredLocal { object, field: format!("{} 0", self.box_name()) })
            }
        }
    }

    pub fn box_name(&self) -> String {
        self.lowering
            .standard_type_name(&format!("(struct (field (mut {})))", stackref(self.lowering)))
    }

    /// A temporary local for a value, by purpose and type, in a part.
    pub fn temporary(&mut self, what: &str, ty: &str, part: usize, at: usize) -> String {
        let key = (part, format!("{what} {ty}"));
        if let Some(name) = self.temporaries.get(&key) {
            return name.clone();
        }
        let name = self.lowering.local(what, ty, at);
        self.temporaries.insert(key, name.clone());
        name
    }

    /// Removes all marks but those around a step.
    pub fn leave(&mut self, depth: usize) -> String {
        let at = self.at;
        let primitive = self.lowering.primitive("first-class", "leave_to", " (param i32)", at);
        let level = format!("(local.get {})", self.level);
        match depth {
            0 => format!("(call {primitive} {level})"),
            _ => format!("(call {primitive} (i32.add {level} (i32.const {depth})))"),
        }
    }

    /// The code before a return: removes marks, and frees the stacks in the locals. Before a switch
    /// it also clears the locals, since the frame may be copied while its stack is suspended.
    fn exit(&mut self, depth: usize, switches: bool) -> String {
        let mut text = match depth {
            0 => String::new(),
            _ => format!(" {}", self.leave(0)),
        };
        let null = null(self.lowering);
        for local in self.locals.all.iter().filter(|local| is_stackref(local.ty) && local.is_set) {
            text += &match self.stored_local(local, 0) {
                None if switches => {
                    let index = &local.index;
                    format!(" (drop (local.get {index})) (local.set {index} {null})")
                }
                None => format!(" (drop (local.get {}))", local.index),
                Some(place) => format!(" (drop {}) {}", place.get(), place.set(&null)),
            };
        }
        text
    }

    fn step(&mut self, step: &Step<'a>) -> Result<()> {
        match step.what {
            StepKind::Instruction(instruction) => self.instruction(instruction, step),
            StepKind::Open(block) => self.open(&self.shape.blocks[block]),
            StepKind::Begin | StepKind::Divide => Ok(()),
            StepKind::Close(block) => {
                self.close(&self.shape.blocks[block]);
                Ok(())
            }
        }
    }

    fn instruction(&mut self, mut instruction: Instruction<'a>, step: &Step<'a>) -> Result<()> {
        linear::check_instruction(self.lowering, &self.locals, &instruction)?;
        let instruction = &mut instruction;
        match instruction.word {
            "local.get" | "local.set" | "local.tee" => self.local(instruction, step.part),
            word if is_place_word(word) => return self.on_place(instruction, step.part),
            "ref.null" if has_two_nulls(self.lowering) => self.null_of_two_kinds(instruction),
            "stack.switch" => return self.switch(instruction),
            "stack.switch_drop" => return self.switch_drop(instruction),
            "stack.switch_call" => return self.switch_call(instruction),
            "stack.extend" => return self.extend(instruction),
            "stack.start" => self.start(instruction),
            "stack.clone" if instruction.names(self.lowering.tree) == 0 => self.clone(instruction),
            "call_stack" => return self.call_stack(instruction),
            word if word.starts_with("return") => return self.leave_function(instruction, step),
            _ => {}
        }
        Ok(())
    }

    fn null_of_two_kinds(&mut self, instruction: &mut Instruction<'a>) {
        if self.lowering.tree.word(instruction.next) == Some("stack") {
            instruction.next += 1;
            self.lowering.emit(instruction, "", Some("unreachable"));
        }
    }

    /// Lowers `return`, tail calls and other exits of the function.
    fn leave_function(&mut self, instruction: &Instruction<'a>, step: &Step<'a>) -> Result<()> {
        let tree = self.lowering.tree;
        let at = instruction.at(tree);
        if step.part != 0 {
            let message = format!(
                "`{}` is not allowed in the code of an `answer` or `stack.redirect_to`, which \
                 cannot return from the function",
                instruction.word
            );
            return Err(Error::invalid(at, message));
        }
        let exit = self.exit(step.depth, instruction.word.starts_with("return_switch"));
        let exit = exit.trim_start();
        if exit.is_empty() {
            return Ok(());
        }
        match instruction.list {
            None => self.lowering.edits.insert(at, Pieces::text(format!("{exit} "), at)),
            Some(list) => {
                let close = tree.start(tree.last(list));
                self.lowering.edits.insert(close, Pieces::text(format!(" {exit}"), at));
            }
        }
        Ok(())
    }

    /// The text of `(ref null? $stackref)` and of its null.
    pub fn stackref(&self) -> (String, String) {
        (stackref(self.lowering), null(self.lowering))
    }

    pub fn primitive(&mut self, name: &str, ty: &str, at: usize) -> String {
        self.lowering.primitive("first-class", name, ty, at)
    }
}
