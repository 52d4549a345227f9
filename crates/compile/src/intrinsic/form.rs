//! The prescribed forms in which reserved imports are called.

use super::{FiberOp, FirstClassOp, Intrinsic, Intrinsics, StackOp, Subtyping, TaskOp};
use crate::CompileError;
use ropewalk_abi::{FuncType, HeapType, RefType, ValType};
use std::collections::HashSet;
use wasmparser::{Catch, Operator, OperatorsReader};

/// A call of a reserved import in its form.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    pub intrinsic: Intrinsic,
    /// The import.
    pub function: u32,
    /// The functions among its operands.
    pub functions: Vec<u32>,
    /// The tag of each catch of the `try_table` around it, and the label, as
    /// seen from outside of the `try_table`.
    pub catches: Vec<(u32, u32)>,
    /// The events that may arrive here, and the labels where each goes on, as
    /// seen from the call.
    pub clauses: Vec<(u32, u32)>,
}

/// What an operator is to the reserved imports.
pub(crate) enum Meaning {
    /// Nothing special.
    Ordinary,
    /// It opens the `try_table` around a call of a reserved import.
    Opens,
    /// It calls one.
    Calls(Use),
}

/// Which tags stand in the `try_table` around a call.
#[derive(PartialEq, Eq)]
enum Tags {
    /// There is no such `try_table`.
    None,
    /// One.
    One,
    /// One, and then clauses.
    Clauses,
    /// Those of a new fiber.
    NewFiber { returning: bool },
}

fn tags(intrinsic: Intrinsic) -> Tags {
    match intrinsic {
        Intrinsic::Stack(StackOp::SwitchThrow | StackOp::ReturnSwitchThrow) => Tags::One,
        Intrinsic::Stack(_) | Intrinsic::Task(_) => Tags::None,
        Intrinsic::Fiber(op) => match op {
            FiberOp::New => Tags::NewFiber { returning: false },
            FiberOp::NewReturning => Tags::NewFiber { returning: true },
            FiberOp::Mount | FiberOp::Switch | FiberOp::Dismount => Tags::Clauses,
            FiberOp::DismountRelease | FiberOp::SwitchRelease => Tags::One,
            FiberOp::Release => Tags::None,
        },
        Intrinsic::FirstClass(op) => match op {
            FirstClassOp::Switch
            | FirstClassOp::SwitchDrop
            | FirstClassOp::SwitchCall
            | FirstClassOp::Extend
            | FirstClassOp::EnterAnswer
            | FirstClassOp::CallStack => Tags::One,
            _ => Tags::None,
        },
    }
}

/// Follows the operators of a body and recognises the forms.
pub(crate) struct Forms<'a> {
    intrinsics: &'a Intrinsics,
    types: Subtyping<'a>,
    /// The functions that the operators right before this one name.
    ref_funcs: Vec<u32>,
    /// The catches of the `try_table` that was just opened for a form.
    open: Option<Vec<(u32, u32)>>,
    /// The blocks that are open, the function's own first, with the catches of
    /// those that catch exceptions.
    blocks: Vec<Vec<Catch>>,
    /// The numbers of those that catch exceptions.
    catching: Vec<usize>,
}

