//! Lowers `answer`, `stack.redirect` and `stack.redirect_to`, the marks that they leave on the
//! stack, and `try`.
//!
//! While the body of such a block runs, the stack has its mark. When control leaves the block, the
//! marks of the inner blocks are removed at the destination. The destinations are:
//!
//! * the end of the block;
//! * the end of an outer block, or the top of a loop, whose label the inside may name;
//! * the places where the function returns.

use super::fields;
use super::function::Function;
use super::shape::{Block, BlockKind};
use crate::dialect::lower::{Lowering, Pieces, TagForm};
use crate::dialect::source::{Name, ValType};
use crate::error::Result;

impl<'a> Function<'_, 'a, '_> {
    /// Lowers the start of a block.
    pub(super) fn open(&mut self, block: &Block<'a>) -> Result<()> {
        match block.kind {
            BlockKind::Block | BlockKind::Loop | BlockKind::If | BlockKind::TryTable => {}
            BlockKind::Try => self.open_try(block),
            BlockKind::Answer => {
                let enter = self.enter_answer(block)?;
                let ty = block_type(self.lowering, block);
                self.replace_head(block, format!("block{ty} {enter}"));
            }
            BlockKind::Redirect | BlockKind::RedirectTo => {
                let enter = match block.kind {
                    BlockKind::Redirect => self.enter_redirect(block),
                    _ => self.enter_redirect_to(block),
                };
                self.open_redirect(block, &enter)?;
            }
        }
        Ok(())
    }

    /// Lowers the end of a block.
    pub(super) fn close(&mut self, block: &Block<'a>) {
        match block.kind {
            BlockKind::Answer => {
                let leave = self.leave(block.depth);
                match block.list {
                    None => self.replace_end(block, format!("{leave} end")),
                    Some(_) => self.replace_end(block, format!(" {leave})")),
                }
            }
            BlockKind::Redirect | BlockKind::RedirectTo => self.close_redirect(block),
            _ if block.has_marks && block.target.is_some() => self.arrive(block),
            _ => {}
        }
    }

    fn arrive(&mut self, block: &Block<'a>) {
        let leave = self.leave(block.depth);
        let tree = self.lowering.tree;
        let at = tree.start(block.keyword);
        match block.kind {
            BlockKind::Loop => {
                let top = tree.end(block.body - 1);
                self.lowering.edits.insert_early(top, Pieces::text(format!(" {leave}"), at));
            }
            _ => {
                let after = tree.end(block.last);
                self.lowering.edits.insert(after, Pieces::text(format!(" {leave}"), at));
            }
        }
    }

    /// Replaces the start of a block, up to its body.
    fn replace_head(&mut self, block: &Block<'a>, text: String) {
        let tree = self.lowering.tree;
        let at = tree.start(block.keyword);
        self.lowering.edits.replace(at..tree.end(block.within - 1), Pieces::text(text, at));
    }

    /// Replaces `end`, or the closing parenthesis of a block.
    fn replace_end(&mut self, block: &Block<'a>, text: String) {
        let tree = self.lowering.tree;
        let end = tree.start(block.last)..tree.end(block.last);
        let at = end.start;
        self.lowering.edits.replace(end, Pieces::text(text, at));
    }

    /// `try .. catch $e $l .. end`, which is a `try_table`.
    fn open_try(&mut self, block: &Block<'a>) {
        let tree = self.lowering.tree;
        self.lowering.replace_word(block.keyword, "try_table".to_string());
        let mut catches = Pieces::new();
        for &catch in &block.catches {
            let (at, tag, label) = (tree.start(catch), catch + 1, catch + 2);
            catches.push(" (catch ", at);
            catches.push(tree.text(tag), tree.start(tag));
            catches.push(" ", at);
            catches.push(tree.text(label), tree.start(label));
            catches.push(")", at);
            let list = tree.parent(catch).filter(|list| list + 1 == catch);
            let range = match list {
                Some(list) => tree.start(list)..tree.end(list),
                None => at..tree.end(label),
            };
            self.lowering.edits.replace(range, Pieces::new());
        }
        self.lowering.edits.insert_early(tree.end(block.body - 1), catches);
    }

