;; A fiber that is suspended together with a root becomes moribund when a trap ends the root's call.
;; Nothing can continue the root here. Until the call ends, the fiber is in use, with or without a
;; collection.

(module
  (rec (type $to-other (stack (ref null $to-root)))
       (type $to-root (stack (ref null $to-other))))
  (type $bytes (array i8))
  (tag $go)
  (global $fiber (mut fiberref) (ref.null fiber))
  (global $collects (mut i32) (i32.const 0))
  (func $garbage
    (local $i i32)
    (loop $again
      (drop (array.new_default $bytes (i32.const 4000)))
      (br_if $again (i32.lt_u
        (local.tee $i (i32.add (local.get $i) (i32.const 1)))
        (i32.const 2000)))))
  (func $other (param (ref null $to-root))
    (local.set 0 (ref.null $to-root))              ;; the last reference to the root
    (if (global.get $collects) (then (call $garbage)))
    (fiber.mount $go (global.get $fiber)))
  (func $run (param fiberref)
    (switch $to-other (stack.new $to-other $other))
    (unreachable))
  (func (export "run") (param i32)
    (global.set $collects (local.get 0))
    (global.set $fiber (fiber.new (on $go $run)))
    (fiber.mount $go (global.get $fiber)))
  (func (export "mount") (fiber.mount $go (global.get $fiber)))
  (func (export "release") (fiber.release (global.get $fiber))))

(assert_trap (invoke "run" (i32.const 0)) "fiber already has a control parent")
(assert_trap (invoke "mount") "fiber is moribund")
(assert_return (invoke "release"))
(assert_trap (invoke "run" (i32.const 1)) "fiber already has a control parent")
(assert_trap (invoke "mount") "fiber is moribund")
(assert_return (invoke "release"))
