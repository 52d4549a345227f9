;; A state machine whose states are functions and whose transitions are tail
;; calls, which use no stack. It reads the digits of a number from the last to
;; the first, and returns whether the number is divisible by 3 (1) or not (0). The
;; states are the remainders of the digits read so far.
;;
;;   $ ropewalk run --invoke divisible examples/states.wat 111111
;;   1
;;   $ ropewalk run --invoke divisible examples/states.wat 20
;;   0
;;
;; Two states that pass a counter to each other ten million times:
;;
;;   $ ropewalk run --invoke ping examples/states.wat 10000000
;;   0

(module
  (type $state (func (param i64) (result i32)))
  (table funcref (elem $zero $one $two))

  (func $divisible (export "divisible") (param $number i64) (result i32)
    (return_call $zero (local.get $number)))

  (func $zero (param $rest i64) (result i32)
    (if (i64.eqz (local.get $rest)) (then (return (i32.const 1))))
    (return_call $step (local.get $rest) (i32.const 0)))

  (func $one (param $rest i64) (result i32)
    (if (i64.eqz (local.get $rest)) (then (return (i32.const 0))))
    (return_call $step (local.get $rest) (i32.const 1)))

  (func $two (param $rest i64) (result i32)
    (if (i64.eqz (local.get $rest)) (then (return (i32.const 0))))
    (return_call $step (local.get $rest) (i32.const 2)))

  ;; Reads the last digit and goes to the state for the new remainder.
  (func $step (param $rest i64) (param $remainder i32) (result i32)
    (return_call_indirect (type $state)
      (i64.div_u (local.get $rest) (i64.const 10))
      (i32.rem_u
        (i32.add
          (local.get $remainder)
          (i32.wrap_i64 (i64.rem_u (local.get $rest) (i64.const 10))))
        (i32.const 3))))

  (func $ping (export "ping") (param $count i32) (result i32)
    (if (i32.eqz (local.get $count)) (then (return (i32.const 0))))
    (return_call $pong (i32.sub (local.get $count) (i32.const 1))))

  (func $pong (param $count i32) (result i32)
    (if (i32.eqz (local.get $count)) (then (return (i32.const 1))))
    (return_call $ping (i32.sub (local.get $count) (i32.const 1)))))
