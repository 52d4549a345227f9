//! Generates calls of reserved imports, in their forms.

use crate::imports::generate::Generator;
use crate::imports::vocabulary::{Tag, Ty, each, params, results};
use arbitrary::Result;

impl Generator<'_, '_> {
    /// A call in the plain form.
    pub(super) fn plain(
        &mut self,
        (design, name): (&'static str, &'static str),
        operands: &[Ty],
        gives: &[Ty],
    ) -> Result<String> {
        let import = self.import(design, name, each(operands), each(gives));
        Ok(format!("{}\n(call {import})\n{}", self.operands(operands)?, self.takes(gives)?))
    }

    /// A call whose tag, functions and clauses stand in a `try_table`.
    pub(super) fn tagged(
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

    /// Like `tagged`, with any number of tags whose labels are not reached.
    pub(super) fn in_try_table(
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

    /// Code with clauses: stores the values that arrive at each, and runs more statements.
    pub(super) fn with_clauses(
        &mut self,
        tags: &[Tag],
        inner: impl FnOnce(&mut Self, &[(Tag, String)]) -> Result<String>,
    ) -> Result<String> {
        let clauses: Vec<(Tag, String)> =
            tags.iter().map(|tag| (*tag, self.fresh("clause"))).collect();
        let inner = inner(self, &clauses)?;
        self.with_labels(inner, clauses.iter().map(|(tag, label)| (&**label, tag.values.to_vec())))
    }

    /// Code with labels: stores the values that arrive at each, and runs more statements.
    pub(super) fn with_labels<'t>(
        &mut self,
        inner: String,
        labels: impl Iterator<Item = (&'t str, Vec<Ty>)>,
    ) -> Result<String> {
        let end = self.fresh("end");
        let mut text = format!("{inner}\n(br {end})");
        for (label, values) in labels {
            let (takes, more) = (self.takes(&values)?, self.statements(0..=1)?);
            let values = results(&values);
            text = format!("(block {label} {values}\n{text})\n{takes}\n{more}\n(br {end})");
        }
        Ok(format!("(block {end}\n{text})"))
    }

    /// Some tags of a list.
    pub(super) fn some(&mut self, of: &[Tag], most: usize) -> Result<Vec<Tag>> {
        let count = self.below(most + 1)?;
        (0..count).map(|_| self.pick(of)).collect()
    }
}
