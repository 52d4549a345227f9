//! Which functions do little before they look whether they are to stop, or return.
//!
//! A function need not look when it begins if what it does until it looks or returns is little:
//! whoever calls it looks. That is so if it is short, calls no function but by its index, and if
//! all that it calls do little, too. How much a function does is measured in bytes of bodies,
//! its own and those of what it calls, as often as they are called:
//!
//! ```text
//!   work(f) = length of f + work(g) for each call of a function g in f
//! ```
//!
//! Loops do not count: at their heads a function looks. Functions that call themselves, or each
//! other in a circle, never have a number.

use crate::handlers::calls;
use rayon::prelude::*;
use wasmparser::{FunctionBody, Operator};

/// How much a function does at most that does not look when it begins.
const LITTLE: usize = 512;

/// What is to be known of a body.
enum Body {
    /// It does much, or what nobody knows.
    Long,
    /// How long it is, and whom it calls, as often as it does.
    Short { length: usize, callees: Vec<u32> },
}

/// For each body of a module how much its function does, if it is brief.
pub(crate) fn brief<'a>(
    imported_functions: u32,
    bodies: impl IndexedParallelIterator<Item = &'a FunctionBody<'a>>,
) -> Vec<Option<usize>> {
    let bodies: Vec<Body> = bodies.map(|body| read(imported_functions, body)).collect();
    let mut waiting = Waiting::new(&bodies);
    let mut known: Vec<usize> = (0..bodies.len()).filter(|i| waiting.is_known(*i)).collect();
    let mut brief = vec![None; bodies.len()];
    while let Some(function) = known.pop() {
        if waiting.work[function] > LITTLE {
            continue;
        }
        brief[function] = Some(waiting.work[function]);
        for caller in std::mem::take(&mut waiting.callers[function]) {
            waiting.work[caller] = waiting.work[caller].saturating_add(waiting.work[function]);
            waiting.unknown[caller] -= 1;
            if waiting.is_known(caller) {
                known.push(caller);
            }
        }
    }
    brief
}

fn read(imported_functions: u32, body: &FunctionBody<'_>) -> Body {
    let length = body.as_bytes().len();
    let mut callees = Vec::new();
    if length > LITTLE {
        return Body::Long;
    }
    let Ok(operators) = body.get_operators_reader() else { return Body::Long };
    for operator in operators.into_iter().map_while(Result::ok) {
        match operator {
            Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                match function_index.checked_sub(imported_functions) {
                    Some(callee) => callees.push(callee),
                    None => return Body::Long,
                }
            }
            operator if calls(&operator) => return Body::Long,
            _ => {}
        }
    }
    Body::Short { length, callees }
}

/// Functions whose callees are not all known yet.
struct Waiting {
    /// How much each does, as far as it is known.
    work: Vec<usize>,
    /// How many of its calls are of functions that are not known.
    unknown: Vec<usize>,
    /// Who calls it, as often as they do.
    callers: Vec<Vec<usize>>,
}

impl Waiting {
    fn new(bodies: &[Body]) -> Waiting {
        let count = bodies.len();
        let mut waiting = Waiting {
            work: vec![0; count],
            unknown: vec![0; count],
            callers: vec![Vec::new(); count],
        };
        for (caller, body) in bodies.iter().enumerate() {
            match body {
                Body::Long => waiting.unknown[caller] = usize::MAX,
                Body::Short { length, callees } => {
                    waiting.work[caller] = *length;
                    waiting.unknown[caller] = callees.len();
                    for callee in callees {
                        // What is not there, the validator finds.
                        if let Some(callers) = waiting.callers.get_mut(*callee as usize) {
                            callers.push(caller);
                        }
                    }
                }
            }
        }
        waiting
    }

    fn is_known(&self, function: usize) -> bool {
        self.unknown[function] == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasmparser::{Parser, Payload};

    /// Which functions of a module are brief.
    fn brief_in(text: &str) -> Vec<bool> {
        let binary = wat::parse_str(text).unwrap();
        let payloads = Parser::new(0).parse_all(&binary).map(Result::unwrap);
        let bodies: Vec<_> = payloads
            .filter_map(|payload| match payload {
                Payload::CodeSectionEntry(body) => Some(body),
                _ => None,
            })
            .collect();
        let brief = brief(u32::from(text.contains("import")), bodies.par_iter());
        brief.into_iter().map(|work| work.is_some()).collect()
    }

    #[test]
    fn leaves_and_loops_are_brief() {
        let text = "(module (func) (func (loop (br 0))) (func (call 0) (call 1)))";
        assert_eq!(brief_in(text), [true; 3]);
    }

    #[test]
    fn circles_are_not_brief_nor_who_calls_them() {
        let text = "(module (func (call 0)) (func (call 2)) (func (return_call 1))
                      (func (call 2)) (func (call 5)) (func))";
        assert_eq!(brief_in(text), [false, false, false, false, true, true]);
    }

    #[test]
    fn who_calls_what_nobody_knows_is_not_brief() {
        let text = "(module (import \"a\" \"b\" (func)) (table 1 funcref)
                      (func (call 0)) (func (call_indirect (i32.const 0)))
                      (func (return_call_indirect (i32.const 0))) (func) (func (call 4)))";
        assert_eq!(brief_in(text), [false, false, false, true, true]);
    }

    #[test]
    fn a_function_that_does_much_is_not_brief_though_it_is_short() {
        let nops = "(nop)".repeat(LITTLE);
        assert_eq!(brief_in(&format!("(module (func {nops}))")), [false]);
        // Each does twice as much as the one before.
        let mut text = String::from("(module (func)");
        (0..12).for_each(|i| text.push_str(&format!("(func (call {i}) (call {i}))")));
        text.push(')');
        let found = brief_in(&text);
        assert!(found[..6].iter().all(|is| *is) && found[8..].iter().all(|is| !*is), "{found:?}");
    }
}
