//! The form of a primitive with a tag operand: a `try_table` whose body is the call, with a catch
//! that names the tag.

use crate::dialect::lower::Lowering;

/// A call of a primitive with a tag operand. Types are printed with a leading space, or empty.
#[derive(Debug)]
pub(crate) struct TagForm<'s> {
    pub primitive: String,
    /// Instructions in the `try_table` before the call: `(ref.func $f) `.
    pub function: &'s str,
    pub tag: &'s str,
    /// The types of the operands, of the tag's values and of the results.
    pub params: String,
    pub payload: String,
    pub results: String,
}

impl TagForm<'_> {
    /// The call, and what follows it.
    pub fn then(&self, lowering: &mut Lowering<'_, '_>, then: &str) -> String {
        let sent = lowering.label("sent");
        let TagForm { primitive, function, tag, params, payload, results } = self;
        format!(
            "(block {sent}{params}{payload} (try_table{params}{results} (catch {tag} {sent}) \
             {function}(call {primitive})) {then})"
        )
    }

    /// The call, which leaves its results.
    pub fn with_results(&self, lowering: &mut Lowering<'_, '_>) -> String {
        let after = lowering.label("after");
        let call = self.then(lowering, &format!("(br {after})"));
        format!("(block {after}{}{} {call} (unreachable))", self.params, self.results)
    }

    /// The call, which does not return. The caller adds an `unreachable`.
    pub fn without_return(&self, lowering: &mut Lowering<'_, '_>) -> String {
        self.then(lowering, "(unreachable)")
    }
}
