//! Families of modules that scale two counts. Compiling them could take time in proportion to the
//! product of the counts.
//!
//! A source is about as long as the sum of the counts. The families cover the counts that a module
//! can make large: operands, locals, references, calls, blocks, loops, branches, cases, clauses,
//! tags, types, functions.

use super::template::{expand, rows};
use std::sync::LazyLock;

/// The names and [templates](super::template) of all families.
pub static PAIRS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| rows(TABLE));

/// The source of a template for two counts.
pub fn source(template: &str, a: usize, b: usize) -> String {
    let (many, some) = (a.min(1000), a.clamp(1, 900));
    let counts = [
        ('a', a),
        ('b', b),
        ('A', a + 1),
        ('o', b + 1),
        ('d', a.min(19_000)),
        ('f', a.min(9000)),
        ('j', a / b.max(1)),
        ('k', many),
        ('l', some - 1),
        ('m', some),
        ('p', 1 + b / many.max(1)),
        ('r', 1 + b / a.max(1)),
        ('t', 1 + b / some),
        ('v', a.div_ceil(9)),
        ('w', a / 60),
        ('c', a / 60 * 60 + 1),
        ('z', usize::from(!a.is_multiple_of(60))),
        ('e', (a % 60).saturating_sub(1)),
        ('x', a.div_ceil(4)),
        ('y', b.div_ceil(4)),
    ];
    expand(template, &counts)
}

