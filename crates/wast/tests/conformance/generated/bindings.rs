//! `cont.bind` of any number of arguments, in one or two steps. The first few arguments travel in
//! registers, wherever they come from.

use super::check_in;
use super::signatures::{MIXED, value};
use ropewalk::stress;

/// Checks a function with `total` parameters. Binds the first `bound[0]`, then `bound[1]` more, and
/// passes the others with the `resume`.
#[track_caller]
fn check_bound(total: usize, bound: [usize; 2]) {
    let name = format!("{} and {} of {total} bound", bound[0], bound[1]);
    let modes = [stress::DEFAULT, stress::MOVE, stress::CHECK];
    check_in(&modes, &name, &script(total, bound));
}

fn script(total: usize, bound: [usize; 2]) -> String {
    let types: Vec<_> = MIXED.iter().copied().cycle().take(total).collect();
    let values: Vec<_> = types.iter().enumerate().map(|(i, ty)| value(ty, i)).collect();
    let [once, twice] = [bound[0], bound[0] + bound[1]];
    let all = types.join(" ");
    let results = values.join(" ");
    let parameters: String = (0..total).map(|i| format!("(local.get {i}) ")).collect();
    let binding = |continuation: &str| {
        format!(
            "(resume $rest {} (cont.bind $some $rest {} (cont.bind $all $some {} {continuation})))",
            values[twice..].join(" "),
            values[once..twice].join(" "),
            values[..once].join(" "),
        )
    };
    format!(
        r#"(module
  (type $f (func (param {all}) (result {all}))) (type $all (cont $f))
  (type $g (func (param {}) (result {all}))) (type $some (cont $g))
  (type $h (func (param {}) (result {all}))) (type $rest (cont $h))
  (type $start (func (result {all}))) (type $asking (cont $start))
  (tag $ask (result {all}))
  (elem declare func $echo $asks)
  (func $echo (type $f) {parameters})
  (func $asks (type $start) (suspend $ask))
  (func (export "new") (result {all}) {new})
  (func (export "suspended") (result {all})
    (local $paused (ref null $all))
    (block $asked (result (ref $all))
      (return (resume $asking (on $ask $asked) (cont.new $asking (ref.func $asks)))))
    (local.set $paused)
    {suspended}))
(assert_return (invoke "new") {results})
(assert_return (invoke "suspended") {results})
"#,
        types[once..].join(" "),
        types[twice..].join(" "),
        new = binding("(cont.new $all (ref.func $echo))"),
        suspended = binding("(local.get $paused)"),
    )
}

#[test]
fn every_part_of_up_to_nine() {
    for total in 1..=9 {
        for bound in 0..=total {
            check_bound(total, [bound, 0]);
        }
    }
}

#[test]
fn in_two_steps() {
    for total in 2..=7 {
        for first in 1..total {
            for second in 1..=total - first {
                check_bound(total, [first, second]);
            }
        }
    }
}

#[test]
fn parts_of_many() {
    for bound in [[1, 0], [3, 0], [4, 7], [50, 1], [96, 0], [99, 0], [99, 1], [100, 0]] {
        check_bound(100, bound);
    }
}
