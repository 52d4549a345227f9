;; Two state machines that communicate by switching stacks. A state is a function,
;; and `return_switch` enters the next state: it leaves the current function,
;; switches to the other stack, and runs another function in its place when
;; control returns. So neither stack ever grows.
;;
;; A lamp changes from red to green to yellow and back, one step for each
;; request. A walker sends requests until the lamp has been green a number of
;; times. The number of requests:
;;
;;   $ ropewalk run --invoke crossings examples/bag-in-place.wat 1
;;   2
;;   $ ropewalk run --invoke crossings examples/bag-in-place.wat 1000000
;;   2999999

(module
  ;; The walker receives whether the lamp is green. The lamp receives no value.
  (rec
    (type $to-walker (stack (param $green i32) (ref null $to-lamp)))
    (type $to-lamp (stack (ref null $to-walker))))

  ;; ---- the lamp: three functions, one for each state

  (func $red (param $walker (ref null $to-walker))
    (return_switch $to-walker $green (i32.const 0) (local.get $walker)))
  (func $green (param $walker (ref null $to-walker))
    (return_switch $to-walker $yellow (i32.const 1) (local.get $walker)))
  (func $yellow (param $walker (ref null $to-walker))
    (return_switch $to-walker $red (i32.const 0) (local.get $walker)))

  ;; ---- the walker: one function, which runs once for each reply

  (global $wanted (mut i32) (i32.const 0))
  (global $asked (mut i32) (i32.const 0))

  (func $look (param $green i32) (param $lamp (ref null $to-lamp)) (result i32)
    (global.set $asked (i32.add (global.get $asked) (i32.const 1)))
    (global.set $wanted (i32.sub (global.get $wanted) (local.get $green)))
    (if (i32.eqz (global.get $wanted)) (then (return (global.get $asked))))
    (return_switch $to-lamp $look (local.get $lamp)))

  (func (export "crossings") (param $wanted i32) (result i32)
    (global.set $wanted (local.get $wanted))
    (return_switch $to-lamp $look (stack.new $to-lamp $red))))
