;; Two fibers, each suspended inside of nested resumes, switch to each other.
;; One operation is a switch there and one back. In `between`, one fiber is dismounted from inside
;; the resumes, after it has resumed a generator.
(module
  (type $body (func (param i32)))
  (type $nested (cont $body))
  (tag $go)
  (tag $end (param i64))
  (global $a (mut fiberref) (ref.null fiber))
  (global $b (mut fiberref) (ref.null fiber))
  (global $n (mut i64) (i64.const 0))
  (global $which (mut i32) (i32.const 0))
  (elem declare func $inside $first $second $third $ticks)
  (func $inside (type $body) (param $depth i32)
    (if (i32.eqz (local.get $depth))
      (then
        (if (i32.eq (global.get $which) (i32.const 0)) (then (return_call $to_b)))
        (if (i32.eq (global.get $which) (i32.const 1)) (then (return_call $to_a)))
        (return_call $yields)))
    (resume $nested
      (i32.sub (local.get $depth) (i32.const 1))
      (cont.new $nested (ref.func $inside))))
  (func $first (param $self fiberref) (result i64)
    (global.set $which (i32.const 0))
    (call $inside (i32.const DEPTH))
    (i64.const 1))
  (func $second (param $self fiberref) (result i64)
    (global.set $which (i32.const 1))
    (call $inside (i32.const DEPTH))
    (i64.const 2))
  (func $to_b
    (loop $next
      (block $go
        (fiber.switch $go (on $go $go) (global.get $a) (global.get $b))
        (unreachable))
      (global.set $n (i64.sub (global.get $n) (i64.const 1)))
      (br_if $next (i64.gt_s (global.get $n) (i64.const 0)))))
  (func $to_a
    (loop $next
      (block $go
        (fiber.switch $go (on $go $go) (global.get $b) (global.get $a))
        (unreachable))
      (br $next)))
  (func (export "switch") (param $n i64) (result i64)
    (global.set $n (local.get $n))
    (global.set $a (fiber.new $end (on $go $first)))
    (global.set $b (fiber.new $end (on $go $second)))
    (block $ended (result i64)
      (fiber.mount $go (on $end $ended) (global.get $a))
      (unreachable)))

  (type $plain (func))
  (type $generator (cont $plain))
  (tag $tick)
  (func $ticks (loop $next (suspend $tick) (br $next)))
  (func $yields
    (local $generator (ref null $generator))
    (local.set $generator (cont.new $generator (ref.func $ticks)))
    (loop $next
      (block $ticked (result (ref $generator))
        (resume $generator (on $tick $ticked) (local.get $generator))
        (unreachable))
      (local.set $generator)
      (block $go
        (fiber.dismount $end (on $go $go) (i64.const 1) (global.get $a))
        (unreachable))
      (br $next)))
  (func $third (param $self fiberref) (result i64)
    (global.set $which (i32.const 2))
    (call $inside (i32.const DEPTH))
    (i64.const 3))
  (func (export "between") (param $n i64) (result i64)
    (local $sum i64)
    (global.set $a (fiber.new $end (on $go $third)))
    (loop $next
      (block $ended (result i64)
        (fiber.mount $go (on $end $ended) (global.get $a))
        (unreachable))
      (local.set $sum (i64.add (local.get $sum)))
      (local.set $n (i64.sub (local.get $n) (i64.const 1)))
      (br_if $next (i64.gt_s (local.get $n) (i64.const 0))))
    (local.get $sum)))