    /// Leaves the mark of an `answer`.
    fn enter_answer(&mut self, block: &Block<'a>) -> Result<String> {
        let Some(name) = block.index else { return Ok(String::new()) };
        let (at, module) = (name.at, self.lowering.module);
        let call_tag = fields::call_tag(module, name)?;
        let payload = fields::type_of_call_tag(self.lowering, Some(name), call_tag);
        let closure = self.closure(block.parts[0]);
        self.declare(&closure.function, at);
        let environment = self.environment();
        let ty = format!(" (param (ref {}) (ref {}))", environment.ty, closure.ty);
        let form = TagForm {
            primitive: self.primitive("enter_answer", &ty, at),
            function: &format!("(ref.func {}) ", closure.function),
            tag: name.text,
            params: format!(" (param (ref {}))", environment.ty),
            payload: format!(" (result (ref null {payload}))"),
            results: String::new(),
        };
        Ok(format!("(local.get {}) {}", environment.local, form.with_results(self.lowering)))
    }

    /// Leaves the mark of a `stack.redirect`.
    fn enter_redirect(&mut self, block: &Block<'a>) -> String {
        let Some(name) = block.index else { return String::new() };
        let local = self.locals.find(name.text).cloned();
        let Some(place) = local.and_then(|local| self.stored_local(&local, block.part)) else {
            return String::new();
        };
        let ty = format!(" (param (ref {}))", self.box_name());
        let primitive = self.primitive("enter_redirect", &ty, name.at);
        format!("(call {primitive} {})", place.object)
    }

    /// Leaves the mark of a `stack.redirect_to`.
    fn enter_redirect_to(&mut self, block: &Block<'a>) -> String {
        let at = self.lowering.tree.start(block.keyword);
        let environment = self.environment();
        let (f, g) = (self.closure(block.parts[0]), self.closure(block.parts[1]));
        self.declare(&f.function, at);
        self.declare(&g.function, at);
        let ty = format!(" (param (ref {}) (ref {}) (ref {}))", environment.ty, f.ty, g.ty);
        let primitive = self.primitive("enter_redirect_to", &ty, at);
        format!(
            "(call {primitive} (local.get {}) (ref.func {}) (ref.func {}))",
            environment.local, f.function, g.function
        )
    }

    /// Puts the body of a redirection into a `try_table`.
    fn open_redirect(&mut self, block: &Block<'a>, enter: &str) -> Result<()> {
        let (done, exception) = (self.lowering.label("done"), self.lowering.label("exception"));
        let ty = block_type(self.lowering, block);
        let params = self.lowering.signature(params(self.lowering, block)?, &[]);
        let open = if block.list.is_some() { "(" } else { "" };
        let text = format!(
            "block {done}{ty} {enter} {open}block {exception}{params} (result exnref) \
             {open}try_table{ty} (catch_all_ref {exception})"
        );
        self.replace_head(block, text);
        Ok(())
    }

    /// Sends an exception that reaches a redirection to its target: the stack in the local, or the
    /// result of the first part.
    fn close_redirect(&mut self, block: &Block<'a>) {
        let at = self.lowering.tree.start(block.keyword);
        let done = self.lowering.label("done");
        let leave = self.leave(block.depth);
        let target = self.target(block);
        let (stackref, _) = self.stackref();
        let redirect = self.primitive("redirect", &format!(" (param exnref {stackref})"), at);
        let text = match block.list {
            None => format!(
                "end {leave} br {done} end {leave} {target} call {redirect} unreachable end"
            ),
            Some(_) => {
                format!(") {leave} (br {done})) {leave} {target} (call {redirect}) (unreachable))")
            }
        };
        self.replace_end(block, text);
    }

    fn target(&mut self, block: &Block<'a>) -> String {
        if block.kind == BlockKind::RedirectTo {
            let closure = self.closure(block.parts[0]);
            return format!("(call {} (local.get {}))", closure.function, self.environment().local);
        }
        let local = block.index.and_then(|name| self.locals.find(name.text)).cloned();
        let (_, null) = self.stackref();
        match local.and_then(|local| self.stored_local(&local, block.part)) {
            Some(place) => format!("{} {}", place.get(), place.set(&null)),
            None => String::new(),
        }
    }

    /// Declares an added function, so that `ref.func` may name it.
    fn declare(&mut self, function: &str, at: usize) {
        self.lowering.declare(Name { text: function, at });
    }
}

/// The type of a block as written, with a leading space, or empty.
fn block_type(lowering: &Lowering<'_, '_>, block: &Block<'_>) -> String {
    let signature = lowering.signature(&block.signature.params, &block.signature.results);
    match block.type_use {
        Some(name) => format!(" (type {}){signature}", name.text),
        None => signature,
    }
}

/// The parameters of a block.
fn params<'b, 'a>(lowering: &Lowering<'a, 'b>, block: &'b Block<'a>) -> Result<&'b [ValType<'a>]> {
    Ok(match block.type_use {
        Some(name) => &lowering.module.function_type(name)?.params,
        None => &block.signature.params,
    })
}
