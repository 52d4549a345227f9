//! Sources of compilation bombs: modules that cost more than their length suggests.

use super::template::{expand, rows};
use std::sync::LazyLock;

/// The names and [templates](super::template) of all kinds. A source is about as long as its size.
pub static KINDS: LazyLock<Vec<(String, String)>> = LazyLock::new(|| rows(TABLE));

/// The source of a template for a size.
pub fn source(template: &str, n: usize) -> String {
    let (side, most, large) = (n.isqrt(), n.clamp(1, 1000), n.clamp(1, 9000));
    let counts = [
        ('n', n),
        ('p', n + 1),
        ('h', n / 2),
        ('s', side),
        ('b', side / 2),
        ('k', most),
        ('q', n / most),
        ('c', n.min(10_000)),
        ('e', n.min(900)),
        ('f', large),
        ('g', n / large),
        ('u', n / 60),
        ('v', n / 5),
    ];
    expand(template, &counts)
}

const TABLE: &str = r#"
catches times calls: (module [(tag $e#)] (func $f) (func (block $l (try_table [(catch $e# $l)] [(call $f)]))))
nested catches times calls: (module (tag $e) (func $f) (func (block $l [(try_table (catch $e $l)] [(call $f)] [)])))
nested catches with values:
  (module (tag $e (param i32)) (func $f)
    (func [(block $l# (result i32)] [(try_table (catch $e $l#) (call $f))] [(i32.const 1)) (drop)]))
clauses times resumes:
  (module (type $f (func)) (type $c (cont $f)) [s:(tag $e#)] (func (param $k (ref null $c))
    [s:(block $l (result (ref $c)) (resume $c [s:(on $e# $l)] (local.get $k)) (unreachable)) (drop)]))
clause lists:
  (module (type $f (func)) (type $c (cont $f)) [(tag $e#)] (func (param $k (ref null $c))
    [(block $l (result (ref $c)) (resume $c (on $e# $l) (local.get $k)) (unreachable)) (drop)]))
long clause list:
  (module (type $f (func)) (type $c (cont $f)) [c:(tag $e#)] (func (param $k (ref null $c))
    (block $l (result (ref $c)) (resume $c [c:(on $e# $l)] (local.get $k)) (unreachable)) (drop)))
long clause lists:
  (module (type $f (func)) (type $c (cont $f)) [s:(tag $e#)] (func (param $k (ref null $c))
    [s:(block $l (result (ref $c))
      (resume $c [s:(on $e#+@%s $l)] (local.get $k)) (unreachable)) (drop)]))
nested blocks with values:
  (module (func (param i32)) (func (param i32) (result i32 i64)
    [(block (result i32 i64)] (i32.const 1) (i64.const 1) [)]))
nested ifs: (module (func (param i32) (result i32) [(if (result i32) (local.get 0) (then (i32.const 1)) (else] (i32.const 0) [))]))

===: (module (func (param i32)) (func (param i32) $$))
nested blocks: [(block] [)]
nested loops: [(loop] [)]
nested loops with exits: [(loop (br_if 1 (local.get 0))] [)]
nested blocks with exits: [(block (br_if 0 (local.get 0))] [)]
nested loops that repeat: [(loop (br_if 0 (local.get 0))] [)]
nested try_tables: [(try_table (catch_all 0)] (call 0 (i32.const 1)) [)]
nested calls in try_tables: [(try_table (catch_all 0) (call 0 (i32.const 1))] [)]

===:
  (module (memory 1) (table $t 10 funcref) (tag $e) (type $s (struct (field i32)))
    (global $any (mut anyref) (ref.null any)) (global $v (mut v128) (v128.const i64x2 0 0))
    (func $f (param i32)) (func (param i32) [$$]))
sequence of loops: (loop (br_if 0 (local.get 0)))
sequence of blocks: (block (br_if 0 (local.get 0)))
sequence of calls: (call $f (i32.const 1))
adds: (local.set 0 (i32.add (local.get 0) (i32.const 3)))
loads and stores: (i32.store (local.get 0) (i32.load (local.get 0)))
table operations: (table.set $t (local.get 0) (table.get $t (local.get 0)))
bulk operations: (memory.copy (local.get 0) (local.get 0) (local.get 0))
indirect calls: (call_indirect $t (param i32) (local.get 0) (local.get 0))
struct.new: (drop (struct.new_default $s))
casts: (drop (ref.test (ref $s) (global.get $any)))
throws: (if (local.get 0) (then (throw $e)))
simd: (global.set $v (i8x16.shuffle 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 31 (global.get $v) (global.get $v)))

===: (module $$)
sequence of guarded calls: (tag $e) (func $f) (func [(block $l (try_table (catch $e $l) (call $f)))])
long br_table: (func (param i32) (block (block (br_table [h| 0 1] 0 (local.get 0)))))
br_tables: (func (param i32) (block [s:(block (br_table [b| 0 1] 0 (local.get 0)))]))
br_table with operands:
  (type $many (func (result [k|i32]))) (func (param i32) (result [k|i32])
    (block (type $many) (block (type $many) [k:(i32.const 1)] (br_table [h| 0 1] 0 (local.get 0)))))
brs with operands:
  (type $many (func (result [k|i32]))) (func (param i32) (result [k|i32])
    (block (type $many) [k:(i32.const 1)] [(br_if 0 (local.get 0))]))
locals: (func (local [n|i32]))
locals of all types live over calls:
  (import "m" "get_i32" (func $get_i32 (result i32))) (import "m" "take_i32" (func $take_i32 (param i32)))
  (import "m" "get_i64" (func $get_i64 (result i64))) (import "m" "take_i64" (func $take_i64 (param i64)))
  (import "m" "get_f32" (func $get_f32 (result f32))) (import "m" "take_f32" (func $take_f32 (param f32)))
  (import "m" "get_f64" (func $get_f64 (result f64))) (import "m" "take_f64" (func $take_f64 (param f64)))
  (import "m" "get_v128" (func $get_v128 (result v128))) (import "m" "take_v128" (func $take_v128 (param v128)))
  (func $f) (func (local [v|i32 i64 f32 f64 v128])
    [v:(local.set #*5 (call $get_i32)) (local.set #*5+1 (call $get_i64)) (local.set #*5+2 (call $get_f32))
      (local.set #*5+3 (call $get_f64)) (local.set #*5+4 (call $get_v128))]
    [(call $f)]
    [v:(call $take_i32 (local.get #*5)) (call $take_i64 (local.get #*5+1)) (call $take_f32 (local.get #*5+2))
      (call $take_f64 (local.get #*5+3)) (call $take_v128 (local.get #*5+4))])
references live over calls:
  (func $f) (func $get (result anyref) (ref.null any)) (func $take (param anyref)) (func (local [n|anyref])
    [(local.set # (call $get))] [(call $f)] [(call $take (local.get #))])
references set and live over calls:
  (func $f) (func $get (result anyref) (ref.null any)) (func $take (param anyref)) (func (local [n|anyref])
    (loop [(call $take (local.get #))] [(call $f)] [(local.set # (call $get))] (br 0)))
operands live over calls:
  (func $get (result anyref) (ref.null any)) (func $take (param anyref)) (func [call $get] [call $take])
locals in loops:
  (func (param i32) (local [n|i32])
    [(loop (local.set #+1 (i32.add (local.get #+1) (i32.const 1))) (br_if 0 (local.get 0)))])
parameters times calls: (func $f (param [k|i32])) (func [q:(call $f [k:(i32.const 1)])])
results times calls:
  (func $f (param [k|i32]) (result [k|i32]) unreachable) (func [k:(i32.const 1)] [(call $f)] unreachable)
block parameters:
  (type $b (func (param [k|i32]) (result [k|i32])))
  (func (param i32) [k:(i32.const 1)] [(block (type $b) (br_if 0 (local.get 0)))] unreachable)
types:
  (type $a0 (struct)) [s:(type $a#+1 (struct (field (ref null $a#))))]
  [s:[s:(type (func (param (ref null $a@) (ref null $a#))))]]
equal types: [(type (func (param i32)))]
long recursive group: (rec [(type $t# (struct (field (ref null $t#+1%n))))])
recursive groups: (type $t0 (struct)) [(type $t#+1 (struct (field (ref null $t#))))]
equal recursive groups: [s:(rec [s:(type $t@_# (struct (field (ref null $t@_#+1%s))))])]
long structs:
  [s:(type $s# (struct [s:(field (mut anyref))] (field (ref null #))))] [s:(func (drop (struct.new_default $s#)))]
chains of subtypes:
  [u:(type $t#_0 (sub (struct (field i32)))) [60:(type $t@_#+1 (sub $t@_# (struct (field i32))))]]
  (func (param anyref) [u:(drop (ref.test (ref $t#_60) (local.get 0)))])
function types:
  (type $t0 (func)) [(type $t#+1 (func (param (ref null $t#))))] [(func $f# (type $t#+1))]
  (func [(call $f# (ref.null $t#))])
continuation types:
  (type $t0 (func)) (type $c0 (cont $t0))
  [(type $t#+1 (func (param (ref null $c#)))) (type $c#+1 (cont $t#+1))]
imports: [(import "m" "f#" (func))]
exports: (func $f) [(export "f#" (func $f))]
globals: [(global (mut i32) (i32.const 7))]
reference globals: (func $f) [(global (mut funcref) (ref.func $f))]
chain of globals: (global $g0 i32 (i32.const 1)) [(global $g#+1 i32 (i32.add (global.get $g#) (i32.const 1)))]
tags: [(tag)]
element segments: (func $f) [(elem func $f $f)]
active element segments: (table 10 funcref) (func $f) [(elem (i32.const 1) func $f $f)]
long element segment: (func $f) [1:(table #+n funcref)] (elem (i32.const 0) func [n|$f])
long element segment of expressions:
  (func $f) [1:(table #+n funcref)] (elem (i32.const 0) funcref [(ref.func $f)])
data segments: (memory 1) [(data (i32.const 1) "abc")]
long constant expression: (global i32 [p:i32.const 1] [i32.add])
functions with types of their own: [(type (struct (field (ref null #))))] [(func)]
functions with many locals: [(func (local i32 i64))]
functions: [(func (param i32) (result i32) local.get 0)]
function references: [(func) (elem declare func 0)]
names: [(func $a_rather_long_name_of_a_function_#)]
constants: (global $v (mut v128) (v128.const i64x2 0 0)) (func [(global.set $v (v128.const i64x2 # 1))])
kept structs: (type $s (struct (field i32))) (func [struct.new_default $s] [drop])
array.new_fixed: (type $a (array (mut i32))) (func [g:(drop (array.new_fixed $a #*0+f [f:(i32.const 1)]))])
unreachable code: (func unreachable [(drop (i32.const 1))])

===:
  (module (type $f (func)) (type $c (cont $f)) (tag $e) (tag $e2)
    (type $fi (func (param i32))) (type $ci (cont $fi))
    (rec (type $fs (func (param (ref null $cs)))) (type $cs (cont $fs)))
    (func $g) (func $gi (param i32)) (elem declare func $g $gi)
    (func (param $k (ref null $c)) (param $ks (ref null $cs)) [$$]))
cont.new: (drop (cont.new $c (ref.func $g)))
cont.bind: (drop (cont.bind $ci $c (i32.const 1) (cont.new $ci (ref.func $gi))))
resume: (resume $c (local.get $k))
resume with a clause: (block $h (result (ref $c)) (resume $c (on $e $h) (local.get $k)) (unreachable)) (drop)
resume_throw: (resume_throw $c $e (local.get $k))
suspend: (suspend $e)
switch: (local.set $ks (switch $cs $e2 (local.get $ks)))

===:
  (module (rec (type $a (stack (ref null $a)))) (rec (type $b (stack (param i32) (ref null $a))))
    (tag $e (param (ref null $a)))
    (func $f (param (ref null $a)))
    (func (param $s (ref null $a)) (param $t (ref null $b)) [$$]))
stack.new: (drop (stack.new $a $f))
stack switch: (local.set $s (switch $a (local.get $s)))
stack.bind: (drop (stack.bind $b $a (i32.const 1) (local.get $t)))
switch_throw: (local.set $s (switch_throw $a $e (local.get $s)))

===: (module (type $t (task)) (func $f (param (ref null $t))) (func (param $k (ref null $t)) [$$]))
task.new: (drop (task.new $t $f))
task.resume: (task.resume $t (local.get $k))
task.suspend: (task.suspend $t (local.get $k))
task.switchto: (task.switchto $t $t (local.get $k) (local.get $k))
task.release: (task.release $t (local.get $k))

===: (module (tag $go) (tag $end) (func $f (param fiberref)) (func (param $k fiberref) [$$]))
fiber.new: (drop (fiber.new (on $go $f)))
fiber.mount: (fiber.mount $go (local.get $k))
fiber.mount with clauses: (block $h (fiber.mount $go (on $go $h) (on $end $h) (local.get $k)))
fiber.dismount: (fiber.dismount $go (local.get $k))
fiber.switch: (fiber.switch $go (local.get $k) (local.get $k))
fiber.release: (fiber.release (local.get $k))
fiber.mount_new: (drop (fiber.mount_new $end $f))

===:
  (module (import "host" "new_stack" (func $new-stack (result stackref)))
    (event $ev (param stackref)) (event $no) (call_tag $ask)
    (func $f (param stackref))
    (rout $r (block $first (result stackref) (try (stack.start) catch $ev $first) (unreachable)) (drop)) $$)
stack.switch:
  (func (param $s stackref) (local $x i32)
    [(block $h (result stackref) (try (stack.switch $ev (local.get_clear $s)) catch $ev $h) (unreachable)) (local.set_cleared $s)])
stack.switch_drop:
  (func (param $s stackref) (local $x i32)
    [(block $h (result stackref) (try (stack.switch_drop $no (local.get_clear $s)) catch $ev $h) (unreachable)) (local.set_cleared $s)])
stack.switch_call:
  (func (param $s stackref) (local $x i32)
    [(block $h (result stackref) (try (stack.switch_call $f (local.get_clear $s)) catch $ev $h) (unreachable)) (local.set_cleared $s)])
stack.extend: (func (param $s stackref) (local $x i32) [(drop (stack.extend $r (call $new-stack)))])
call_stack: (func (param $s stackref) (local $x i32) [(call_stack $ask)])
answers: (func (param $s stackref) (local $x i32) [(answer $ask (local.set $x (i32.const 1)) within (nop))])
nested answers: (func (local $x i32) [(answer $ask (local.set $x (i32.const 1)) within] [)])
nested redirects: (func (param $s stackref) [(stack.redirect $s] [)])
locals captured by answers:
  (func [(local $x# i32)] [(answer $ask (local.set $x# (i32.const 1)) within (nop))])
routs:
  [(rout $r# (block $first (result stackref) (try (stack.start) catch $ev $first) (unreachable)) (drop))]
  (func [(drop (stack.extend $r# (call $new-stack)))])
dialect stackref locals times returns:
  (func (param $x i32) [s:(local $s# stackref)] [(if (local.get $x) (then (return)))])
events:
  [(event $e# (param stackref))] (func (param $s stackref)
    [(block $h (result stackref) (try (stack.switch $e# (local.get_clear $s)) catch $e# $h) (unreachable)) (local.set_cleared $s)])

===: (module $$)
task thunks: (type $t (task)) [(func $f# (param (ref null $t)))] (func [(drop (task.new $t $f#))])
fiber clauses times mounts:
  [s:(tag $e#)] (func (param $k fiberref) [s:(block $h (fiber.mount $e0 [s:(on $e# $h)] (local.get $k)))])
fiber functions:
  [e:(tag $e#) (func $f# (param fiberref))] (func (drop (fiber.new [e:(on $e# $f#)])))
dialect functions:
  (type $t (task (param i32) (result i32)))
  [(func $f# (param $k (ref null $t)) (result i32) (task.resume $t (local.get $k) (i32.const #)))]
dialect line: (type $t (task (param i32) (result i32))) [n|(func $f# (param $k (ref null $t)) (result i32) (task.resume $t (local.get $k) (i32.const #)))]
dialect types: (type $t0 (task)) [(type $t#+1 (task (param (ref null $t#)) (result i32)))]
dialect locals: (type $t (task)) (func [(local $x# (ref null $t))] [(task.resume $t (local.get $x#))])
dialect nesting: (type $t (task)) (func (param $k (ref null $t)) [(block $b# (task.resume $t (local.get $k))] [)])
dialect expression nesting:
  (type $t (task (param i32) (result i32))) (func (param $k (ref null $t)) (result i32)
    [(task.resume $t (local.get $k)] (i32.const 1) [)])
"#;
