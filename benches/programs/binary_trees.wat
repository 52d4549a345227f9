;; Binary trees: run(n) creates one long-lived tree of depth 15 and n short-lived trees, one after
;; another, each walked once.
;; One operation is one node: its allocation, and its share of the walk and of the collections.
(module
  (type $node (struct (field $left (ref null $node)) (field $right (ref null $node))))

  (func $make (param $depth i32) (result (ref $node))
    (if (i32.eqz (local.get $depth))
      (then (return (struct.new_default $node))))
    (struct.new $node
      (call $make (i32.sub (local.get $depth) (i32.const 1)))
      (call $make (i32.sub (local.get $depth) (i32.const 1)))))

  (func $count (param $node (ref null $node)) (result i64)
    (if (ref.is_null (local.get $node)) (then (return (i64.const 0))))
    (i64.add
      (i64.const 1)
      (i64.add
        (call $count (struct.get $node $left (local.get $node)))
        (call $count (struct.get $node $right (local.get $node))))))

  (func (export "run") (param $n i64) (result i64)
    (local $kept (ref $node))
    (local $sum i64)
    (local.set $kept (call $make (i32.const 15)))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $sum
          (i64.add (local.get $sum) (call $count (call $make (i32.const 15)))))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (i64.add (local.get $sum) (call $count (local.get $kept)))))
