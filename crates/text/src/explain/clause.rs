//! Finds the invalid clause of an operator: a `catch` of a `try_table`, an `on` of a `resume`.

use wasmparser::{
    BlockType, Catch, CompositeInnerType, FrameKind, FuncType, FuncValidator, Handle, Operator,
    RefType, ResumeTable, TryTable, UnpackedIndex, ValType, WasmModuleResources,
};

use crate::binary::{Types, defined};
use crate::explain::MismatchRecorder;

/// An invalid clause, counted from zero.
pub(crate) struct InvalidClause {
    pub number: usize,
    /// `None` if the clause names something that does not exist.
    pub message: Option<String>,
}

pub(crate) fn find_invalid(
    validator: &FuncValidator<&MismatchRecorder<'_>>,
    module: &MismatchRecorder<'_>,
    types: &Types,
    operator: &Operator<'_>,
) -> Option<InvalidClause> {
    let check = Check { validator, module, types };
    match operator {
        Operator::TryTable { try_table } => check.catches(try_table),
        Operator::Resume { cont_type_index, resume_table }
        | Operator::ResumeThrow { cont_type_index, resume_table, .. }
        | Operator::ResumeThrowRef { cont_type_index, resume_table } => {
            check.handlers(*cont_type_index, resume_table)
        }
        _ => None,
    }
}

struct Check<'c> {
    /// The state before the operator.
    validator: &'c FuncValidator<&'c MismatchRecorder<'c>>,
    module: &'c MismatchRecorder<'c>,
    types: &'c Types,
}

/// The message of an invalid clause is `None` if it is not known here.
type Verdict = Result<(), Option<String>>;

