;; Nested effect handlers with tasks. The program has a reference to the task that each handler
;; runs: to suspend its own goes to the inner handler, and to suspend the one around it goes to the
;; outer handler.
(module
  (type $logs (task (result i64 i32)))
  (type $gets (task (param i64) (result i32)))

  (func $program
    (param $gets (ref null $gets)) (param $n i64) (param $logs (ref null $logs)) (result i32)
    (local $i i64)
    (loop $next
      (if (i64.lt_u (local.get $i) (local.get $n))
        (then
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (task.suspend $logs (local.get $logs)
            (i64.mul (local.get $i)
              (task.suspend $gets (local.get $gets) (i32.const 0)))
            (i32.const 0))
          (br $next))))
    (i32.const 1))

  (func $handle-get (param $me (ref null $logs)) (param $value i64) (result i64 i32)
    (local $program (ref null $gets)) (local $number i64)
    (local.set $program (task.new $gets $program (local.get $me)))
    (loop $next
      (task.resume $gets (local.get $program) (local.get $value))
      (local.set $value (local.tee $number (i64.add (local.get $number) (i64.const 1))))
      (br_if $next (i32.eqz)))
    (i64.const 0)
    (i32.const 1))

  (func (export "run") (param $n i64) (result i64)
    (local $rest (ref null $logs)) (local $ended i32) (local $total i64)
    (local.set $rest (task.new $logs $handle-get (local.get $n)))
    (loop $next
      (task.resume $logs (local.get $rest))
      (local.set $ended)
      (local.set $total (i64.add (local.get $total)))
      (br_if $next (i32.eqz (local.get $ended))))
    (local.get $total)))
