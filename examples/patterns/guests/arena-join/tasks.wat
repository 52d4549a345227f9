;; An arena that joins its children, with tasks: it resumes them in turn until all have returned. A
;; second value tells whether a child has ended.
(module
  (type $child (task (result i64 i32)))
  (table $children 4 (ref null $child))

  (func $child (param $me (ref null $child)) (param $limit i64) (result i64 i32)
    (local $pauses i64)
    (loop $next
      (if (i64.lt_u (local.get $pauses) (local.get $limit))
        (then
          (local.set $pauses (i64.add (local.get $pauses) (i64.const 1)))
          (task.suspend $child (local.get $me) (i64.const 0) (i32.const 0))
          (br $next))))
    (local.get $pauses)
    (i32.const 1))

  (func $join (result i64)
    (local $i i32) (local $running i32) (local $total i64) (local $ended i32) (local $result i64)
    (local.set $running (i32.const 4))
    (loop $next
      (block $over
        (task.resume $child (br_on_null $over (table.get $children (local.get $i))))
        (local.set $ended)
        (local.set $result)
        (if (local.get $ended)
          (then
            (local.set $total
              (i64.add (i64.mul (local.get $total) (i64.const 3)) (local.get $result)))
            (table.set $children (local.get $i) (ref.null $child))
            (local.set $running (i32.sub (local.get $running) (i32.const 1))))))
      (local.set $i (i32.and (i32.add (local.get $i) (i32.const 1)) (i32.const 3)))
      (br_if $next (local.get $running)))
    (local.get $total))

  (func (export "run") (param $n i64) (result i64)
    (local $i i32)
    (loop $next
      (table.set $children (local.get $i)
        (task.new $child $child
          (i64.mul
            (i64.extend_i32_u (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (call $join)))