impl Check<'_> {
    fn catches(&self, table: &TryTable) -> Option<InvalidClause> {
        first_invalid(table.catches.iter().map(|catch| self.catch(catch)))
    }

    fn handlers(&self, cont: u32, table: &ResumeTable) -> Option<InvalidClause> {
        let function = self.cont_function(UnpackedIndex::Module(cont))?;
        first_invalid(table.handlers.iter().map(|handle| self.handler(function, handle)))
    }

    fn catch(&self, catch: &Catch) -> Verdict {
        let exception = ValType::Ref(RefType::EXN);
        let (mut given, label) = match *catch {
            Catch::One { tag, label } | Catch::OneRef { tag, label } => {
                (self.tag(tag)?.params().to_vec(), label)
            }
            Catch::All { label } | Catch::AllRef { label } => (Vec::new(), label),
        };
        if let Catch::OneRef { .. } | Catch::AllRef { .. } = catch {
            given.push(exception);
        }
        let taken = self.label(label)?;
        match self.match_all(&given, &taken) {
            true => Ok(()),
            false => Err(Some(self.label_mismatch(&self.types.row(&given), &taken))),
        }
    }

    /// `(on $tag $label)` or `(on $tag switch)` of a `resume` whose continuation has this function
    /// type.
    fn handler(&self, function: &FuncType, handle: &Handle) -> Verdict {
        match *handle {
            Handle::OnSwitch { tag } => self.switch(function, self.tag(tag)?),
            Handle::OnLabel { tag, label } => {
                let (tag, taken) = (self.tag(tag)?, self.label(label)?);
                // The suspended computation takes what `suspend` returns.
                let rest = (tag.results(), function.results());
                match taken.split_last() {
                    Some((&ValType::Ref(last), values))
                        if self.match_all(tag.params(), values) && self.is_rest(last, rest) =>
                    {
                        Ok(())
                    }
                    _ => Err(Some(self.label_mismatch(&self.expected(tag, rest), &taken))),
                }
            }
        }
    }

    fn switch(&self, function: &FuncType, tag: &FuncType) -> Verdict {
        let (found, expected) = ((tag.params(), tag.results()), (&[][..], function.results()));
        if self.is_function(found, expected) && self.is_function(expected, found) {
            return Ok(());
        }
        Err(Some(format!(
            "type mismatch: expected a tag of {}, found one of {}",
            self.types.arrow(expected.0, expected.1),
            self.types.arrow(found.0, found.1)
        )))
    }

    /// Whether `ty` refers to a continuation of functions from `rest.0` to `rest.1`.
    fn is_rest(&self, ty: RefType, rest: (&[ValType], &[ValType])) -> bool {
        let function = defined(ty).and_then(|ty| self.cont_function(ty));
        function.is_some_and(|found| self.is_function(rest, (found.params(), found.results())))
    }

    /// The types that the label of a clause should take: the values of the tag and a continuation.
    /// The continuation has the name of a type of the module if one fits.
    fn expected(&self, tag: &FuncType, rest: (&[ValType], &[ValType])) -> String {
        let fits = |function: u32| match self.function(function) {
            Some(found) => self.is_function(rest, (found.params(), found.results())),
            None => false,
        };
        let cont = match self.types.continuation(fits) {
            Some(index) => self.types.heap_type(UnpackedIndex::Module(index)),
            None => format!("(cont {})", self.types.arrow(rest.0, rest.1)),
        };
        let mut types: Vec<String> =
            tag.params().iter().map(|&ty| self.types.value_type(ty)).collect();
        types.push(format!("(ref {cont})"));
        format!("[{}]", types.join(" "))
    }

    fn label_mismatch(&self, expected: &str, taken: &[ValType]) -> String {
        let found = self.types.row(taken);
        format!(
            "type mismatch: expected a label that takes {expected}, found one that takes {found}"
        )
    }

    fn tag(&self, tag: u32) -> Result<&FuncType, Option<String>> {
        self.module.tag_at(tag).ok_or(None)
    }

    /// The types that a branch to a label takes.
    fn label(&self, depth: u32) -> Result<Vec<ValType>, Option<String>> {
        let frame = self.validator.get_control_frame(depth as usize).ok_or(None)?;
        Ok(match (frame.block_type, frame.kind) {
            (BlockType::Empty, _) | (BlockType::Type(_), FrameKind::Loop) => Vec::new(),
            (BlockType::Type(ty), _) => vec![ty],
            (BlockType::FuncType(ty), kind) => {
                let function = self.function(ty).ok_or(None)?;
                match kind {
                    FrameKind::Loop => function.params().to_vec(),
                    _ => function.results().to_vec(),
                }
            }
        })
    }

    fn function(&self, index: u32) -> Option<&FuncType> {
        match &self.module.sub_type_at(index)?.composite_type.inner {
            CompositeInnerType::Func(function) => Some(function),
            _ => None,
        }
    }

    /// The function type of a continuation type.
    fn cont_function(&self, ty: UnpackedIndex) -> Option<&FuncType> {
        let ty = match ty {
            UnpackedIndex::Module(index) => self.module.sub_type_at(index)?,
            ty => self.module.sub_type_at_id(ty.pack()?.as_core_type_id()?),
        };
        let CompositeInnerType::Cont(cont) = &ty.composite_type.inner else { return None };
        match &self.module.sub_type_at_id(cont.0.as_core_type_id()?).composite_type.inner {
            CompositeInnerType::Func(function) => Some(function),
            _ => None,
        }
    }

    fn match_all(&self, given: &[ValType], taken: &[ValType]) -> bool {
        let mut pairs = given.iter().zip(taken);
        given.len() == taken.len() && pairs.all(|(&ty, &to)| self.module.is_subtype(ty, to))
    }

    /// Whether functions of one type may be used where the other type is expected.
    fn is_function(
        &self,
        (params, results): (&[ValType], &[ValType]),
        (to_params, to_results): (&[ValType], &[ValType]),
    ) -> bool {
        self.match_all(to_params, params) && self.match_all(results, to_results)
    }
}

fn first_invalid(verdicts: impl Iterator<Item = Verdict>) -> Option<InvalidClause> {
    let mut wrong = verdicts.enumerate().filter_map(|(number, verdict)| {
        verdict.err().map(|message| InvalidClause { number, message })
    });
    wrong.next()
}
