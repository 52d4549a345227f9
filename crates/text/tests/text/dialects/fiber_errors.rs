//! Errors in text with fibers.

use crate::common::errors::{self, error};

/// The first line of every module below.
const HEAD: &str = "(tag $e) (tag $n (param i32)) (tag $p (param i32 i64)) (tag $r (result i32)) \
    (type $kf (func)) (type $k (cont $kf)) (func $f (param fiberref)) \
    (func $g (param i32 fiberref)) (func $h (param fiberref i32)) \
    (func $i (param fiberref) (result i32) (i32.const 1)) (func $no)\n";

const MALFORMED: &str = r"
(func (fiber.mount ^0))
    => expected a name, found the number 0: a dialect module refers to it by name, because lowering
(func (fiber.mount $e (on ^0 $l)))
    => expected a name, found the number 0: a dialect module refers to it by name, because lowering
(func (block $l (fiber.mount $e (on $e ^0))))
    => expected a name, found the number 0: a dialect module refers to it by name, because lowering
(func (drop (fiber.new ^0 (on $e $f))))
    => expected a name, found the number 0: a dialect module refers to it by name, because lowering
(func (drop (fiber.mount_new $e ^0)))
    => expected a name, found the number 0: a dialect module refers to it by name, because lowering
(func (drop (fiber.new)) (call ^0))
    => expected a name, found the number 0: a dialect module refers to it by name, because lowering
(func (drop (fiber.new (on $e ^$x)))) => unknown function: there is no function named `$x`
(func (drop (fiber.new (on ^$x $f)))) => unknown tag: there is no tag named `$x`
(func (drop (fiber.new ^$x (on $e $f)))) => unknown tag: there is no tag named `$x`
(func (fiber.mount ^$x)) => unknown tag: there is no tag named `$x`
(func (fiber.switch $e
  (on $e ^$x) (fiber.new) (fiber.new))) => unknown label: failed to find name `$x`
(func (block $l (fiber.dismount $e
  (on $e $l)
  (on ^$x $l)))) => unknown tag: there is no tag named `$x`
(func (drop (fiber.mount_new $e ^$x))) => unknown function: there is no function named `$x`
(func (drop (fiber.mount_new $e $f (on $e ^$x)))) => unknown label: failed to find name `$x`
(func fiber.mount^) => `fiber.mount` expects the name of a tag here, found `)`
(func fiber.mount ^drop) => `fiber.mount` expects the name of a tag here, found `drop`
(func (fiber.mount ^(fiber.new)))
    => `fiber.mount` expects the name of a tag here, found `(fiber.new ..)`
(func (drop (fiber.mount_new $e^)))
    => `fiber.mount_new` expects the name of a function here, found `)`
(func (fiber.mount $e (on $e^) (fiber.new)))
    => `(on ..)` expects the name of a label here, found `)`
(func (fiber.mount $e (on^) (fiber.new))) => `(on ..)` expects the name of a tag here, found `)`
(func (fiber.mount $e (on $e ^switch) (fiber.new)))
    => `(on ..)` expects the name of a label here, found `switch`
(func (block $l (fiber.mount $e (on $e $l ^$l) (fiber.new))))
    => expected `)` after the two names of a clause, found `$l`
(func (block $l (fiber.dismount_release $e ^(on $e $l) (fiber.new))))
    => unexpected `(on ..)`: `fiber.dismount_release` has no clauses, since a released fiber receives
(func fiber.switch_release $e
 ^(on $e $l))
    => unexpected `(on ..)`: `fiber.switch_release` has no clauses, since a released fiber receives no
(func (^fiber.frob $e))
    => unknown operator `fiber.frob`: expected one of `fiber.new`, `fiber.mount`, `fiber.switch`,
