//! [`Lowering`]: a module while it is lowered, with all that the designs change and add.

mod closure;
mod output;
mod tag_form;
mod type_definition;
mod walk;

use std::collections::HashMap;
use std::ops::Range;

use crate::dialect::bag::has_continuations;
use crate::dialect::definitions::{Item, Module, TypeDef, TypeKind};
use crate::dialect::design::DESIGNS;
use crate::dialect::source::{
    HeapType, Instruction, Name, Names, Node, Signature, Tree, ValKind, ValType,
    abbreviated_heap_type, mismatch,
};

use closure::Closures;
use output::Edits;

pub(crate) use closure::Closure;
pub(crate) use output::{Output, Pieces, SpanMap};
pub(crate) use tag_form::TagForm;
pub(crate) use type_definition::standard_type;
pub(crate) use walk::walk;

/// The two texts that a module is lowered to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rendering {
    /// The standard text. The kinds of all designs are continuations.
    Standard,
    /// A text for validation only. No kind matches another.
    Shadow,
}

pub(crate) struct Lowering<'a, 'm> {
    pub tree: &'m Tree<'a>,
    pub module: &'m Module<'a>,
    pub rendering: Rendering,
    pub names: Names,
    pub edits: Edits,
    /// Fields to add before and after those of the source.
    pub front: Pieces,
    pub back: Pieces,
    /// The names of added items, by a key that describes the item.
    added: HashMap<String, String>,
    /// The function types of the source by signature, collected on first use.
    written: Option<HashMap<String, Option<String>>>,
    /// Names of types that stand for words of designs.
    brands: HashMap<&'static str, String>,
    function: Option<Function>,
}

/// The current function.
#[derive(Debug)]
struct Function {
    /// The offset at which it declares further locals, and these locals.
    locals_at: usize,
    locals: Pieces,
    prologue: Pieces,
    closures: Closures,
}

impl<'a, 'm> Lowering<'a, 'm> {
    pub fn new(
        tree: &'m Tree<'a>,
        module: &'m Module<'a>,
        rendering: Rendering,
    ) -> Lowering<'a, 'm> {
        Lowering {
            tree,
            module,
            rendering,
            names: Names::of(tree),
            edits: Edits::default(),
            front: Pieces::new(),
            back: Pieces::new(),
            added: HashMap::new(),
            written: None,
            brands: HashMap::new(),
            function: None,
        }
    }

    pub fn is_shadow(&self) -> bool {
        self.rendering == Rendering::Shadow
    }

    /// Sets the type that stands for `word` in the whole module.
    pub fn set_brand(&mut self, word: &'static str, name: String) {
        self.brands.insert(word, name);
    }

    /// The type that stands for `word`.
    pub fn brand(&self, word: &str) -> &str {
        self.brands.get(word).map_or("", String::as_str)
    }

    /// The name of an added item. `add` adds it when its key is first used, and returns its name.
    fn once(&mut self, key: String, add: impl FnOnce(&mut Self) -> String) -> String {
        if let Some(added) = self.added.get(&key) {
            return added.clone();
        }
        let added = add(self);
        self.added.insert(key, added.clone());
        added
    }

    /// The name of an item that is added for an item of the source. It is the same for each call
    /// with the same owner.
    pub fn companion(&mut self, owner: Name<'_>, what: &str) -> String {
        let key = format!("{what} of {}", owner.key());
        self.once(key, |this| this.names.fresh_for(Some(owner), what))
    }

    /// Pairs of a continuation type in the lowered text and the design's type in the source.
    pub fn type_words(&mut self) -> Vec<(String, String)> {
        let module = self.module;
        let types = module.types.iter().filter_map(|ty| Some((ty.name?, &ty.kind)));
        let types = types.filter(|(_, kind)| matches!(kind, TypeKind::Design(..)));
        let words = types.map(|(name, kind)| {
            let function = self.companion(name, "func");
            (format!("(cont {function})"), kind.describe().to_string())
        });
        let mut words: Vec<_> = words.collect();
        if !has_continuations(self.tree) {
            let kinds = ["a continuation type", "a stack, task or fiber type"];
            let [from, to] = kinds.map(str::to_string);
            words.push((from, to));
        }
        words
    }

