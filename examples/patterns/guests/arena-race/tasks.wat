;; An arena whose children race, with tasks: when the first child returns, the arena resumes the
;; others with 1, which tells them to return how far they came.
(module
  (type $child (task (param i32) (result i64 i32)))
  (table $children 4 (ref null $child))

  (func $child (param $me (ref null $child)) (param $cancel i32) (param $limit i64)
    (result i64 i32)
    (local $pauses i64)
    (block $cancelled
      (br_if $cancelled (local.get $cancel))
      (loop $next
        (if (i64.lt_u (local.get $pauses) (local.get $limit))
          (then
            (local.set $pauses (i64.add (local.get $pauses) (i64.const 1)))
            (br_if $next
              (i32.eqz
                (task.suspend $child (local.get $me) (i64.const 0) (i32.const 0))))))))
    (local.get $pauses)
    (i32.const 1))

  (func $race (result i64)
    (local $i i32) (local $j i32) (local $result i64)
    (loop $next
      (task.resume $child (table.get $children (local.get $i)) (i32.const 0))
      (if (param i64) (i32.eqz)
        (then
          (drop)
          (local.set $i (i32.and (i32.add (local.get $i) (i32.const 1)) (i32.const 3)))
          (br $next))
        (else
          (local.set $result (i64.mul (i64.const 1000))))))
    (loop $next
      (if (i32.ne (local.get $i) (local.get $j))
        (then
          (task.resume $child (table.get $children (local.get $j)) (i32.const 1))
          (drop)
          (local.set $result (i64.add (local.get $result)))))
      (local.set $j (i32.add (local.get $j) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $j) (i32.const 4))))
    (local.get $result))

  (func (export "run") (param $n i64) (result i64)
    (local $i i32)
    (loop $next
      (table.set $children (local.get $i)
        (task.new $child $child
          (i64.mul
            (i64.extend_i32_u (i32.sub (i32.const 4) (local.get $i))) (local.get $n))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (call $race)))
