;; Nested effect handlers in the bag of stacks. The program keeps the stack of each handler in a
;; global and switches to it. A switch to the outer handler leaves the inner one suspended.
(module
  (rec
    (type $waits-for-get (stack (param i64) (ref null $get)))
    (type $get (stack (ref null $waits-for-get))))
  (rec
    (type $waits-for-log (stack (ref null $log)))
    (type $log (stack (param i64) (ref null $waits-for-log))))
  (type $start (stack (param i64) (ref null $log)))
  (global $get (mut (ref null $get)) (ref.null $get))
  (global $log (mut (ref null $log)) (ref.null $log))

  (func $perform-get (result i64)
    (switch $get (global.get $get))
    (global.set $get))
  (func $perform-log (param $value i64)
    (global.set $log (switch $log (local.get $value) (global.get $log))))

  (func $program (param $n i64) (param $get (ref null $get))
    (local $i i64)
    (global.set $get (local.get $get))
    (loop $next
      (if (i64.lt_u (local.get $i) (local.get $n))
        (then
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (call $perform-log (i64.mul (local.get $i) (call $perform-get)))
          (br $next))))
    (switch_retire $get (global.get $get)))

  (func $handle-get (param $value i64) (param $log (ref null $log))
    (local $program (ref null $waits-for-get)) (local $number i64)
    (global.set $log (local.get $log))
    (local.set $program (stack.new $waits-for-get $program))
    (loop $next
      (local.set $program
        (switch $waits-for-get (local.get $value) (local.get $program)))
      (local.set $value (local.tee $number (i64.add (local.get $number) (i64.const 1))))
      (br_if $next (i32.eqz (ref.is_null (local.get $program)))))
    (switch_retire $log (i64.const 0) (global.get $log)))

  (func (export "run") (param $n i64) (result i64)
    (local $program (ref null $waits-for-log)) (local $total i64)
    (switch $start (local.get $n) (stack.new $start $handle-get))
    (loop $next (param i64 (ref null $waits-for-log))
      (local.set $program)
      (local.set $total (i64.add (local.get $total)))
      (if (ref.is_null (local.get $program)) (then (return (local.get $total))))
      (switch $waits-for-log (local.get $program))
      (br $next))
    (unreachable)))
