;; An arena whose children race, with fibers: when the first child returns, the arena sends the
;; event `$cancel` to the others. A canceled child returns how far it came.
(module
  (tag $go)
  (tag $cancel)
  (tag $pause)
  (tag $end (param i64))
  (table $children 4 fiberref)

  (func $child (param $limit i64) (param $me fiberref) (result i64)
    (local $pauses i64)
    (block $cancelled
      (loop $next
        (if (i64.lt_u (local.get $pauses) (local.get $limit))
          (then
            (local.set $pauses (i64.add (local.get $pauses) (i64.const 1)))
            (fiber.dismount $pause (on $go $next) (on $cancel $cancelled) (local.get $me))
            (unreachable)))))
    (local.get $pauses))

  (func $race (result i64)
    (local $i i32) (local $j i32) (local $result i64)
    (block $ended (result i64)
      (loop $next
        (block $paused
          (fiber.mount $go (on $pause $paused) (on $end $ended)
            (table.get $children (local.get $i)))
          (unreachable))
        (local.set $i (i32.and (i32.add (local.get $i) (i32.const 1)) (i32.const 3)))
        (br $next))
      (unreachable))
    (local.set $result (i64.mul (i64.const 1000)))
    (loop $next
      (if (i32.ne (local.get $i) (local.get $j))
        (then
          (block $ended (result i64)
            (fiber.mount $cancel (on $end $ended) (table.get $children (local.get $j)))
            (unreachable))
          (local.set $result (i64.add (local.get $result)))))
      (local.set $j (i32.add (local.get $j) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $j) (i32.const 4))))
    (local.get $result))

  (func (export "run") (param $n i64) (result i64)
    (local $i i32)
    (loop $next
      (table.set $children (local.get $i)
        (fiber.new $end (on $go $child)
          (i64.mul
            (i64.extend_i32_u (i32.sub (i32.const 4) (local.get $i))) (local.get $n))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (call $race)))