const TABLE: &str = r#"
===:
  (module (memory 1) (table 10 funcref) (global $g (mut i32) (i32.const 0))
    (global $r (mut anyref) (ref.null any)) (func $f)
    (func (export "run") (param i32) [a:(i32.load offset=# (local.get 0))] $$
      (i32.const 0) [a:(i32.add)] (global.set $g)))
operands, straight line:
operands, ifs: [b:(if (local.get 0) (then (global.set $g (i32.const 1))))]
operands, blocks: [b:(block (br_if 0 (local.get 0)))]
operands, loops: [b:(loop (br_if 0 (local.get 0)))]
operands, nested loops: [b:(loop (br_if 0 (local.get 0))] [b:)]
operands, calls: [b:(call $f)]
operands, guarded calls: (block $l (try_table (catch_all $l) [b:(call $f)]))
operands, cases: [o:(block](br_table [b|#] 0 (local.get 0)))[b:(global.set $g (i32.const 1)))]
operands, branches to one block: (block [b:(br_if 0 (local.get 0))])

===: (module (memory 1) (table 10 funcref) (global $g (mut i32) (i32.const 0))
    (global $r (mut anyref) (ref.null any)) (func $f) (func (export "run") (param i32) $$))
vectors, ifs:
  (local v128) [a:(v128.load (global.get $g)) (global.set $g (i32.const 7))]
  [b:(if (local.get 0) (then (global.set $g (i32.const 1))))] (i8x16.splat (i32.const 0)) [a:(v128.xor)] (local.set 1)
  (v128.store (i32.const 0) (local.get 1))
common terms, ifs:
  [a:(global.set $g (i32.mul (local.get 0) (i32.const #)))] [b:(if (local.get 0) (then (global.set $g (i32.const 1))))]
  [a:(global.set $g (i32.mul (local.get 0) (i32.const #)))]
locals that rotate in loops:
  (local [A|i32])
  [r:(loop [a:(local.set #+1 (local.get #+2))] (local.set #*0+A (local.get 0)) (br_if 0 (local.get 0)))]
  [A:(global.set $g (local.get #+1))]
references at once, later calls:
  (local [a|anyref]) [a:(local.set #+1 (global.get $r))] (call $f) [a:(global.set $r (local.get #+1))]
  [b:(call $f)] [1:(global.set $r (local.get #+a))]
reference operands, calls: [a:(global.get $r)] [b:(call $f)] [a:(global.set $r)]
cases, tables: [a:(block] [r:(block (br_table [a|#] 0 (local.get 0)))] [a:)]
cases with a value:
  [A:(block (result i32)] (local.get 0) (br_table [a|#] 0 (local.get 0))) [a:(drop) (local.get 0))]
  [b:(if (local.get 0) (then (global.set $g (i32.const 1))))] (drop)
nested blocks, branches out: [d:(block] [b:(br_if #%a (local.get 0))] [d:)]
nested loops, branches back: [d:(loop] [b:(br_if #%a (local.get 0))] [d:)]
loads, calls: [b:(global.set $g (i32.load (local.get 0))) (call $f)]
globals, builtins:
  [b:(drop (memory.grow (local.get 0)))] [a:(global.set $g (i32.add (global.get $g) (local.get 0)))]

===:
  (module (memory 1) (table 10 funcref) (global $g (mut i32) (i32.const 0))
    (global $r (mut anyref) (ref.null any)) (func $f)
    (func (export "run") (param i32) (local [a|i32])
      [a:(local.set #+1 (i32.load offset=# (local.get 0)))] $$ [a:(global.set $g (local.get #+1))]))
locals, ifs: [b:(if (local.get 0) (then (local.set 1 (i32.const 5))))]
locals set in ifs: [b:(if (local.get 0) (then (local.set #%a+1 (i32.const 5))))]
locals, loops: [b:(loop (br_if 0 (local.get 0)))]
locals, nested loops: [b:(loop (br_if 0 (local.get 0))] [a:(global.set $g (local.get #+1))] [b:)]
locals, nested blocks: [b:(block (br_if 0 (local.get 0))] [a:(global.set $g (local.get #+1))] [b:)]
locals, nested ifs: [b:(if (local.get 0) (then] [a:(global.set $g (local.get #+1))] [b:))]
locals, branches to one block: (block [b:(local.set #%a+1 (i32.const #)) (br_if 0 (local.get 0))])
locals, cases: [o:(block](br_table [b|#] 0 (local.get 0)))[b:(global.set $g (i32.const 1)))]
locals set in cases: [o:(block](br_table [b|#] 0 (local.get 0)))[b:(local.set #%a+1 (i32.const #)))]
locals, calls: [b:(call $f)]
locals, guarded calls: [b:(block $l (try_table (catch_all $l) (call $f)))]
locals set between guarded calls:
  (block $l (try_table (catch_all $l) [b:(local.set #%a+1 (i32.const #)) (call $f)]))

===:
  (module (memory 1) (table 10 funcref) (global $g (mut i32) (i32.const 0))
    (global $r (mut anyref) (ref.null any)) (func $f)
    (func (export "run") (param i32) (local [a|anyref])
      [a:(local.set #+1 (global.get $r))] $$ [a:(global.set $r (local.get #+1))]))
references, calls: [b:(call $f)]
references, ifs: [b:(if (local.get 0) (then (global.set $g (i32.const 1))))]
references, loops: [b:(loop (call $f) (br_if 0 (local.get 0)))]
references, nested loops: [b:(loop (br_if 0 (local.get 0))] (call $f) [b:)]

===:
  (module (import "host" "new_stack" (func $new (result stackref)))
    (import "host" "take_stack" (func $take (param stackref)))
    (type $s (struct (field i32))) (global $g (mut i32) (i32.const 0))
    (func $g) (func (param i32) $$))
stack locals, calls: [a:(local $s# stackref)] [a:(local.set_cleared $s# (call $new))] [b:(call $g)]
stack locals, ifs: [a:(local $s# stackref)] [a:(local.set_cleared $s# (call $new))] [b:(if (local.get 0) (then (global.set $g (i32.const 1))))]
stack locals, allocations:
  [a:(local $s# stackref)] [a:(local.set_cleared $s# (call $new))] [b:(drop (struct.new_default $s))]
stack operands, calls: [a:(call $new)] [b:(call $g)] [a:(call $take)]
stack operands, branches: (block $out [a:(call $new)] [b:(br_if $out (local.get 0))] [a:(call $take)])

===: (module (memory 1) (table 10 funcref) (global $g (mut i32) (i32.const 0))
    (global $r (mut anyref) (ref.null any)) $$))
block parameters that rotate:
  (type $many (func (param [m|i32]) (result [m|i32]))) (func $f)
  (func (export "run") (param i32) (local [m|i32]) [m:(i32.const 0)]
    [t:(loop (type $many) [m:(local.set #~m+1)] [l:(local.get #+2)] (local.get 0) (br_if 0 (local.get 0)))]
    [m:(drop)]
parameters, calls:
  (func $many (param [k|i32])) (func $f)
  (func (export "run") (param i32) [p:[k:(local.get 0)] (call $many)]
results, calls:
  (func $many (result [k|i32]) (unreachable)) (func $f)
  (func (export "run") (param i32) [b:(block (call $many) (br 0))]
clauses, calls:
  [a:(tag $e#)] (func $f) (func (export "run") (param i32)
    (block $l (try_table [f:(catch $e# $l)] [b:(call $f)]))
nested try_tables, calls:
  [a:(tag $e#)] (func $f) (func (export "run") (param i32)
    (block $l [a:(try_table (catch $e# $l)] [b:(call $f)] [a:)])
clauses, resumes:
  (type $v (func)) (type $c (cont $v)) [a:(tag $e#)] (func $f)
  (func (export "run") (param i32) (local $k (ref null $c))
    (block $l (result (ref $c)) (resume $c [f:(on $e# $l)] (local.get $k)) (unreachable)) (drop)
    [b:(resume $c (local.get $k))]
locals, resumes:
  (type $v (func)) (type $c (cont $v)) (func $f)
  (func (export "run") (param i32) (local [a|i32]) (local $k (ref null $c))
    [a:(local.set #+1 (i32.load offset=# (local.get 0)))] [b:(resume $c (local.get $k))] [a:(global.set $g (local.get #+1))]
references, suspends:
  (type $v (func)) (type $c (cont $v)) (tag $e) (func $f)
  (func (export "run") (param i32) (local [a|anyref])
    [a:(local.set #+1 (global.get $r))] [b:(suspend $e)] [a:(global.set $r (local.get #+1))]
block results, cases:
  (type $many (func (result [k|i32]))) (func $f)
  (func (export "run") (param i32)
    (block (type $many) [k:(local.get 0)] (br_table [b|0] 0 (local.get 0))) [k:(drop)]
casts, types:
  (type $t0 (sub (struct)))
  [w:(type $t#*60+1 (sub $t0 (struct))) [59:(type $t@*60+#+2 (sub $t@*60+#+1 (struct)))]]
  [z:(type $t#+c (sub $t0 (struct)))] [e:(type $t#+1+c (sub $t#+c (struct)))] (func $f)
  (func (export "run") (param i32) [b:(drop (ref.test (ref $t#%a) (global.get $r)))]
fields, objects:
  (type $wide (struct [f:(field i32)])) (func $f)
  (func (export "run") (param i32) [b:(drop (struct.new_default $wide))]
signatures, indirect calls:
  [x:[4:(type $t@_# (func (param [#|i32])))]] (func $f)
  (func (export "run") (param i32)
    [y:[4:(call_indirect (type $t@%x_#) [#:(local.get 0)] (local.get 0))]]
one long function, short ones:
  [b:(func (param i32) (result i32) (local.get 0))] (func $f)
  (func (export "run") (param i32) [a:(if (local.get 0) (then (global.set $g (i32.const 1))))]

===: (module $$)
types, functions: [v:[9:(type $t@_# (func (param [#|i32])))]] [b:(func (type $t#%v_#%9))]
locals of functions: [b:(func (local [j|i32]))]
"#;
