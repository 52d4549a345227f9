//! Errors in text with tasks.

use crate::common::errors::{self, SWITCHING, validate};
use ropewalk_text::Text;

/// The first line of every module below.
const HEAD: &str = "\
    (type $t (task (param i32) (result i64))) (type $u (task)) \
    (type $v (task (result anyref))) (type $w (taskref () (eqref))) \
    (type $c (stack (ref null $c))) (type $kf (func)) (type $k (cont $kf)) \
    (rec (type $samef (func (param i32) (result i64))) (type $same (cont $samef))) \
    (func $f (param (ref null $t) i32 f32) (result i64) (i64.const 1)) \
    (func $plain (param (ref $u))) (func $no) \
    (func $short (param (ref null $t)) (result i64) (i64.const 1)) \
    (func $other (param (ref null $t) i64) (result i64) (i64.const 1)) \
    (func $first (param i32 (ref null $t)) (result i64) (i64.const 1)) \
    (func $less (param (ref null $t) i32)) \
    (func $wrong (param (ref null $t) i32) (result i32) (i32.const 1)) \
    (func $stacked (param (ref null $c) i32) (result i64) (i64.const 1)) \
    (func $conted (param contref i32) (result i64) (i64.const 1))\n";

#[test]
fn malformed() {
    errors::malformed(HEAD, MALFORMED);
}

#[test]
fn invalid() {
    errors::invalid(HEAD, INVALID);
}

/// In a module without continuations and stacks, errors say `taskref`.
#[test]
fn the_type_of_all_tasks() {
    errors::invalid("(type $t (task)) (type $u (task (result i32)))\n", ANY_TASK);
}

const ANY_TASK: &str = r"
(func (param taskref) (^task.resume $t (local.get 0)))
    => type mismatch: expected (ref null $t), found taskref
(func (param (ref task)) (^task.release $t (local.get 0)))
    => type mismatch: expected (ref null $t), found (ref task)
(func (param i32) (^task.release (local.get 0))) => type mismatch: expected taskref, found i32
(func (param taskref) (drop (^task.eq (local.get 0))))
    => type mismatch: expected taskref but nothing on stack
(func (param taskref) (result (ref task)) (local.get 0)^)
    => type mismatch: expected (ref task), found taskref
(func (param taskref) (result (ref null $t)) (^ref.cast (ref null $t) (local.get 0))) =>
(func (param taskref) (result i32) (^ref.test (ref $t) (local.get 0))) =>
(func (param taskref) (result i32) (^ref.eq (local.get 0) (local.get 0)))
    => type mismatch: expected subtype of eqref, found taskref; use `task.eq`
(func (param taskref) (result anyref) (local.get 0)^) =>
(func (param taskref) (result (ref $u)) (block $l (result (ref $u)) (^br_on_cast $l taskref (ref $u) (local.get 0)) (unreachable)))
    =>
(func (param fiberref) (result taskref) (local.get 0)^)
    => type mismatch: expected taskref, found fiberref
(func (param taskref) (result fiberref) (local.get 0)^)
    => type mismatch: expected fiberref, found taskref
(func (param fiberref) (drop (^task.eq (local.get 0) (ref.null task)))) =>
(type $c (stack (ref null $c))) (func (param (ref null $c)) (result taskref) (local.get 0)^) =>
(func (param (ref null stack)) (result taskref) (local.get 0)^) =>
(func (param taskref) (result (ref null stack)) (local.get 0)^) =>
(func (param contref) (result taskref) (local.get 0)^) =>
(func (param taskref) (result contref) (local.get 0)^) =>
(func (result taskref) (ref.null nocont)^) =>
(type $s (struct)) (func (result taskref) (struct.new $s)^) =>
(func (param stackref) (result taskref) (local.get_clear 0)^) =>
(func $f (param anyref)) (func (drop (task.new $t ^$f)))
    => `$f` cannot be the function of a task of type `$t`: its first parameter must be the task, `(ref null? $t)` or `taskref`
(func $f (param fiberref)) (func (drop (task.new $t ^$f)))
    => `$f` cannot be the function of a task of type `$t`: its first parameter must be the task, `(ref null? $t)` or `taskref`
