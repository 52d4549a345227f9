;; An arena whose children race, in the bag of stacks: when the first child ends, the arena cancels
;; the others by `switch_throw`. A canceled child passes how far it came. The stack of the arena is
;; in a global while a child runs.
(module
  (rec
    (type $child (stack (ref null $arena)))
    (type $arena (stack (param i64) (ref null $child))))
  (type $new (stack (param i64) (ref null $arena)))
  (tag $cancel (param (ref null $arena)))
  (table $children 4 (ref null $child))
  (global $arena (mut (ref null $arena)) (ref.null $arena))

  (func $child (param $limit i64) (param $arena (ref null $arena))
    (local $pauses i64)
    (global.set $arena (local.get $arena))
    (block $ended
      (block $cancelled (result (ref null $arena))
        (try_table (catch $cancel $cancelled)
          (loop $next
            (if (i64.lt_u (local.get $pauses) (local.get $limit))
              (then
                (local.set $pauses (i64.add (local.get $pauses) (i64.const 1)))
                (global.set $arena (switch $arena (i64.const 0) (global.get $arena)))
                (br $next)))))
        (br $ended))
      (global.set $arena))
    (switch_retire $arena (local.get $pauses) (global.get $arena)))

  (func $race (result i64)
    (local $i i32) (local $result i64) (local $child (ref null $child))
    (loop $next
      (switch $child (table.get $children (local.get $i)))
      (local.set $child)
      (local.set $result)
      (table.set $children (local.get $i) (local.get $child))
      (local.set $i (i32.and (i32.add (local.get $i) (i32.const 1)) (i32.const 3)))
      (br_if $next (i32.eqz (ref.is_null (local.get $child)))))
    (local.set $result (i64.mul (local.get $result) (i64.const 1000)))
    (local.set $i (i32.const 0))
    (loop $next
      (block $over
        (switch_throw $child $cancel
          (br_on_null $over (table.get $children (local.get $i))))
        (drop)
        (local.set $result (i64.add (local.get $result))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (local.get $result))

  (func (export "run") (param $n i64) (result i64)
    (local $i i32)
    (loop $next
      (table.set $children (local.get $i)
        (stack.bind $new $child
          (i64.mul
            (i64.extend_i32_u (i32.sub (i32.const 4) (local.get $i))) (local.get $n))
          (stack.new $new $child)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (call $race)))