impl<'a> Forms<'a> {
    pub fn new(intrinsics: &'a Intrinsics, types: Subtyping<'a>) -> Forms<'a> {
        Forms {
            intrinsics,
            types,
            ref_funcs: Vec::new(),
            open: None,
            blocks: vec![Vec::new()],
            catching: Vec::new(),
        }
    }

    /// Says what an operator is; `rest` reads those behind it.
    pub fn meaning(
        &mut self,
        offset: u64,
        operator: &Operator<'_>,
        rest: &OperatorsReader<'_>,
    ) -> Result<Meaning, CompileError> {
        if self.intrinsics.is_empty() {
            return Ok(Meaning::Ordinary);
        }
        let refused = |message| CompileError::Refused { offset, message };
        let meaning = match operator {
            Operator::RefFunc { function_index } => {
                self.ref_funcs.push(*function_index);
                return Ok(Meaning::Ordinary);
            }
            Operator::TryTable { try_table } if self.is_form(rest.clone()) => {
                self.open = Some(plain_catches(&try_table.catches).map_err(refused)?);
                self.blocks.push(Vec::new());
                Meaning::Opens
            }
            Operator::TryTable { try_table } => {
                self.catching.push(self.blocks.len());
                self.blocks.push(try_table.catches.clone());
                Meaning::Ordinary
            }
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => {
                self.blocks.push(Vec::new());
                Meaning::Ordinary
            }
            Operator::End => {
                self.blocks.pop();
                self.catching.pop_if(|block| *block >= self.blocks.len());
                Meaning::Ordinary
            }
            Operator::Call { function_index } => match self.intrinsics.get(*function_index) {
                None => Meaning::Ordinary,
                Some(intrinsic) => {
                    let used = self.used(intrinsic, *function_index, rest).map_err(refused)?;
                    Meaning::Calls(used)
                }
            },
            Operator::ReturnCall { function_index } => {
                if let Some(intrinsic) = self.intrinsics.get(*function_index) {
                    let (module, name) = intrinsic.name();
                    return Err(refused(format!("`{module}` `{name}` cannot be tail-called")));
                }
                Meaning::Ordinary
            }
            _ => Meaning::Ordinary,
        };
        self.ref_funcs.clear();
        Ok(meaning)
    }

    /// Whether what follows a `try_table` is the body of a form with tags.
    fn is_form(&self, mut rest: OperatorsReader<'_>) -> bool {
        loop {
            match rest.read() {
                Ok(Operator::RefFunc { .. }) => {}
                Ok(Operator::Call { function_index }) => {
                    let intrinsic = self.intrinsics.get(function_index);
                    return intrinsic.is_some_and(|intrinsic| tags(intrinsic) != Tags::None)
                        && matches!(rest.read(), Ok(Operator::End));
                }
                _ => return false,
            }
        }
    }

    /// The call of a reserved import, if its form is right.
    fn used(
        &mut self,
        intrinsic: Intrinsic,
        function: u32,
        rest: &OperatorsReader<'_>,
    ) -> Result<Use, String> {
        let (module, name) = intrinsic.name();
        let catches = match (tags(intrinsic), self.open.take()) {
            (Tags::None, _) => Vec::new(),
            (_, Some(catches)) => catches,
            (_, None) => {
                return Err(format!(
                    "`{module}` `{name}` must be the whole body of a try_table whose first catch \
                     names its tag"
                ));
            }
        };
        let count = function_operands(intrinsic, &catches)
            .ok_or_else(|| format!("`{module}` `{name}` lacks the catch that names its tag"))?;
        let Some(first) = self.ref_funcs.len().checked_sub(count) else {
            return Err(format!(
                "`{module}` `{name}` needs {count} ref.func directly before the call"
            ));
        };
        let functions = self.ref_funcs.split_off(first);
        // Before a body is validated, an index may be any.
        let info = self.types.info;
        let is_known = functions.iter().all(|function| (*function as usize) < info.functions.len())
            && catches.iter().all(|(tag, _)| (*tag as usize) < info.tags.len());
        if !is_known {
            return Err("unknown tag or function".to_string());
        }
        if is_extension(intrinsic)
            && functions.iter().any(|function| *function < info.imported_functions)
        {
            return Err(format!("`{module}` `{name}` needs a function of the module itself"));
        }
        let clauses = self.clauses(intrinsic, &catches);
        let used = Use { intrinsic, function, functions, catches, clauses };
        self.check_types(&used).map_err(|expected| {
            format!("the tags or functions of `{module}` `{name}` do not fit: expected {expected}")
        })?;
        if !is_followed_well(intrinsic, rest.clone()) {
            return Err(format!("`{module}` `{name}` must be directly followed by return_call"));
        }
        Ok(used)
    }

    /// The events that may arrive at a call.
    fn clauses(&self, intrinsic: Intrinsic, catches: &[(u32, u32)]) -> Vec<(u32, u32)> {
        // Seen from the call, the try_table around it is one more.
        let from_call = |(tag, label): &(u32, u32)| (*tag, *label + 1);
        match intrinsic {
            Intrinsic::Fiber(FiberOp::New) => catches.iter().map(from_call).collect(),
            Intrinsic::Fiber(_) => catches.iter().skip(1).map(from_call).collect(),
            Intrinsic::FirstClass(
                FirstClassOp::Switch
                | FirstClassOp::SwitchCall
                | FirstClassOp::SwitchCallTrap
                | FirstClassOp::Start,
            ) => self.events_caught_around(),
            _ => Vec::new(),
        }
    }

    /// The events that the `try_table`s around catch, from the inside out, up
    /// to a catch that needs an exception; each once.
    fn events_caught_around(&self) -> Vec<(u32, u32)> {
        let innermost = self.blocks.len() - 1;
        let catches = self.catching.iter().rev().map(|i| (*i, &self.blocks[*i]));
        let catches = catches.flat_map(|(i, catches)| catches.iter().map(move |catch| (i, catch)));
        let event = |(i, catch): (usize, &Catch)| match *catch {
            // A label counts from outside of the try_table.
            Catch::One { tag, label } => Some((tag, (innermost - i) as u32 + 1 + label)),
            _ => None,
        };
        let mut seen = HashSet::new();
        catches.map_while(event).filter(|(tag, _)| seen.insert(*tag)).collect()
    }

    /// Checks the types of what the call names beside its operands.
    fn check_types(&self, used: &Use) -> Result<(), &'static str> {
        let ty = self.types.info.function_type(used.function);
        let (fits, expected) = match used.intrinsic {
            Intrinsic::Stack(StackOp::SwitchThrow | StackOp::ReturnSwitchThrow) => {
                (self.throws(used), "a tag with te* (ref null? $d)")
            }
            Intrinsic::Fiber(FiberOp::New | FiberOp::NewReturning) => (
                self.makes_fiber(used),
                "functions [a* (ref null? $fiber) te*] -> [to*], where te* are the values of the \
                 event and to* those of the return event",
            ),
            Intrinsic::Fiber(FiberOp::Release) | Intrinsic::Stack(_) | Intrinsic::Task(_) => {
                return Ok(());
            }
            Intrinsic::FirstClass(op) => self.first_class(op, used),
            Intrinsic::Fiber(FiberOp::Switch | FiberOp::SwitchRelease) => {
                (self.sends(used, &ty.params()[..ty.params().len() - 2]), "an event with tr*")
            }
            Intrinsic::Fiber(_) => {
                (self.sends(used, &ty.params()[..ty.params().len() - 1]), "an event with tr*")
            }
        };
        match fits {
            true => Ok(()),
            false => Err(expected),
        }
    }

    /// Whether the tag and the functions of a first-class stack fit.
    fn first_class(&self, op: FirstClassOp, used: &Use) -> (bool, &'static str) {
        let ty = self.types.info.function_type(used.function);
        let params = ty.params();
        match op {
            FirstClassOp::Switch => {
                (self.sends(used, params), "an event with t* (ref null $stack)")
            }
            FirstClassOp::SwitchDrop => {
                (self.sends(used, &params[..params.len() - 1]), "an event with t*")
            }
            FirstClassOp::SwitchCall | FirstClassOp::Extend => {
                let function = params.last().and_then(|ty| self.types.function(*ty));
                let fits = function.is_some_and(|function| self.sends(used, function.results()));
                (fits, "an event with o*")
            }
            FirstClassOp::EnterAnswer => {
                let function = params.last().and_then(|ty| self.types.function(*ty));
                let fits = self.call_tag(used).zip(function).is_some_and(|(tag, function)| {
                    let arguments = function.params().get(1..).unwrap_or_default();
                    self.types.are_subtypes(tag.params(), arguments)
                        && self.types.are_subtypes(function.results(), tag.results())
                });
                (fits, "a call tag [a*] -> [b*]")
            }
            FirstClassOp::CallStack => {
                let fits = self.call_tag(used).is_some_and(|tag| {
                    self.types.are_subtypes(params, tag.params())
                        && self.types.are_subtypes(tag.results(), ty.results())
                });
                (fits, "a call tag [a*] -> [b*]")
            }
            _ => (true, ""),
        }
    }

    /// The function type of the call tag that a call names.
    fn call_tag(&self, used: &Use) -> Option<&FuncType> {
        match self.types.info.tag_type(used.catches[0].0).params() {
            [ty] => self.types.function(*ty),
            _ => None,
        }
    }

    /// Whether the first tag has these values.
    fn sends(&self, used: &Use, values: &[ValType]) -> bool {
        let tag = self.types.info.tag_type(used.catches[0].0);
        self.types.are_subtypes(values, tag.params())
    }

    /// Whether the tag has the values before the last operand, and then the
    /// stack that is left.
    fn throws(&self, used: &Use) -> bool {
        let ty = self.types.info.function_type(used.function);
        let Some((target, values)) = ty.params().split_last() else { return false };
        let return_stack = self.types.continuation(*target).and_then(|ty| ty.params().last());
        let Some(ValType::Ref(left)) = return_stack else { return false };
        let left = ValType::Ref(RefType { nullable: false, ..*left });
        self.sends(used, &[values, &[left]].concat())
    }

    /// Whether the functions of a new fiber take what its events bring, and
    /// give what its return event takes.
    fn makes_fiber(&self, used: &Use) -> bool {
        let (info, types) = (self.types.info, &self.types);
        let ty = info.function_type(used.function);
        let Some(count) = ty.params().len().checked_sub(used.functions.len()) else { return false };
        let (arguments, operands) = ty.params().split_at(count);
        let returning = used.intrinsic == Intrinsic::Fiber(FiberOp::NewReturning);
        let events = &used.catches[usize::from(returning)..];
        let returned = returning.then(|| info.tag_type(used.catches[0].0));
        let fits = |(function, operand, (event, _)): (&u32, &ValType, &(u32, u32))| {
            let function = info.functions[*function as usize];
            let own = ValType::Ref(RefType { nullable: false, heap: HeapType::Concrete(function) });
            let function = info.func_type(function);
            let given = [arguments, ty.results(), info.tag_type(*event).params()].concat();
            types.is_subtype(own, *operand)
                && types.are_subtypes(&given, function.params())
                && returned.is_none_or(|tag| types.are_subtypes(function.results(), tag.params()))
        };
        let functions = used.functions.iter().zip(operands).zip(events);
        functions.map(|((a, b), c)| (a, b, c)).all(fits)
    }
}

