;; Each design works through its reserved imports, as a compiler would use them.
;; In each, a generator yields 1, 4, 9 and so on, and "sum" adds the first n values.

;; Bag of stacks.
(module
  (rec
    (type $g.func (func (param (ref null $c))))
    (type $g (cont $g.func))
    (type $c.func (func (param i32 (ref null $g))))
    (type $c (cont $c.func)))
  (import "ropewalk:stack" "new" (func $new (param (ref null $g.func)) (result (ref $g))))
  (import "ropewalk:stack" "switch"
    (func $next (param (ref null $g)) (result i32 (ref null $g))))
  (import "ropewalk:stack" "switch"
    (func $yield (param i32 (ref null $c)) (result (ref null $c))))
  (elem declare func $squares)
  (func $squares (type $g.func) (local $i i32)
    (loop $more
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (local.set 0 (call $yield (i32.mul (local.get $i) (local.get $i)) (local.get 0)))
      (br $more)))
  (func (export "sum") (param $count i32) (result i32)
    (local $g (ref null $g)) (local $sum i32)
    (local.set $g (call $new (ref.func $squares)))
    (loop $more
      (call $next (local.get $g))
      (local.set $g)
      (local.set $sum (i32.add (local.get $sum)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $more (local.get $count)))
    (local.get $sum)))
(assert_return (invoke "sum" (i32.const 10)) (i32.const 385))

;; Tasks.
(module
  (rec (type $t.func (func (result i32))) (type $t (cont $t.func)))
  (type $body (func (param (ref null $t)) (result i32)))
  (import "ropewalk:task" "new" (func $new (param (ref $body)) (result (ref $t))))
  (import "ropewalk:task" "resume" (func $resume (param (ref null $t)) (result i32)))
  (import "ropewalk:task" "suspend" (func $suspend (param (ref null $t) i32)))
  (import "ropewalk:task" "release" (func $release (param (ref null $t))))
  (elem declare func $squares)
  (func $squares (type $body) (local $i i32)
    (loop $more
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (call $suspend (local.get 0) (i32.mul (local.get $i) (local.get $i)))
      (br $more))
    (unreachable))
  (func (export "sum") (param $count i32) (result i32)
    (local $t (ref null $t)) (local $sum i32)
    (local.set $t (call $new (ref.func $squares)))
    (loop $more
      (local.set $sum (i32.add (local.get $sum) (call $resume (local.get $t))))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $more (local.get $count)))
    (call $release (local.get $t))
    (local.get $sum)))
(assert_return (invoke "sum" (i32.const 10)) (i32.const 385))

;; Fibers.
(module
  (rec
    (type $fiber (cont $fiber.func))
    (type $fiber.func (func (param (ref null $fiber)))))
  (import "ropewalk:fiber" "new" (func $new (param (ref $fiber.func)) (result (ref $fiber))))
  (import "ropewalk:fiber" "mount" (func $mount (param (ref null $fiber))))
  (import "ropewalk:fiber" "dismount" (func $dismount (param i32 (ref null $fiber))))
  (tag $next)
  (tag $yield (param i32))
  (elem declare func $squares)
  (func $squares (type $fiber.func) (local $i i32)
    (loop $more
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (i32.mul (local.get $i) (local.get $i))
      (local.get 0)
      (block $sent (param i32 (ref null $fiber)) (result i32)
        (try_table (param i32 (ref null $fiber)) (catch $yield $sent) (catch $next $more)
          (call $dismount))
        ;; The event is not handled.
        (unreachable))
      (unreachable)))
  (func (export "sum") (param $count i32) (result i32)
    (local $fiber (ref null $fiber)) (local $sum i32)
    (block $made (result (ref $fiber))
      (block $next
        (try_table (result (ref $fiber)) (catch $next $next) (ref.func $squares) (call $new))
        (br $made))
      (unreachable))
    (local.set $fiber)
    (loop $more
      (block $yielded (result i32)
        (local.get $fiber)
        (block $sent (param (ref null $fiber))
          (try_table (param (ref null $fiber)) (catch $next $sent) (catch $yield $yielded)
            (call $mount))
          (unreachable))
        (unreachable))
      (local.set $sum (i32.add (local.get $sum)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $more (local.get $count)))
    (local.get $sum)))
(assert_return (invoke "sum" (i32.const 10)) (i32.const 385))

;; First-class stacks.
(module
  (rec
    (type $stack (cont $stack.func))
    (type $stack.func (func (param (ref null $stack) (ref null $stack)))))
  (type $rout (func))
  (import "host" "new_stack" (func $new (result (ref null $stack))))
  (import "ropewalk:first-class" "extend_trap"
    (func $extend (param (ref null $stack) (ref $rout)) (result (ref null $stack))))
  (import "ropewalk:first-class" "start" (func $start))
  (import "ropewalk:first-class" "switch" (func $to-consumer (param i32 (ref null $stack))))
  (import "ropewalk:first-class" "switch" (func $to-generator (param (ref null $stack))))
  (tag $next (param (ref null $stack)))
  (tag $yield (param i32 (ref null $stack)))
  (elem declare func $squares)
  (func $squares (type $rout) (local $i i32) (local $consumer (ref null $stack))
    (block $first (result (ref null $stack))
      (try_table (catch $next $first) (call $start))
      (unreachable))
    (local.set $consumer)
    (loop $more
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (block $next (result (ref null $stack))
        (try_table (catch $next $next)
          (i32.mul (local.get $i) (local.get $i))
          (local.get $consumer)
          (block $sent (param i32 (ref null $stack)) (result i32 (ref null $stack))
            (try_table (param i32 (ref null $stack)) (catch $yield $sent) (call $to-consumer))
            (unreachable))
          (unreachable))
        (unreachable))
      (local.set $consumer)
      (br $more)))
  (func (export "sum") (param $count i32) (result i32)
    (local $generator (ref null $stack)) (local $sum i32)
    (local.set $generator (call $extend (call $new) (ref.func $squares)))
    (loop $more
      (block $yielded (result i32 (ref null $stack))
        (try_table (catch $yield $yielded)
          (local.get $generator)
          (block $sent (param (ref null $stack)) (result (ref null $stack))
            (try_table (param (ref null $stack)) (catch $next $sent) (call $to-generator))
            (unreachable))
          (unreachable))
        (unreachable))
      (local.set $generator)
      (local.set $sum (i32.add (local.get $sum)))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $more (local.get $count)))
    (drop (local.get $generator))
    (local.get $sum)))
(assert_return (invoke "sum" (i32.const 10)) (i32.const 385))

;; Routs, as described in INTRINSICS.md.
(module
  (rec
    (type $stack (cont $stack.func))
    (type $stack.func (func (param (ref null $stack) (ref null $stack)))))
  (type $rout (func))
  (import "host" "new_stack" (func $new (result (ref null $stack))))
  (import "ropewalk:first-class" "extend_trap"
    (func $extend (param (ref null $stack) (ref $rout)) (result (ref null $stack))))
  (import "ropewalk:first-class" "start" (func $start))
  (elem declare func $returns)
  (func $returns (type $rout))
  (func (export "returns early") (drop (call $extend (call $new) (ref.func $returns))))
  (func (export "start") (call $start)))
(assert_trap (invoke "returns early") "rout returned")
(assert_trap (invoke "start") "no stack is being extended")