(type $v (task (param taskref))) (func $f (param taskref (ref null $t))) (func (drop (task.new $v ^$f)))
    => `$f` cannot be the function of a task of type `$v`: after the task it must take what `$v` receives; [taskref] does not match [(ref null $t)]
(global taskref (^task.new $t $f)) (func $f (param taskref)) => constant expression required
";

#[test]
fn errors_after_lowered_instructions() {
    let lines = "(func (task.release $t\n    (ref.null $t)))\n(func\n  (drop (task.new $t $f (f32.const 1)))\n  ^i64.eqz\n  drop)";
    errors::invalid(HEAD, &format!("{lines} => type mismatch: expected i64 but nothing on stack"));
}

#[test]
fn the_head_is_valid() {
    let text = Text::parse(HEAD).unwrap();
    validate(&text, SWITCHING).unwrap();
}

/// Unknown words and names, numeric indices, and syntax errors.
const MALFORMED: &str = r#"
(type $x (task (param (ref null ^$nope)))) => unknown type: there is no type named `$nope`
(type $x (task (result ^i33))) => unexpected token
(type $x (task ^i32)) => expected `(param ..)` or `(result ..)`, found `i32`
(type $x (task (result i32) ^(param i32)))
    => unexpected `(param ..)`: a task type has its parameters before its results
(type $x (task ^(local i32))) => expected `(param ..)` or `(result ..)`, found `(local ..)`
(type $x (task (param ^$a i32 i64))) => expected exactly one type after `$a`
(type $x (task (param ^"a"))) => expected a value type, found `"a"`
(type $x (taskref^))
    => `taskref` has two lists of types, `(taskref (r*) (s*))`: what a task receives, and what it gives; found `)`
(type $x (taskref (i32)^))
    => `taskref` has two lists of types, `(taskref (r*) (s*))`: what a task receives, and what it gives; found `)`
(type $x (taskref ^i32 i64))
    => `taskref` has two lists of types, `(taskref (r*) (s*))`: what a task receives, and what it gives; found `i32`
(type $x (taskref (i32) (i32) ^(i32)))
    => `taskref` has two lists of types, `(taskref (r*) (s*))`: what a task receives, and what it gives; found `(i32 ..)`
(type $x (taskref (i32) (i32) ^i32))
    => `taskref` has two lists of types, `(taskref (r*) (s*))`: what a task receives, and what it gives; found `i32`
(type $x (taskref (^(task)) ())) => expected a value type, found `(task ..)`
(type $x (taskref (^i33) ())) => unexpected token
(type $x (taskref ((ref ^$nope)) ())) => unknown type: there is no type named `$nope`
(type $x (taskref ((ref null ^3)) ())) => expected a name, found the number 3
(type $x (task) ^(task)) => expected `)` after the type, found `(task ..)`
(type $x (sub final (task) ^(task))) => expected `)` after the type, found `(task ..)`
(type $x (sub final (task)) ^nop) => expected `)` after the type, found `nop`
(type $x (sub ^frob (task))) => expected `(`
(type $x (stack (ref null $x)) ^(stack (ref null $x)))
    => expected `)` after the type, found `(stack ..)`
(type ^$t (func)) => duplicate type identifier
(func (param ^task))
    => unexpected token: `task` is not a value type; write `taskref` or `(ref task)`
(func (param (ref ^taskref)))
    => unexpected token: `taskref` is a value type; the heap type is `task`
(func (drop (ref.null ^taskref)))
    => unexpected token: `taskref` is a value type; the heap type is `task`
(func (param (ref null ^notask))) => unexpected token
(func (local (^taskref (i32) (i32))))
    => unexpected token `taskref`: a task type is defined by `(type $t (task ..))`
(func (param taskref) (task.release ^0 (local.get 0))) => expected a name, found the number 0
(func (param taskref) (task.eq ^$t (local.get 0) (local.get 0))) => expected an instruction
(func (param taskref) (task.eq ^0 (local.get 0) (local.get 0))) => expected an instruction
(func (param taskref) (task.resume ^(local.get 0)))
    => `task.resume` expects the name of a task type here, found `(local.get ..)`
