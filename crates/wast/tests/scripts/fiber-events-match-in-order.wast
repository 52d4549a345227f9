;; An event matches the first clause for it at the receiver's suspended instruction.
;; For a fresh fiber, these are the clauses of its `fiber.new`.

(module
  (tag $a)
  (tag $b)
  (tag $n (param i32))
  (tag $leave (param i32))

  ;; In a fresh fiber, each event has its function. The first clause for an event counts.
  (func $on-a (param $self fiberref)
    (fiber.dismount $leave (i32.const 1) (local.get $self)))
  (func $on-b (param $self fiberref)
    (fiber.dismount $leave (i32.const 2) (local.get $self)))
  (func $on-n (param $self fiberref) (param $n i32)
    (fiber.dismount $leave (i32.add (i32.const 10) (local.get $n)) (local.get $self)))
  (func $fresh (result fiberref)
    (fiber.new (on $a $on-a) (on $n $on-n) (on $b $on-b) (on $a $on-b) (on $b $on-a)))
  (func $send-a (param $f fiberref) (result i32)
    (block $left (result i32)
      (fiber.mount $a (on $leave $left) (local.get $f))
      (i32.const 0)))
  (func $send-b (param $f fiberref) (result i32)
    (block $left (result i32)
      (fiber.mount $b (on $leave $left) (local.get $f))
      (i32.const 0)))
  (func $send-n (param $f fiberref) (param $n i32) (result i32)
    (block $left (result i32)
      (fiber.mount $n (on $leave $left) (local.get $n) (local.get $f))
      (i32.const 0)))
  (func (export "fresh") (result i32 i32 i32)
    (call $send-a (call $fresh))
    (call $send-b (call $fresh))
    (call $send-n (call $fresh) (i32.const 5)))

  ;; A fiber has another clause list at every suspension.
  (func $body (param $self fiberref)
    (local $n i32)
    (loop $next
      (block $third (result i32)
        (block $second
          (block $first
            (fiber.dismount $leave
              (on $a $first) (on $b $second) (on $n $third) (on $a $second) (on $b $first)
              (local.get $n) (local.get $self))
            (unreachable))
          (local.set $n (i32.const 100))
          (br $next))
        (local.set $n (i32.const 200))
        ;; Now only $b has a clause.
        (block $only
          (fiber.dismount $leave (on $b $only) (local.get $n) (local.get $self))
          (unreachable))
        (local.set $n (i32.const 201))
        (br $next))
      (local.set $n)
      (br $next)))
  (func (export "suspended") (result i32 i32 i32 i32 i32 i32)
    (local $f fiberref)
    (local.set $f (fiber.new (on $a $body)))
    (call $send-a (local.get $f))
    (call $send-a (local.get $f))
    (call $send-n (local.get $f) (i32.const 7))
    (call $send-b (local.get $f))
    ;; $a has no clause, so nothing happens.
    (call $send-a (local.get $f))
    (call $send-b (local.get $f)))

  ;; The parent is suspended at its mount, whose clauses match in order.
  (func $gives (param $self fiberref)
    (fiber.dismount $a (local.get $self)))
  (func (export "parent's clauses") (result i32)
    (block $second
      (block $first
        (fiber.mount $a (on $b $second) (on $a $first) (on $a $second)
          (fiber.new (on $a $gives)))
        (unreachable))
      (return (i32.const 1)))
    (i32.const 2))

  ;; The label of a clause can be a loop's, or outside of a try_table.
  (func $thrice (param $self fiberref)
    (loop $next
      (fiber.dismount $b (on $a $next) (local.get $self))
      (unreachable)))
  (func (export "loop's label") (result i32)
    (local $f fiberref) (local $count i32)
    (local.set $f (fiber.new (on $a $thrice)))
    (block $out
      (loop $next
        (local.set $count (i32.add (local.get $count) (i32.const 1)))
        (br_if $out (i32.gt_u (local.get $count) (i32.const 9)))
        (block $x
          (try_table (catch_all $x)
            (fiber.mount $a (on $b $next) (local.get $f))))
        (unreachable)))
    (local.get $count))

  ;; Values below the operands stay on the operand stack.
  (func (export "values below") (result i32 i64 i32)
    (i32.const 1)
    (i64.const 2)
    (block $left (result i32)
      (fiber.mount $a (on $leave $left) (call $fresh))
      (unreachable))
    (i32.const 2)
    (i32.add)))

(assert_return (invoke "fresh") (i32.const 1) (i32.const 2) (i32.const 15))
(assert_return (invoke "suspended")
  (i32.const 0) (i32.const 100) (i32.const 7) (i32.const 200) (i32.const 0) (i32.const 201))
(assert_return (invoke "parent's clauses") (i32.const 1))
(assert_return (invoke "loop's label") (i32.const 10))
(assert_return (invoke "values below") (i32.const 1) (i64.const 2) (i32.const 3))

;; Tags are compared by identity, not by type.
(module $tags
  (tag (export "one"))
  (tag (export "two")))
(register "tags" $tags)
(module
  (import "tags" "one" (tag $one))
  (import "tags" "two" (tag $two))
  (import "tags" "one" (tag $same))
  (func $body (param $self fiberref)
    (fiber.dismount $one (local.get $self)))
  (func (export "identity") (result i32)
    (block $on-two
      (block $on-same
        (block $on-one
          (fiber.mount $one (on $two $on-two) (on $same $on-same) (on $one $on-one)
            (fiber.new (on $same $body)))
          (return (i32.const 0)))
        (return (i32.const 1)))
      (return (i32.const 2)))
    (i32.const 3)))
(assert_return (invoke "identity") (i32.const 2))
