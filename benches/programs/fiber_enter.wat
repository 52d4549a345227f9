;; Creates n fibers with the same function and argument, which return at once: `mount_new` by one
;; instruction, `new_mount` by two.
;; One operation is one fiber.
(module
  (tag $start)
  (tag $return (param i64))
  (func $increment (param $n i64) (param $self fiberref) (result i64)
    (i64.add (local.get $n) (i64.const 1)))

  (func (export "mount_new") (param $n i64) (result i64)
    (local $sum i64)
    (loop $next
      (fiber.mount_new $return $increment (local.get $n))
      (local.set $sum (i64.add (local.get $sum)))
      (drop)
      (br_if $next (i64.ne (i64.const 0)
        (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $sum))

  (func (export "new_mount") (param $n i64) (result i64)
    (local $sum i64) (local $fiber fiberref)
    (loop $next
      (local.set $fiber (fiber.new $return (on $start $increment) (local.get $n)))
      (block $returned (result i64)
        (fiber.mount $start (on $return $returned) (local.get $fiber))
        (unreachable))
      (local.set $sum (i64.add (local.get $sum)))
      (br_if $next (i64.ne (i64.const 0)
        (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $sum)))