(func (param taskref) (task.resume ^task (local.get 0)))
    => `task.resume` expects the name of a task type here, found `task`
(^task (param i32)) => unexpected token `task`: a task type is defined by
(func (^task.frob $t))
    => unknown operator `task.frob`: expected one of `task.new`, `task.resume`, `task.suspend`,
(func ^task.yield $t)
    => unknown operator `task.yield`: expected one of `task.new`, `task.resume`, `task.suspend`,
(func (param ^(taskref (i32) (i32))))
    => expected a value type, found `(taskref ..)`: define a type `(type $t (task ..))`, and refer to it by
(func (^let (local i32))) => unknown operator `let`: declare a local with
(func (task.resume^)) => `task.resume` expects the name of a task type here, found `)`
(func task.resume ^drop) => `task.resume` expects the name of a task type here, found `drop`
(func (task.resume ^$nope)) => unknown type: there is no type named `$nope`
(func (task.resume ^0)) => expected a name, found the number 0
(func (task.resume ^"t")) => `task.resume` expects the name of a task type here, found `"t"`
(func (task.new $t^)) => `task.new` expects the name of a function here, found `)`
(func (task.new $t ^(i32.const 1)))
    => `task.new` expects the name of a function here, found `(i32.const ..)`
(func (task.new $t ^$nope)) => unknown function: there is no function named `$nope`
(func (task.new $t ^0)) => expected a name, found the number 0
(func (param $x ^$t))
    => expected a value type, found `$t`: to refer to a type, write `(ref null $t)`
(func (local $x ^$t))
    => expected a value type, found `$t`: to refer to a type, write `(ref null $t)`
(func (result ^$t) (unreachable))
    => expected a value type, found `$t`: to refer to a type, write `(ref null $t)`
(func (block (result ^$t) (unreachable)) (drop))
    => expected a value type, found `$t`: to refer to a type, write `(ref null $t)`
(type $x (taskref (^$t) ()))
    => expected a value type, found `$t`: to refer to a type, write `(ref null $t)`
(func (drop (task.new ^$f (f32.const 1))))
    => `task.new` expects the name of a task type here, found the function `$f`: write `task.new $t $f`
(func (drop (task.new ^$plain)))
    => `task.new` expects the name of a task type here, found the function `$plain`: write `task.new $u $plain`
(func (drop (task.new ^$no)))
    => `task.new` expects the name of a task type here, found the function `$no`: write `task.new $t $no`
(func (task.new ^$f $t)) => unknown type: there is no type named `$f`
(func (task.switchto $t^)) => `task.switchto` expects the name of a task type here, found `)`
(func (task.switchto $t ^(local.get 0)))
    => `task.switchto` expects the name of a task type here, found `(local.get ..)`
(func (task.switchto $t ^$nope)) => unknown type: there is no type named `$nope`
(func (task.switchto $t ^1)) => expected a name, found the number 1
(func (task.suspend $t ^$t)) => expected an instruction
(func (task.release $t) (call ^0)) => expected a name, found the number 0
(func (task.release $t (local.get ^$nope))) => unknown local: failed to find name `$nope`
(func (block $l (task.release $t (br ^0)))) => expected a name, found the number 0
(func (task.release $t)^ => expected `)`: a parenthesis is not closed
(func (task.release $t))^) => unexpected `)`: no parenthesis is open here
(func ^$f) => duplicate func identifier
"#;

/// Wrong types, and conditions of the design.
const INVALID: &str = r#"
(^type $x (sub (task))) => a task type is final and has no supertype
(type $x (sub ^$t (task (param i32) (result i64)))) => a task type is final and has no supertype
(type $x (sub final ^$t (task))) => a task type is final and has no supertype
(type $x (sub ^$c (task))) => a task type is final and has no supertype
(^type $x (sub $t (func (param i32) (result i64)))) => sub type cannot have a final super type
(type $x (sub ^$t (stack (ref null $c)))) => expected a stack type, but `$t` is a task type
(type $x (task (param (ref null ^$y)))) (type $y (task))
    => unknown type: `$y` is defined later; put types that refer to each other into one `(rec ..)`
(type $x (stack (ref null ^$y))) (type $y (stack (ref null $y)))
    => unknown type: `$y` is defined later; put types that refer to each other into one `(rec ..)`
