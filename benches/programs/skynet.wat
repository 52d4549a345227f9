;; Skynet: run(n) creates a tree of continuations with n levels and ten children per node. A leaf
;; yields its number, and a node the sum of its children. Then they return.
;; One operation is one leaf.
(module
  (type $node (func (param i64 i64)))
  (type $fresh (cont $node))
  (type $rest (func))
  (type $paused (cont $rest))
  (tag $yield (param i64))
  (elem declare func $node)

  ;; Creates a child node, and returns the number that it yields.
  (func $ask (param $levels i64) (param $number i64) (result i64)
    (local $result i64)
    (local $paused (ref $paused))
    (block $yielded (result i64 (ref $paused))
      (resume $fresh (on $yield $yielded)
        (local.get $levels)
        (local.get $number)
        (cont.new $fresh (ref.func $node)))
      (unreachable))
    (local.set $paused)
    (local.set $result)
    (resume $paused (local.get $paused))
    (local.get $result))

  (func $node (type $node) (param $levels i64) (param $number i64)
    (local $child i64)
    (local $sum i64)
    (if (i64.eqz (local.get $levels))
      (then (suspend $yield (local.get $number)) (return)))
    (loop $next
      (local.set $sum
        (i64.add
          (local.get $sum)
          (call $ask
            (i64.sub (local.get $levels) (i64.const 1))
            (i64.add
              (i64.mul (local.get $number) (i64.const 10))
              (local.get $child)))))
      (local.set $child (i64.add (local.get $child) (i64.const 1)))
      (br_if $next (i64.lt_u (local.get $child) (i64.const 10))))
    (suspend $yield (local.get $sum)))

  (func (export "run") (param $n i64) (result i64)
    (call $ask (local.get $n) (i64.const 0))))