    /// A label that clashes with none of the source. Each call returns the same label for the same
    /// wish, since the innermost of equal labels wins.
    pub fn label(&mut self, wish: &str) -> String {
        self.once(format!("label {wish}"), |this| this.names.fresh(wish))
    }

    pub fn enter_function(&mut self, locals_at: usize) {
        let (locals, prologue) = (Pieces::new(), Pieces::new());
        self.function =
            Some(Function { locals_at, locals, prologue, closures: Closures::default() });
    }

    /// Leaves a function: adds its locals and its closures.
    pub fn leave_function(&mut self) {
        let Some(function) = self.function.take() else { return };
        let mut start = function.locals;
        start.append(function.prologue);
        self.edits.insert_early(function.locals_at, start);
        for Closure { range, head, locals, prologue, note } in function.closures {
            let Range { start, end } = range;
            self.back.push("\n  ", start);
            self.back.append(head);
            self.back.append(locals);
            self.back.append(prologue);
            self.back.push_moved(range);
            self.back.push_noted(")", end, note);
        }
    }

    pub fn is_in_function(&self) -> bool {
        self.function.is_some()
    }

    /// Adds instructions to the start of the current function.
    pub fn prologue(&mut self, pieces: Pieces) {
        if let Some(function) = &mut self.function {
            function.prologue.append(pieces);
        }
    }

    /// Turns a part of the current function into a separate function. Inner closures must come
    /// after outer ones.
    pub fn closure(&mut self, closure: Closure) {
        if let Some(function) = &mut self.function {
            function.closures.push(closure);
        }
    }

    /// A new local for an instruction at a byte, in the current function or in the closure around
    /// the byte.
    pub fn local(&mut self, wish: &str, ty: &str, at: usize) -> String {
        let name = self.names.fresh(wish);
        self.named_local(&name, ty, at);
        name
    }

    /// Like `local`, with a name that is unique in the function.
    pub fn named_local(&mut self, name: &str, ty: &str, at: usize) {
        if let Some(function) = &mut self.function {
            let locals = match function.closures.around(at) {
                Some(closure) => &mut closure.locals,
                None => &mut function.locals,
            };
            locals.push(format!(" (local {name} {ty})"), at);
        }
    }

    pub fn standard_type_name(&self, definition: &str) -> String {
        self.added.get(&format!("(type {definition}")).cloned().unwrap_or_default()
    }

    /// Adds a type to the standard text, once for each definition.
    pub fn standard_type(&mut self, wish: &str, definition: &str, at: usize) -> String {
        self.once(format!("(type {definition}"), |this| {
            let name = this.names.fresh(wish);
            this.back.push(format!("\n  (type {name} {definition})"), at);
            name
        })
    }

    /// Imports a primitive of a reserved module, with a type in the standard text, once for each
    /// type.
    pub fn primitive(&mut self, module: &str, name: &str, ty: &str, at: usize) -> String {
        let import = format!("(import \"ropewalk:{module}\" \"{name}\" (func");
        self.once(format!("{import} {ty}"), |this| {
            let added = this.names.fresh(&format!("{module}.{name}"));
            this.front.push(format!("{import} {added}{ty}))\n  "), at);
            added
        })
    }

    /// Imports the primitive with the name of an instruction.
    pub fn primitive_of(&mut self, instruction: &Instruction<'a>, ty: &str) -> String {
        let word = instruction.word;
        let (module, name) = word.split_once('.').unwrap_or(("stack", word));
        self.primitive(module, name, ty, instruction.at(self.tree))
    }