(type $x (struct (field (ref null ^$y)))) (type $y (task))
    => unknown type: `$y` is defined later; put types that refer to each other into one `(rec ..)`
(type $x (cont ^$y)) (type $y (func))
    => unknown type: `$y` is defined later; put types that refer to each other into one `(rec ..)`
(func (task.resume ^$k)) => expected a task type, but `$k` is a continuation type
(func (task.resume ^$kf)) => expected a task type, but `$kf` is a function type
(func (task.suspend ^$c)) => expected a task type, but `$c` is a stack type
(func (task.retire ^$k)) => expected a task type, but `$k` is a continuation type
(func (task.release ^$c)) => expected a task type, but `$c` is a stack type
(func (task.new ^$c $f)) => expected a task type, but `$c` is a stack type
(func (task.switchto ^$c $t)) => expected a task type, but `$c` is a stack type
(func (task.switchto $t ^$k)) => expected a task type, but `$k` is a continuation type
(func (switch ^$t)) => expected a stack type, but `$t` is a task type
(func (stack.new ^$t $f)) => expected a stack type, but `$t` is a task type
(func (stack.bind $c ^$t)) => expected a stack type, but `$t` is a task type
(func (drop (task.new $t ^$no)))
    => `$no` cannot be the function of a task of type `$t`: it must give what `$t` gives: `$t` gives 1, and `$no` gives 0
(func (drop (task.new $t ^$short)))
    => `$short` cannot be the function of a task of type `$t`: after the task it must take what `$t` receives: `$t` receives 1, and `$short` takes 0
(func (drop (task.new $t ^$other)))
    => `$other` cannot be the function of a task of type `$t`: after the task it must take what `$t` receives; [i32] does not match [i64]
(func (drop (task.new $t ^$first)))
    => `$first` cannot be the function of a task of type `$t`: its first parameter must be the task, `(ref null? $t)`
(func (drop (task.new $t ^$less)))
    => `$less` cannot be the function of a task of type `$t`: it must give what `$t` gives: `$t` gives 1, and `$less` gives 0
(func (drop (task.new $t ^$wrong)))
    => `$wrong` cannot be the function of a task of type `$t`: it must give what `$t` gives; [i32] does not match [i64]
(func (drop (task.new $t ^$stacked)))
    => `$stacked` cannot be the function of a task of type `$t`: its first parameter must be the task, `(ref null? $t)`
(func (drop (task.new $t ^$conted)))
    => `$conted` cannot be the function of a task of type `$t`: its first parameter must be the task, `(ref null? $t)`
(func (drop (^task.new $t $f))) => type mismatch: expected f32 but nothing on stack
(func (drop (^task.new $t $f (i32.const 1)))) => type mismatch: expected f32, found i32
(func (drop (^task.new $t $f (f32.const 1) (i32.const 1))))
    => type mismatch: expected f32, found i32
(func (task.new $t $f (f32.const 1))^) => type mismatch: values remaining on stack at end of block
(func (param (ref null $t)) (^task.resume $t (local.get 0)))
    => type mismatch: expected i32, found (ref null $t)
(func (param (ref null $t)) (^task.resume $t (i32.const 1) (local.get 0)))
    => type mismatch: expected i32, found (ref null $t)
(func (param (ref null $t)) (task.resume $t (local.get 0) (i32.const 1))^)
    => type mismatch: values remaining on stack at end of block
(func (param (ref null $t)) (result i32) (task.resume $t (local.get 0) (i32.const 1))^)
    => type mismatch: expected i32, found i64
(func (param (ref null $u)) (drop (^task.resume $t (local.get 0) (i32.const 1))))
    => type mismatch: expected (ref null $t), found (ref null $u)
(func (param (ref null $t)) (drop (^task.suspend $t (local.get 0) (i32.const 1))))
    => type mismatch: expected i64, found i32
(func (param (ref null $t)) (result i64) (task.suspend $t (local.get 0) (i64.const 1))^)
    => type mismatch: expected i64, found i32
(func (param (ref null $t)) (^task.retire $t (local.get 0)))
    => type mismatch: expected i64, found (ref null $t)