(func (^handle (fiber.new))) => unknown operator `handle`: handle the events of a fiber with clauses
(func (^event.switch $e)) => unknown operator `event.switch`: name events in clauses
(func (param ^fiber)) => ..`fiber` is not a value type; write `fiberref` or `(ref fiber)`
(func (fiber.mount $e (fiber.new))^ => expected `)`: a parenthesis is not closed
(func (fiber.release ^$x)) => expected an instruction
(func (drop (ref.null ^fiberref))) => ..`fiberref` is a value type; the heap type is `fiber`
(func (block $l (fiber.mount $e ^$n (fiber.new))))
    => incomplete clause: expected the name of a label after the event `$n`, found `(fiber.new ..)`; clauses are written as pairs
(func (block $l (fiber.mount $e $e $l ^$n (fiber.new))))
    => incomplete clause: expected the name of a label after the event `$n`
(func (block $l (drop (fiber.mount_new $e $f ^$n))))
    => incomplete clause: expected the name of a label after the event `$n`, found `)`
(func (block $l (fiber.mount $e $e $l ^(on $e $l) (fiber.new))))
    => unexpected `(on ..)`: the clauses of one instruction are all written as pairs
(func (block $l (fiber.mount $e (on $e $l) ^$n $l (fiber.new))))
    => unexpected `$n`: the clauses of one instruction are all written as pairs
(func (drop (fiber.new $e $e $f ^(on $e $f))))
    => unexpected `(on ..)`: the clauses of one instruction
(func (drop (fiber.new $e $f ^(on $e $f)))) => unexpected `(on ..)`: the clauses of one instruction
(func (drop (fiber.new (on $e $f) ^$e $f))) => unexpected `$e`: the clauses of one instruction
(func (drop (fiber.new $e ^$e))) => unknown function: there is no function named `$e`
(func (drop (fiber.new $e $e ^0))) => expected a name, found the number 0
(func (block $l (fiber.mount $e $e ^0 (fiber.new)))) => expected a name, found the number 0
(func (block $l (fiber.dismount_release $e ^$e $l (fiber.new))))
    => unexpected `$e`: `fiber.dismount_release` has no clauses
(func (fiber.eq ^$e (fiber.new) (fiber.new))) => expected an instruction
(func (^fiber.spawn $e $f)) => unknown operator `fiber.spawn`: it was renamed to `fiber.mount_new`
(func ^fiber.resume $e) => unknown operator `fiber.resume`: it was renamed to `fiber.mount`
(func (call 0) (^fiber.suspend $e))
    => unknown operator `fiber.suspend`: it was renamed to `fiber.dismount`
(global fiberref (^fiber.retire $e))
    => unknown operator `fiber.retire`: it was renamed to `fiber.dismount_release`
";

const INVALID: &str = r"
(func (drop (fiber.new (on $e ^$no))))
    => `$no` cannot start this fiber: its last parameter must be `fiberref` or `(ref
(func (drop (fiber.new (on $n ^$f))))
    => `$f` cannot start this fiber: its last parameters must be `fiberref` or `(ref
(func (drop (fiber.new (on $e ^$h))))
    => `$h` cannot start this fiber: its last parameter must be `fiberref` or `(ref
(func $x (param i32)) (func (drop (fiber.new (on $e ^$x))))
    => `$x` cannot start this fiber: its last parameter must be `fiberref` or `(ref
(func $x (param anyref)) (func (drop (fiber.new (on $e ^$x))))
    => `$x` cannot start this fiber: its last parameter must be `fiberref` or `(ref
(func $x (param (ref null cont))) (func (drop (fiber.new (on $e ^$x))))
    => `$x` cannot start this fiber: its last parameter must be `fiberref` or `(ref
(func $x (param fiberref i64)) (func (drop (fiber.new (on $n ^$x))))
    => `$x` cannot start this fiber: its parameters after the fiber must take the values of `$n`
(func (drop (fiber.new (on $e $f) (on $e ^$g))))
    => `$g` cannot start this fiber: its parameters before the fiber must match those of the function
(func $x (param i64 fiberref))
(func (drop (fiber.new
 (on $e $g)
 (on $e ^$x) (i32.const 1))))
    => `$x` cannot start this fiber: its parameters before the fiber must match those of the function
(func $a (param fiberref fiberref)) (func $x (param anyref fiberref)) (func (drop (fiber.new (on $e $a) (on $e ^$x) (ref.null fiber))))
    => `$x` cannot start this fiber: its parameters before the fiber must match those of the function
(func (drop (fiber.new $n (on $e ^$f))))
    => `$f` cannot start this fiber: it must return the values of `$n`, the return event:
(func (drop (fiber.new $e (on $e ^$i))))
    => `$i` cannot start this fiber: it must return the values of `$e`, the return event:
(func $x (param fiberref) (result i64) (unreachable)) (func (drop (fiber.new $n (on $e ^$x))))
    => `$x` cannot start this fiber: it must return the values of `$n`, the return event
(func (drop (fiber.new (on ^$r $f))))
    => an event of fibers is a tag without results, but `$r` has results; declare another event to
(func (drop (fiber.new ^$r (on $e $f))))
    => an event of fibers is a tag without results, but `$r` has results; declare another event to
(func (fiber.mount ^$r))
    => an event of fibers is a tag without results, but `$r` has results; declare another event to
(func (block $l (fiber.mount $e (on ^$r $l) (fiber.new))))
    => an event of fibers is a tag without results, but `$r` has results; declare another event to
(func (drop (fiber.mount_new ^$r $f)))
    => an event of fibers is a tag without results, but `$r` has results; declare another event to
(func (drop (^fiber.new (on $e $g))))
    => type mismatch: `fiber.new` takes `[i32]` here, but the stack has other types
(func (drop (^fiber.new (on $e $g) (i64.const 1))))
    => type mismatch: `fiber.new` takes `[i32]` here, but the stack has other types
(func (^fiber.mount $e))
    => type mismatch: `fiber.mount` takes `[fiberref]` here, but the stack has other types
(func
  (^fiber.mount $n (fiber.new)))
    => type mismatch: `fiber.mount` takes `[i32 fiberref]` here, but the stack has other types
(func (^fiber.mount $n (i64.const 1) (fiber.new)))
    => type mismatch: `fiber.mount` takes `[i32 fiberref]` here, but the stack has other types
(func (^fiber.switch $e (fiber.new)))
    => type mismatch: `fiber.switch` takes `[fiberref fiberref]` here, but the stack has other types
(func (param funcref) (^fiber.mount $e (local.get 0)))
    => type mismatch: `fiber.mount` takes `[fiberref]` here, but the stack has other types
(func (param (ref null $k)) (^fiber.mount $e (local.get 0)))
    => type mismatch: `fiber.mount` takes `[fiberref]` here, but the stack has other types
(func (param anyref) (^fiber.mount $e (local.get 0)))
    => type mismatch: `fiber.mount` takes `[fiberref]` here, but the stack has other types
(func (^fiber.release))
    => type mismatch: `fiber.release` takes `[fiberref]` here, but the stack has other types
(func (^fiber.release (i32.const 1)))
    => type mismatch: `fiber.release` takes `[fiberref]` here, but the stack has other types
(func (result i32) (fiber.new)^) => type mismatch: expected i32, found (ref fiber)
(func (block $l (result i32) (fiber.mount $e (on $e ^$l) (fiber.new)) (i32.const 1)) (drop))
    => type mismatch: expected a label that takes [], found one that takes [i32]: the label `$l` must
(func (block $l
  (block $m (result i32)
  (fiber.mount $e (on $n $m)
 (on $n ^$l) (fiber.new)) (unreachable)) (drop)))
    => type mismatch: expected a label that takes [i32], found one that takes []: the label `$l` must
(func (block $l (result fiberref i32) (fiber.dismount $e (on $n ^$l) (fiber.new)) (unreachable)) (drop) (drop))
    => type mismatch: expected a label that takes [i32], found one that takes [fiberref i32]
(func (block $l (drop (fiber.mount_new $e $f (on $e ^$l)))))
    => type mismatch: expected a label that takes [(ref fiber)], found one that takes []: the label
(func (block $l (result i32 (ref fiber)) (drop (fiber.mount_new $e $f (on $n ^$l))) (unreachable)) (drop) (drop))
    => type mismatch: expected a label that takes [(ref fiber) i32], found one that takes [i32 (ref
(func (drop (fiber.mount_new $n ^$f)))
    => `$f` cannot start this fiber: it must return the values of `$n`, the return event:
(func (drop (fiber.mount_new $e ^$h)))
    => `$h` cannot start this fiber: its last parameter must be `fiberref` or `(ref
(func (drop (^fiber.mount_new $e $g)))
    => type mismatch: `fiber.mount_new` takes `[i32]` here, but the stack has other types
(func (fiber.mount_new $e $f)^) => type mismatch: values remaining on stack at end of block
(func (drop (^fiber.switch_new $e $f)))
    => type mismatch: `fiber.switch_new` takes `[fiberref]` here, but the stack has other types
(func (drop (^fiber.switch_new $e $g (fiber.new) (i32.const 1))))
    => type mismatch: `fiber.switch_new` takes `[i32 fiberref]` here, but the stack has other types
(func (^fiber.dismount_release $e))
    => type mismatch: `fiber.dismount_release` takes `[fiberref]` here, but the stack has other types
(global fiberref (^fiber.new))
    => constant expression required: `fiber.new` is allowed only in functions
(global fiberref
 (drop (^fiber.mount_new $e $f)))
    => constant expression required: `fiber.mount_new` is allowed only in functions
(func (param fiberref) (result i32) (^ref.eq (local.get 0) (local.get 0)))
    => type mismatch: expected subtype of eqref, found fiberref
(func (param fiberref) (result i32) (^ref.test (ref fiber) (local.get 0)))
    => invalid cast: cannot cast to a continuation type
(func (param fiberref) (result anyref) (local.get 0)^)
    => type mismatch: expected anyref, found fiberref
(func (param fiberref) (result (ref null stack)) (local.get 0)^)
    => type mismatch: expected (ref null stack), found fiberref (stack, task, fiber and
(func (param fiberref) (result contref) (local.get 0)^)
    => type mismatch: expected contref, found fiberref (stack, task, fiber and
(func (param fiberref) (result (ref fiber)) (local.get 0)^)
    => type mismatch: expected (ref fiber), found fiberref
(func (local (ref fiber)) (drop (^local.get 0))) => uninitialized local: 0
(func (param (ref null $k)) (result fiberref) (local.get 0)^)
    => type mismatch: expected fiberref, found (ref null $k)
(^table 1 (ref fiber)) => type mismatch: non-defaultable element type
(func (drop (fiber.new (on $e $y)))) (func $y (type ^$k))
    => expected a function type, but `$k` is a continuation type
";

#[test]
fn malformed() {
    errors::malformed(HEAD, MALFORMED);
}

#[test]
fn invalid() {
    errors::invalid(HEAD, INVALID);
}

#[test]
fn renamed_instructions() {
    for (old, new) in [
        ("spawn", "mount_new"),
        ("resume", "mount"),
        ("suspend", "dismount"),
        ("retire", "dismount_release"),
    ] {
        let error = error(&format!("(module\n  (func (call 0) (fiber.{old})))"));
        assert_eq!(error.position().unwrap().to_string(), "2:19", "\n{error}");
        let message = format!("unknown operator `fiber.{old}`: it was renamed to `fiber.{new}`");
        assert_eq!(error.message(), message);
        assert!(!error.is_invalid());
    }
}