    /// Lowers an instruction to a call of the primitive with its name.
    pub fn call(
        &mut self,
        instruction: &Instruction<'a>,
        params: &[ValType<'a>],
        results: &[ValType<'a>],
    ) {
        let ty = self.signature(params, results);
        let primitive = self.primitive_of(instruction, &ty);
        self.emit(instruction, "", Some(&format!("call {primitive}")));
    }

    /// Like `call`, for a primitive that does not return.
    pub fn call_last(&mut self, instruction: &Instruction<'a>, params: &[ValType<'a>]) {
        let ty = self.signature(params, &[]);
        let primitive = self.primitive_of(instruction, &ty);
        self.emit(instruction, &format!("(call {primitive})"), Some("unreachable"));
    }

    /// The function type for a signature: the first one of the source that fits, or an added one
    /// with a name like `wish`.
    pub fn function_type(&mut self, signature: &Signature<'a>, wish: &str, at: usize) -> String {
        let printed = self.signature(&signature.params, &signature.results);
        self.once(printed.clone(), |this| {
            this.written_type(&printed).unwrap_or_else(|| {
                let name = this.names.fresh(wish);
                this.back.push(format!("\n  (type {name} (func{printed}))"), at);
                name
            })
        })
    }

    /// The first function type of the source with this signature, if it has a name.
    fn written_type(&mut self, printed: &str) -> Option<String> {
        if self.written.is_none() {
            self.written = Some(self.written_types());
        }
        self.written.as_ref()?.get(printed)?.clone()
    }

    /// The first function type of the source for each signature. A signature without a type never
    /// means a type of a recursion group.
    fn written_types(&self) -> HashMap<String, Option<String>> {
        let mut types = HashMap::new();
        for TypeDef { name, kind, is_grouped, .. } in self.module.types.iter() {
            if let TypeKind::Func(Signature { params, results }) = kind
                && !is_grouped
            {
                let name = name.map(|name| name.text.to_string());
                types.entry(self.signature(params, results)).or_insert(name);
            }
        }
        types
    }

    /// Adds a tag with these parameters, once.
    pub fn tag(&mut self, params: &[ValType<'a>], at: usize) -> String {
        let printed = self.signature(params, &[]);
        self.once(format!("(tag{printed}"), |this| {
            let name = this.names.fresh("tag");
            this.back.push(format!("\n  (tag {name}{printed})"), at);
            name
        })
    }

    /// The name of the type of a function.
    pub fn type_of(&mut self, name: Name<'_>, function: &Item<'a>) -> String {
        match function.type_use {
            Some(name) => name.text.to_string(),
            None => {
                let wish = format!("{}.type", name.key());
                self.function_type(&function.inline, &wish, name.at)
            }
        }
    }

    /// Declares a function, so that `ref.func` may name it.
    pub fn declare(&mut self, function: Name<'_>) {
        let field = format!("\n  (elem declare func {})", function.text);
        if self.added.insert(field.clone(), String::new()).is_none() {
            self.back.push(field, function.at);
        }
    }

    /// Requires that values of the types `from` may be used where the types `to` are expected. Both
    /// lists have the same length.
    ///
    /// The shadow checks this by a function type with the results `from` that is a subtype of one
    /// with the results `to`. If that is invalid, the error is `message`. Types are validated
    /// first, so the condition is found before other errors.
    pub fn require(&mut self, from: &[ValType<'a>], to: &[ValType<'a>], at: usize, message: &str) {
        if !self.is_shadow() {
            return;
        }
        let (sub, super_type) = (self.signature(&[], from), self.signature(&[], to));
        if self.added.insert(format!("{sub} <: {super_type}"), String::new()).is_none() {
            let name = self.names.fresh("expected");
            // In a recursion group, so that no signature without a type means them.
            let types = format!(
                "\n  (rec (type {name} (sub (func{super_type}))) (type (sub {name} (func{sub}))))"
            );
            self.back.push_noted(types, at, format!("{message}; {}", mismatch(from, to)));
        }
    }

    /// Prints ` (param ..) (result ..)`, with a leading space, or nothing.
    pub fn signature(&self, params: &[ValType<'a>], results: &[ValType<'a>]) -> String {
        let list = |word: &str, types: &[ValType<'a>]| match types {
            [] => String::new(),
            types => {
                let types: String = types.iter().map(|&ty| format!(" {}", self.ty(ty))).collect();
                format!(" ({word}{types})")
            }
        };
        list("param", params) + &list("result", results)
    }

    /// Prints a value type in the standard text.
    pub fn ty(&self, ty: ValType<'a>) -> String {
        match ty.kind {
            ValKind::Word(word) => self.value_word(word),
            ValKind::Verbatim(text) => text.to_string(),
            ValKind::Ref { nullable, heap } => {
                let null = if nullable { "null " } else { "" };
                format!("(ref {null}{})", self.heap_type(heap))
            }
        }
    }

    /// The null of a value type in the standard text, if the type is nullable.
    pub fn null(&self, ty: ValType<'a>) -> Option<String> {
        let ty = self.ty(ty);
        let heap = match ty.strip_prefix("(ref null ") {
            Some(heap) => heap.strip_suffix(')')?,
            None => abbreviated_heap_type(&ty)?,
        };
        Some(format!("(ref.null {heap})"))
    }

    /// Like `ty`, in pieces that map to the parts of the type.
    pub fn ty_pieces(&self, ty: ValType<'a>) -> Pieces {
        let ValKind::Ref { nullable, heap } = ty.kind else {
            return Pieces::text(self.ty(ty), ty.at);
        };
        let mut pieces = Pieces::text(if nullable { "(ref null " } else { "(ref " }, ty.at);
        let (HeapType::Word(_, at) | HeapType::Type(Name { at, .. })) = heap;
        pieces.push(self.heap_type(heap), at);
        pieces.push(")", ty.at);
        pieces
    }

    /// Prints `(func (param ..) (result ..))`, in pieces that map to its parts.
    pub fn func(&self, signature: &Signature<'a>, at: usize) -> Pieces {
        let mut pieces = Pieces::text("(func", at);
        for (word, types) in [("param", &signature.params), ("result", &signature.results)] {
            if types.is_empty() {
                continue;
            }
            pieces.push(format!(" ({word}"), at);
            for &ty in types {
                pieces.push(" ", ty.at);
                pieces.append(self.ty_pieces(ty));
            }
            pieces.push(")", at);
        }
        pieces.push(")", at);
        pieces
    }

    fn heap_type(&self, heap: HeapType<'a>) -> String {
        match heap {
            HeapType::Type(name) => name.text.to_string(),
            HeapType::Word(word, _) => self.heap_word(word),
        }
    }

    pub fn heap_word(&self, word: &str) -> String {
        let found = DESIGNS.iter().find_map(|design| (design.heap_type)(self, word));
        found.unwrap_or_else(|| word.to_string())
    }

    fn value_word(&self, word: &str) -> String {
        let found = DESIGNS.iter().find_map(|design| (design.value_type)(self, word));
        found.unwrap_or_else(|| word.to_string())
    }

    /// Replaces an instruction whose immediates were read by standard instructions: those of
    /// `folded`, each in parentheses, and then the plain instruction `last`.
    ///
    /// In a folded instruction they follow the operands: `(last operands folded)`, which unfolds in
    /// this order. No block comes between them and the operand stack, or the locals that the
    /// operands set.
    pub fn emit(&mut self, instruction: &Instruction<'a>, folded: &str, last: Option<&str>) {
        let at = instruction.at(self.tree);
        self.emit_pieces(instruction, Pieces::text(folded, at), last);
    }

    /// Like `emit`, with pieces that map to the immediates.
    pub fn emit_pieces(
        &mut self,
        instruction: &Instruction<'a>,
        mut folded: Pieces,
        last: Option<&str>,
    ) {
        let tree = self.tree;
        let at = instruction.at(tree);
        let head = at..instruction.end(tree);
        match instruction.list {
            None => {
                let space = if folded.is_empty() || last.is_none() { "" } else { " " };
                folded.push(format!("{space}{}", last.unwrap_or_default()), at);
                self.edits.replace(head, folded);
            }
            Some(list) => {
                self.edits.replace(head, Pieces::text(last.unwrap_or("nop"), at));
                if !folded.is_empty() {
                    let close = tree.start(tree.last(list));
                    self.edits.insert(close, Pieces::text(" ", at));
                    self.edits.insert(close, folded);
                }
            }
        }
    }

    pub fn replace_word(&mut self, node: Node, text: String) {
        let range = self.tree.start(node)..self.tree.end(node);
        self.edits.replace(range, Pieces::text(text, self.tree.start(node)));
    }
}