(func (param (ref null $t)) (^task.release $t (local.get 0) (i32.const 1)))
    => type mismatch: expected (ref null $t), found i32
(func (param (ref null $t)) (^task.release $u (local.get 0)))
    => type mismatch: expected (ref null $u), found (ref null $t)
(func (param (ref null $t) (ref null $u)) (task.switchto $t ^$u (local.get 0) (local.get 1)))
    => `task.switchto` resumes `$u` in place of `$t`, so the values that `$u` gives must match those
(func (param (ref null $t) (ref null $v)) (drop (task.switchto $t ^$v (local.get 0) (local.get 1))))
    => `task.switchto` resumes `$v` in place of `$t`, so the values that `$v` gives must match those
(func (result i32) (i64.const 1)) (func (drop (task.switchto $t ^$v (ref.null $t) (ref.null $v))))
    => `task.switchto` resumes `$v` in place of `$t`, so the values that `$v` gives must match those
(func (param (ref null $w) (ref null $v)) (^task.switchto $v $w (local.get 0) (local.get 1)))
    => type mismatch: expected (ref null $w), found (ref null $v)
(func (param (ref null $t)) (result contref) (local.get 0)^)
    => type mismatch: expected contref, found (ref null $t) (stack, task, fiber and
(func (param contref) (result (ref null $t)) (local.get 0)^)
    => type mismatch: expected (ref null $t), found contref
(func (param (ref null $t)) (result (ref null stack)) (local.get 0)^)
    => type mismatch: expected (ref null stack), found (ref null $t) (stack, task, fiber and
(func (param (ref null $t)) (result fiberref) (local.get 0)^)
    => type mismatch: expected fiberref, found (ref null $t)
(func (param (ref null $same)) (result (ref null $t)) (local.get 0)^)
    => type mismatch: expected (ref null $t), found (ref null $same) (stack, task, fiber and
(func (param (ref null $t)) (result structref) (local.get 0)^)
    => type mismatch: expected structref, found (ref null $t)
(func (param (ref null $t)) (result (ref null $v)) (local.get 0)^)
    => type mismatch: expected (ref null $v), found (ref null $t)
(func (result (ref null $t)) (ref.null nocont)^)
    => type mismatch: expected (ref null $t), found nullcontref (stack, task, fiber and
(func (result (ref null $t)) (ref.null none)^)
    => type mismatch: expected (ref null $t), found nullref
(func (param (ref null $t)) (drop (^resume $t (i32.const 1) (local.get 0))))
    => expected a continuation type, but `$t` is not one (stack, task, fiber and continuation types are different
(func (drop (^cont.new $t (ref.null nofunc))))
    => expected a continuation type, but `$t` is not one (stack, task, fiber and continuation types are different
(func (param (ref null $t)) (drop (^struct.get $t 0 (local.get 0))))
    => expected struct type, but `$t` is a task type
(func (drop (^struct.new $t (ref.null nofunc)))) => expected struct type, but `$t` is a task type
(func (param (ref null $t)) (drop (^ref.eq (local.get 0) (local.get 0))))
    => type mismatch: expected subtype of eqref, found (ref null $t)
(func (param (ref null $t)) (drop (^ref.cast (ref $t) (local.get 0))))
    => invalid cast: cannot cast to a continuation type
(func (param (ref null $t)) (drop (^ref.test (ref $t) (local.get 0))))
    => invalid cast: cannot cast to a continuation type
(func (local $x (ref $t)) (task.release $t (^local.get $x))) => uninitialized local: 0
(global (ref null $u) (^task.new $u $plain))
    => constant expression required: `task.new` is allowed only in functions
(func (task.release $t (ref.null $t)) (i32.const 1)^)
    => type mismatch: values remaining on stack at end of block
(func (task.release $t (ref.null $t)) (^i32.add (i32.const 1) (i64.const 2)) drop)
    => type mismatch: expected i32, found i64
(func (result i32) (drop (task.new $t $f (f32.const 1)))^)
    => type mismatch: expected i32 but nothing on stack
(export "a" (func $f)) (^export "a" (func $f)) (func (task.release $t (ref.null $t)))
    => duplicate export name `a` already defined
"#;