/// The tags and labels of catches, none of which may want a reference.
fn plain_catches(catches: &[Catch]) -> Result<Vec<(u32, u32)>, String> {
    let plain = |catch: &Catch| match *catch {
        Catch::One { tag, label } => Ok((tag, label)),
        _ => Err("a try_table around a reserved import has only plain catches".to_string()),
    };
    catches.iter().map(plain).collect()
}

/// How many functions are among the operands; none if a tag is missing.
fn function_operands(intrinsic: Intrinsic, catches: &[(u32, u32)]) -> Option<usize> {
    match (tags(intrinsic), intrinsic) {
        (Tags::NewFiber { returning }, _) => catches.len().checked_sub(usize::from(returning)),
        (Tags::One, Intrinsic::FirstClass(op)) => {
            (catches.len() == 1).then_some(first_class_functions(op))
        }
        (Tags::One, _) => (catches.len() == 1).then_some(0),
        (Tags::Clauses, _) => (!catches.is_empty()).then_some(0),
        (Tags::None, Intrinsic::Task(TaskOp::New)) => Some(1),
        (Tags::None, Intrinsic::FirstClass(op)) => Some(first_class_functions(op)),
        (Tags::None, _) => Some(0),
    }
}

fn first_class_functions(op: FirstClassOp) -> usize {
    match op {
        FirstClassOp::SwitchCall
        | FirstClassOp::SwitchCallTrap
        | FirstClassOp::Extend
        | FirstClassOp::ExtendTrap
        | FirstClassOp::EnterAnswer => 1,
        FirstClassOp::EnterRedirectTo => 2,
        _ => 0,
    }
}

/// Whether it adds a rout to a stack.
fn is_extension(intrinsic: Intrinsic) -> bool {
    matches!(intrinsic, Intrinsic::FirstClass(FirstClassOp::Extend | FirstClassOp::ExtendTrap))
}

/// Whether what follows a call belongs there.
fn is_followed_well(intrinsic: Intrinsic, mut rest: OperatorsReader<'_>) -> bool {
    match intrinsic {
        Intrinsic::Stack(StackOp::ReturnSwitch) => {}
        Intrinsic::Stack(StackOp::ReturnSwitchThrow) => {
            if !matches!(rest.read(), Ok(Operator::End)) {
                return false;
            }
        }
        _ => return true,
    }
    matches!(
        rest.read(),
        Ok(Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. })
    )
}
