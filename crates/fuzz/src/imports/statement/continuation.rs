//! Generates statements of typed continuations.

use crate::imports::generate::Generator;
use crate::imports::vocabulary::{self as v, SUSPENSIONS, Ty};
use arbitrary::Result;

use Ty::*;

impl Generator<'_, '_> {
    pub(super) fn continuation(&mut self) -> Result<String> {
        let n = self.below(3)? as u8;
        let (takes, gives) = v::cont(n);
        Ok(match self.below(5)? {
            0 | 1 => {
                format!("{} {}", self.new_continuation(n)?, self.take(Cont(n))?)
            }
            4 if n == 1 => format!(
                "(cont.bind $k1 $r01 {} {}) (drop)",
                self.operand(I32)?,
                self.operand(Cont(1))?
            ),
            4 if n == 2 => {
                format!("(switch $k2 $z {}) {}", self.operand(Cont(2))?, self.take(Cont(2))?)
            }
            _ => self.resume(n, &takes, &gives)?,
        })
    }

    /// Resumes a continuation, with a handler for each tag that it likely suspends with.
    pub(super) fn resume(&mut self, n: u8, takes: &[Ty], gives: &[Ty]) -> Result<String> {
        let end = self.fresh("end");
        let mut clauses = String::new();
        let mut labels = Vec::new();
        for (i, (name, ..)) in SUSPENSIONS.iter().enumerate() {
            if self.one_in(3)? {
                continue;
            }
            let label = self.fresh("handler");
            clauses += &format!("(on {name} {label}) ");
            labels.push((label, i));
        }
        if gives.is_empty() && self.one_in(3)? {
            clauses += "(on $z switch)";
        }
        let operands = self.operands(takes)?;
        let continuation = self.operand(Cont(n))?;
        let taken = self.takes(gives)?;
        let mut text =
            format!("{operands}\n{continuation}\n(resume $k{n} {clauses})\n{taken}\n(br {end})");
        for (label, i) in labels {
            let (_, sent, back) = SUSPENSIONS[i];
            // The suspended continuation takes the values that return. It is stored if its type has
            // a place.
            let kept = back.is_empty() && gives.is_empty();
            let take = if kept { self.take(Cont(0))? } else { "(drop)".to_string() };
            let rest = match (i, n) {
                (0, 0 | 2) => "(ref $k0)".to_string(),
                (0, _) => "(ref $r01)".to_string(),
                (_, 0 | 2) => "(ref $r10)".to_string(),
                _ => "(ref $r11)".to_string(),
            };
            let takes = self.takes(sent)?;
            text = format!(
                "(block {label} (result {} {rest})\n{text})\n{take}\n{takes}\n(br {end})",
                v::texts(sent)
            );
        }
        Ok(format!("(block {end}\n{text})"))
    }

    pub(super) fn suspend(&mut self) -> Result<String> {
        let (name, sent, back) = self.pick(&SUSPENSIONS)?;
        Ok(format!("{}\n(suspend {name})\n{}", self.operands(sent)?, self.takes(back)?))
    }
}
