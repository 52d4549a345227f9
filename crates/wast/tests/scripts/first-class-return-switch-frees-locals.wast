;; `return_switch` frees the stacks in the locals of its function before it switches. So the stack
;; that it leaves owns none, and can be copied.

(module
  (import "host" "new_stack" (func $new (result stackref)))
  (type $c (stack (ref null $c)))
  (tag $back (param (ref null $c)))
  (func $ends (param $from (ref null $c))
    (switch_retire $c (local.get $from)))

  (func $leaves (param $from (ref null $c))
    (local $s stackref)
    (local.set_cleared $s (call $new))
    (return_switch $c $ends (local.get $from)))
  (func $leaves-by-throwing (param $from (ref null $c))
    (local $s stackref)
    (local.set_cleared $s (call $new))
    (return_switch_throw $c $back $ends (local.get $from)))

  (func (export "copy") (param $throws i32) (result i32)
    (local $k (ref null $c))
    (block $left (result (ref null $c))
      (if (local.get $throws)
        (then
          (block $thrown (result (ref null $c))
            (try_table (catch $back $thrown)
              (drop (switch $c (stack.new $c $leaves-by-throwing))))
            (unreachable))
          (br $left)))
      (switch $c (stack.new $c $leaves)))
    (local.set $k)
    (drop (switch $c (stack.clone $c (local.get $k))))
    (drop (switch $c (local.get $k)))
    (i32.const 1)))

(assert_return (invoke "copy" (i32.const 0)) (i32.const 1))
(assert_return (invoke "copy" (i32.const 1)) (i32.const 1))
