;; Unreachable fibers are garbage, even in cycles; fibers that are reachable indirectly survive.

(module
  (type $node (struct (field $fiber (mut fiberref)) (field $next (mut (ref null $node)))))
  (tag $go)
  (tag $up)
  (tag $sum (param i32))
  (tag $done)

  ;; The fiber's frame refers to the fiber itself.
  (func $own (param $self fiberref)
    (local $node (ref $node))
    (local.set $node (struct.new $node (local.get $self) (ref.null $node)))
    (struct.set $node $next (local.get $node) (local.get $node))
    (block $go
      (fiber.dismount $up (on $go $go) (local.get $self))
      (unreachable))
    (drop (struct.get $node $fiber (local.get $node))))
  ;; Two fibers refer to each other through a shared node.
  (func $pair (param $node (ref $node)) (param $self fiberref)
    (block $go
      (fiber.dismount $up (on $go $go) (local.get $self))
      (unreachable))
    (drop (struct.get $node $fiber (local.get $node))))
  (func $start (param $f fiberref)
    (block $up
      (fiber.mount $go (on $up $up) (local.get $f))
      (unreachable)))
  ;; The inner fiber of a chain refers to the outer one.
  (func $inner (param $outer fiberref) (param $self fiberref)
    (fiber.dismount $up (local.get $outer))
    (unreachable))
  (func $outer (param $self fiberref)
    (fiber.mount $go (fiber.new $done (on $go $inner) (local.get $self)))
    (unreachable))

  (func (export "cycles") (param $n i32) (result i32)
    (local $a (ref null fiber)) (local $b (ref null fiber)) (local $node (ref null $node))
    (loop $next
      (call $start (fiber.new $done (on $go $own)))
      (local.set $node (struct.new $node (ref.null fiber) (ref.null $node)))
      (local.set $a (fiber.new $done (on $go $pair) (ref.as_non_null (local.get $node))))
      (local.set $b (fiber.new $done (on $go $pair)
        (struct.new $node (local.get $a) (local.get $node))))
      (struct.set $node $fiber (local.get $node) (local.get $b))
      (call $start (local.get $a))
      (call $start (local.get $b))
      (call $start (fiber.new $done (on $go $outer)))
      ;; Fresh fibers are garbage too.
      (drop (fiber.new $done (on $go $own)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n)))
    (i32.const 1))

  ;; Each fiber of a list is reachable only from the frame of its predecessor.
  (func $link (param $rest fiberref) (param $n i32) (param $self fiberref)
    (local $sum i32)
    (block $go
      (fiber.dismount $up (on $go $go) (local.get $self))
      (unreachable))
    (if (ref.is_null (local.get $rest))
      (then (fiber.dismount_release $sum (local.get $n) (local.get $self))))
    (block $sum (result i32)
      (fiber.mount $go (on $sum $sum) (local.get $rest))
      (unreachable))
    (local.set $sum (i32.add (local.get $n)))
    (fiber.dismount_release $sum (local.get $sum) (local.get $self)))
  (global $list (mut fiberref) (ref.null fiber))
  (func (export "list") (param $n i32)
    (global.set $list (ref.null fiber))
    (loop $next
      (global.set $list (fiber.new $done (on $go $link) (global.get $list) (local.get $n)))
      (call $start (global.get $list))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func (export "sum") (result i32)
    (block $sum (result i32)
      (fiber.mount $go (on $sum $sum) (global.get $list))
      (unreachable)))

  ;; The running fiber and its ancestors survive without any reference to them.
  (func $alone (param $n i32) (param $self fiberref)
    (local.set $self (ref.null fiber))
    (drop (call $cycles-again))
    (if (local.get $n)
      (then
        (block $done
          (fiber.mount $go (on $done $done)
            (fiber.new $done (on $go $alone) (i32.sub (local.get $n) (i32.const 1))))
          (unreachable)))))
  (func $cycles-again (result i32)
    (call $start (fiber.new $done (on $go $own)))
    (i32.const 1))
  (func (export "alone") (result i32)
    (block $done
      (fiber.mount $go (on $done $done) (fiber.new $done (on $go $alone) (i32.const 20)))
      (unreachable))
    (i32.const 1)))

(assert_return (invoke "cycles" (i32.const 300)) (i32.const 1))
(invoke "list" (i32.const 100))
(assert_return (invoke "cycles" (i32.const 300)) (i32.const 1))
(assert_return (invoke "sum") (i32.const 5050))
(assert_trap (invoke "sum") "fiber is moribund")
(assert_return (invoke "alone") (i32.const 1))
