//! Finds functions with bounded work, which need not poll for interruption on entry.
//!
//! A function need not poll on entry if it does little work before it polls or returns: its caller
//! polls. The work is bounded if the function is short, calls functions only by index, and if the
//! work of all its callees is bounded. It is measured in bytes of bodies:
//!
//! ```text
//!   work(f) = length of f + work(g) for each call of a function g in f
//! ```
//!
//! Loops do not count, since functions poll at their heads. Functions that call themselves,
//! directly or through others, are not bounded.

use crate::translate::contents::calls;
use rayon::prelude::*;
use wasmparser::{FunctionBody, Operator};

/// The most work of a function that does not poll on entry.
const MOST: usize = 512;

enum Calls {
    /// The work is too much or unknown.
    Unbounded,
    /// The length of the body, and its callees, once for each call.
    Known { length: usize, callees: Vec<u32> },
}

/// For each body of a module, the work of its function, if it is bounded.
pub(super) fn bounded_work<'a>(
    imported_functions: u32,
    bodies: impl IndexedParallelIterator<Item = &'a FunctionBody<'a>>,
) -> Vec<Option<usize>> {
    let bodies: Vec<Calls> = bodies.map(|body| read(imported_functions, body)).collect();
    let mut pending = Pending::new(&bodies);
    let mut known: Vec<usize> = (0..bodies.len()).filter(|i| pending.is_known(*i)).collect();
    let mut bounded = vec![None; bodies.len()];
    while let Some(function) = known.pop() {
        if pending.work[function] > MOST {
            continue;
        }
        bounded[function] = Some(pending.work[function]);
        for caller in std::mem::take(&mut pending.callers[function]) {
            pending.work[caller] = pending.work[caller].saturating_add(pending.work[function]);
            pending.unknown[caller] -= 1;
            if pending.is_known(caller) {
                known.push(caller);
            }
        }
    }
    bounded
}

fn read(imported_functions: u32, body: &FunctionBody<'_>) -> Calls {
    let length = body.as_bytes().len();
    let mut callees = Vec::new();
    if length > MOST {
        return Calls::Unbounded;
    }
    let Ok(operators) = body.get_operators_reader() else { return Calls::Unbounded };
    for operator in operators.into_iter().map_while(Result::ok) {
        match operator {
            Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                match function_index.checked_sub(imported_functions) {
                    Some(callee) => callees.push(callee),
                    None => return Calls::Unbounded,
                }
            }
            operator if calls(&operator) => return Calls::Unbounded,
            _ => {}
        }
    }
    Calls::Known { length, callees }
}

/// The functions of a module, some of whose callees are not known yet.
struct Pending {
    /// The work of each function, as far as it is known.
    work: Vec<usize>,
    /// The number of its calls of functions that are not known.
    unknown: Vec<usize>,
    /// Its callers, once for each call.
    callers: Vec<Vec<usize>>,
}

impl Pending {
    fn new(bodies: &[Calls]) -> Pending {
        let count = bodies.len();
        let mut pending = Pending {
            work: vec![0; count],
            unknown: vec![0; count],
            callers: vec![Vec::new(); count],
        };
        for (caller, body) in bodies.iter().enumerate() {
            match body {
                Calls::Unbounded => pending.unknown[caller] = usize::MAX,
                Calls::Known { length, callees } => {
                    pending.work[caller] = *length;
                    pending.unknown[caller] = callees.len();
                    for callee in callees {
                        // The validator reports callees that do not exist.
                        if let Some(callers) = pending.callers.get_mut(*callee as usize) {
                            callers.push(caller);
                        }
                    }
                }
            }
        }
        pending
    }

    fn is_known(&self, function: usize) -> bool {
        self.unknown[function] == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmparser::{Parser, Payload};

    /// Which functions of a module have bounded work.
    fn bounded_in(text: &str) -> Vec<bool> {
        let binary = wat::parse_str(text).unwrap();
        let payloads = Parser::new(0).parse_all(&binary).map(Result::unwrap);
        let bodies: Vec<_> = payloads
            .filter_map(|payload| match payload {
                Payload::CodeSectionEntry(body) => Some(body),
                _ => None,
            })
            .collect();
        let work = bounded_work(u32::from(text.contains("import")), bodies.par_iter());
        work.into_iter().map(|work| work.is_some()).collect()
    }

    #[test]
    fn leaf_functions_and_loops_are_bounded() {
        let text = "(module (func) (func (loop (br 0))) (func (call 0) (call 1)))";
        assert_eq!(bounded_in(text), [true; 3]);
    }

    #[test]
    fn recursive_functions_and_their_callers_are_not_bounded() {
        let text = "(module (func (call 0)) (func (call 2)) (func (return_call 1))
                      (func (call 2)) (func (call 5)) (func))";
        assert_eq!(bounded_in(text), [false, false, false, false, true, true]);
    }

    #[test]
    fn callers_of_unknown_functions_are_not_bounded() {
        let text = "(module (import \"a\" \"b\" (func)) (table 1 funcref)
                      (func (call 0)) (func (call_indirect (i32.const 0)))
                      (func (return_call_indirect (i32.const 0))) (func) (func (call 4)))";
        assert_eq!(bounded_in(text), [false, false, false, true, true]);
    }

    #[test]
    fn short_functions_with_much_work_are_not_bounded() {
        let nops = "(nop)".repeat(MOST);
        assert_eq!(bounded_in(&format!("(module (func {nops}))")), [false]);
        // Each does twice the work of the one before.
        let mut text = String::from("(module (func)");
        (0..12).for_each(|i| text.push_str(&format!("(func (call {i}) (call {i}))")));
        text.push(')');
        let found = bounded_in(&text);
        assert!(found[..6].iter().all(|is| *is) && found[8..].iter().all(|is| !*is), "{found:?}");
    }
}
