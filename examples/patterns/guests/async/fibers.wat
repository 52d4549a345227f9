;; Asynchronous programs as fibers. A fiber dismounts itself with the number of its promise, and the
;; event loop mounts it with the value.
(module
  (import "host" "fetch" (func $fetch (param i64) (result i32)))
  (import "host" "settled" (func $settled (result i32 i64)))
  (tag $value (param i64))
  (tag $await (param i32))
  (tag $end)
  (table $waiting 3 fiberref)
  (global $open (mut i32) (i32.const 3))
  (global $n (mut i64) (i64.const 0))
  (global $total (mut i64) (i64.const 0))

  (func $program (param $me fiberref) (param $number i64)
    (local $i i64)
    (loop $next
      (if (i64.lt_u (local.get $i) (global.get $n))
        (then
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (block $value (result i64)
            (fiber.dismount $await (on $value $value)
              (call $fetch (i64.mul (local.get $number) (local.get $i))) (local.get $me))
            (unreachable))
          (call $add)
          (br $next)))))
  (func $add (param $value i64)
    (global.set $total
      (i64.add (i64.mul (global.get $total) (i64.const 3)) (local.get $value))))

  ;; Runs a program until it waits for a promise or ends.
  (func $continue (param $value i64) (param $program fiberref)
    (block $end
      (block $awaits (result i32)
        (fiber.mount $value (on $await $awaits) (on $end $end)
          (local.get $value) (local.get $program))
        (unreachable))
      (table.set $waiting (local.get $program))
      (return))
    (global.set $open (i32.sub (global.get $open) (i32.const 1))))

  (func (export "run") (param $n i64) (result i64)
    (local $value i64) (local $promise i32)
    (global.set $n (local.get $n))
    (call $continue (i64.const 1) (fiber.new $end (on $value $program)))
    (call $continue (i64.const 2) (fiber.new $end (on $value $program)))
    (call $continue (i64.const 3) (fiber.new $end (on $value $program)))
    (loop $next
      (if (global.get $open)
        (then
          (call $settled)
          (local.set $value)
          (local.set $promise)
          (call $continue (local.get $value) (table.get $waiting (local.get $promise)))
          (br $next))))
    (global.get $total)))
