;; An arena that joins its children, in the bag of stacks. A child passes null instead of its stack
;; with its result. The stack of the arena is in a global while a child runs.
(module
  (rec
    (type $child (stack (ref null $arena)))
    (type $arena (stack (param i64) (ref null $child))))
  (type $new (stack (param i64) (ref null $arena)))
  (table $children 4 (ref null $child))
  (global $arena (mut (ref null $arena)) (ref.null $arena))

  (func $child (param $limit i64) (param $arena (ref null $arena))
    (local $pauses i64)
    (global.set $arena (local.get $arena))
    (loop $next
      (if (i64.lt_u (local.get $pauses) (local.get $limit))
        (then
          (local.set $pauses (i64.add (local.get $pauses) (i64.const 1)))
          (global.set $arena (switch $arena (i64.const 0) (global.get $arena)))
          (br $next))))
    (switch_retire $arena (local.get $pauses) (global.get $arena)))

  (func $join (result i64)
    (local $i i32) (local $running i32) (local $total i64)
    (local $child (ref null $child)) (local $result i64)
    (local.set $running (i32.const 4))
    (loop $next
      (block $over
        (switch $child (br_on_null $over (table.get $children (local.get $i))))
        (local.set $child)
        (local.set $result)
        (table.set $children (local.get $i) (local.get $child))
        (if (ref.is_null (local.get $child))
          (then
            (local.set $total
              (i64.add (i64.mul (local.get $total) (i64.const 3)) (local.get $result)))
            (local.set $running (i32.sub (local.get $running) (i32.const 1))))))
      (local.set $i (i32.and (i32.add (local.get $i) (i32.const 1)) (i32.const 3)))
      (br_if $next (local.get $running)))
    (local.get $total))

  (func (export "run") (param $n i64) (result i64)
    (local $i i32)
    (loop $next
      (table.set $children (local.get $i)
        (stack.bind $new $child
          (i64.mul
            (i64.extend_i32_u (i32.add (local.get $i) (i32.const 1))) (local.get $n))
          (stack.new $new $child)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (call $join)))
