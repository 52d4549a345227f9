;; An arena that joins its children, with fibers: it mounts them in turn until all have returned.
(module
  (tag $go)
  (tag $pause)
  (tag $end (param i64))
  (table $children 4 fiberref)

  (func $child (param $limit i64) (param $me fiberref) (result i64)
    (local $pauses i64)
    (loop $next
      (if (i64.lt_u (local.get $pauses) (local.get $limit))
        (then
          (local.set $pauses (i64.add (local.get $pauses) (i64.const 1)))
          (fiber.dismount $pause (on $go $next) (local.get $me))
          (unreachable))))
    (local.get $pauses))

  (func $join (result i64)
    (local $i i32) (local $running i32) (local $total i64)
    (local.set $running (i32.const 4))
    (loop $next
      (block $paused
        (block $ended (result i64)
          (fiber.mount $go (on $pause $paused) (on $end $ended)
            (br_on_null $paused (table.get $children (local.get $i))))
          (unreachable))
        (local.set $total (i64.add (i64.mul (local.get $total) (i64.const 3))))
        (table.set $children (local.get $i) (ref.null fiber))
        (local.set $running (i32.sub (local.get $running) (i32.const 1))))
      (local.set $i (i32.and (i32.add (local.get $i) (i32.const 1)) (i32.const 3)))
      (br_if $next (local.get $running)))
    (local.get $total))

  (func (export "run") (param $n i64) (result i64)
    (local $i i32)
    (loop $next
      (table.set $children (local.get $i)
        (fiber.new $end (on $go $child)
          (i64.mul
            (i64.extend_i32_u (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (call $join)))
