//! Misuse of reserved imports that must be rejected.

use super::generate::Generator;
use arbitrary::Result;

/// A misuse in a module.
pub struct Misuse {
    /// The text among the imports.
    pub import: String,
    /// The text at the end.
    pub rest: String,
    /// A part of the expected message.
    pub message: &'static str,
}

/// Valid imports: design, name, type, and a body that calls it in the right form.
const RIGHT: [(&str, &str, &str); 9] = [
    ("stack", "new", "(param (ref null $c0.f)) (result (ref $c0))"),
    ("stack", "switch", "(param i32 (ref null $c1)) (result (ref null $c1))"),
    ("task", "resume", "(param (ref null $t0)) (result i32)"),
    ("task", "release", "(param (ref null $t0))"),
    ("fiber", "release", "(param (ref null $fiber))"),
    ("first-class", "start", ""),
    ("first-class", "level", "(result i32)"),
    ("first-class", "leave_to", "(param i32)"),
    ("first-class", "check_cleared", "(param (ref null $stack))"),
];

/// Imports with a tag, and perhaps a function, in a `try_table`: the operands, the tag, its values,
/// and the function.
const TAGGED: [(&str, &str, &str, &str, &str, &str); 5] = [
    ("fiber", "mount", "(ref null $fiber)", "$e0", "", ""),
    ("fiber", "dismount_release", "(ref null $fiber)", "$e0", "", ""),
    ("first-class", "switch", "(ref null $stack)", "$s0", "(ref null $stack)", ""),
    ("first-class", "switch_drop", "(ref null $stack)", "$e0", "", ""),
    ("first-class", "switch_call", "(ref null $stack)", "$e0", "", "(ref $misused.f)"),
];

const CALLED: &str = "(type $misused.f (func (param (ref null $stack)))) \
     (func $misused (type $misused.f)) (elem declare func $misused)";

const VALUE: &str = "can only be called, not exported or used as a value";

pub(super) fn choose(generator: &mut Generator<'_, '_>) -> Result<Misuse> {
    let kind = generator.below(14)?;
    if kind < 7 {
        let (design, name, ty) = generator.pick(&RIGHT)?;
        return Ok(as_value(kind, design, name, ty));
    }
    let tagged = generator.pick(&TAGGED)?;
    Ok(in_other_form(kind - 7, tagged))
}

/// A use of an import other than a call.
fn as_value(kind: usize, design: &str, name: &str, ty: &str) -> Misuse {
    let import = format!("(import \"ropewalk:{design}\" \"{name}\" (func $reserved {ty}))");
    let (rest, message) = match kind {
        0 => ("(export \"reserved\" (func $reserved))".to_string(), VALUE),
        1 => ("(elem declare func $reserved)".to_string(), VALUE),
        2 => ("(elem (table $funcs) (i32.const 0) func $reserved)".to_string(), VALUE),
        3 => ("(global funcref (ref.func $reserved))".to_string(), VALUE),
        4 => {
            // Unreachable code needs no operands.
            let results = ty.find("(result").map_or("", |at| &ty[at..]);
            let body = format!("(func {results} (unreachable) (return_call $reserved))");
            (body, "cannot be tail-called")
        }
        5 => {
            let import = format!("(import \"ropewalk:{design}\" \"{name}\" (memory 1))");
            let message = "is reserved: it has functions only";
            return Misuse { import, rest: String::new(), message };
        }
        _ => {
            let import =
                format!("(import \"ropewalk:{design}\" \"{name}s\" (func $reserved {ty}))");
            return Misuse { import, rest: String::new(), message: "there is no reserved import" };
        }
    };
    Misuse { import, rest, message }
}

/// A call of an import in the wrong form.
fn in_other_form(
    kind: usize,
    (design, name, operands, tag, values, function): (&str, &str, &str, &str, &str, &str),
) -> Misuse {
    let import = format!(
        "(import \"ropewalk:{design}\" \"{name}\" (func $reserved (param {operands} {function})))"
    );
    let named = if function.is_empty() { "" } else { "(ref.func $misused)" };
    let call = format!("{named} (call $reserved)");
    let nulls = operands.replace("(ref null", "(ref.null");
    let around = |catches: &str, body: &str| {
        format!(
            "(func {nulls} (block $sent (param {operands}) (result {values}) \
             (try_table (param {operands}) {catches} {body}) (unreachable)) (unreachable))"
        )
    };
    let catch = format!("(catch {tag} $sent)");
    let only_plain = "has only plain catches";
    let (func, message) = match kind {
        0 => (format!("(func {nulls} {call})"), "must be the whole body of a try_table"),
        1 => (around(&catch, &format!("(nop) {call}")), "must be the whole body"),
        2 => (around(&catch, &format!("{call} (nop)")), "must be the whole body"),
        3 => (around("", &call), "lacks the catch that names its tag"),
        4 => {
            let all = format!(
                "(func {nulls} (block $sent (param {operands}) \
                 (try_table (param {operands}) (catch_all $sent) {call}) (unreachable)))"
            );
            // The block leaves no values.
            (all, only_plain)
        }
        5 if name != "mount" => {
            let twice = format!("{catch} {catch}");
            (around(&twice, &call), "lacks the catch that names its tag")
        }
        _ if !function.is_empty() => {
            let body = "(ref.func $misused) (ref.as_non_null) (call $reserved)";
            // Any code in between makes it another form.
            (around(&catch, body), "must be the whole body")
        }
        _ => {
            let other = format!(
                "(func {nulls} (block $sent (param {operands}) (result i32) \
                 (try_table (param {operands}) (catch $e1 $sent) {call}) (unreachable)) \
                 (unreachable))"
            );
            (other, "do not fit: expected")
        }
    };
    Misuse { import, rest: format!("{CALLED} {func}"), message }
}
