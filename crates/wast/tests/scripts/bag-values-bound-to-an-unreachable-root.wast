;; Values bound to an unreachable root are garbage.
;; Its call ends by a trap, with or without a collection.

(module
  (rec (type $to-other (stack (ref null $to-root)))
       (type $to-root (stack (param i64 anyref) (ref null $to-other)))
       (type $bound (stack (param anyref) (ref null $to-other))))
  (type $bytes (array i8))
  (func $garbage
    (local $i i32)
    (loop $again
      (drop (array.new_default $bytes (i32.const 4000)))
      (br_if $again (i32.lt_u
        (local.tee $i (i32.add (local.get $i) (i32.const 1)))
        (i32.const 1000)))))
  (func $other (param (ref null $to-root))
    (drop (stack.bind $to-root $bound (i64.const 5) (local.get 0)))
    (local.set 0 (ref.null $to-root))
    (call $garbage))
  (func (export "run")
    (switch $to-other (stack.new $to-other $other))
    (unreachable))
  (func (export "fine") (result i32) (i32.const 7)))

(assert_trap (invoke "run") "coroutine function returned")
(assert_return (invoke "fine") (i32.const 7))
(assert_trap (invoke "run") "coroutine function returned")
