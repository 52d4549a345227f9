;; Asynchronous programs as tasks. A task suspends itself with the number of its promise, and gives
;; -1 when it ends.
(module
  (import "host" "fetch" (func $fetch (param i64) (result i32)))
  (import "host" "settled" (func $settled (result i32 i64)))
  (type $program (task (param i64) (result i32)))
  (table $waiting 3 (ref null $program))
  (global $open (mut i32) (i32.const 3))
  (global $n (mut i64) (i64.const 0))
  (global $total (mut i64) (i64.const 0))

  (func $program (param $me (ref null $program)) (param $number i64) (result i32)
    (local $i i64)
    (loop $next
      (if (i64.lt_u (local.get $i) (global.get $n))
        (then
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (call $add
            (task.suspend $program (local.get $me)
              (call $fetch (i64.mul (local.get $number) (local.get $i)))))
          (br $next))))
    (i32.const -1))
  (func $add (param $value i64)
    (global.set $total
      (i64.add (i64.mul (global.get $total) (i64.const 3)) (local.get $value))))

  ;; Runs a program until it waits for a promise or ends.
  (func $continue (param $value i64) (param $program (ref null $program))
    (local $promise i32)
    (local.set $promise (task.resume $program (local.get $program) (local.get $value)))
    (if (i32.lt_s (local.get $promise) (i32.const 0))
      (then (global.set $open (i32.sub (global.get $open) (i32.const 1))))
      (else (table.set $waiting (local.get $promise) (local.get $program)))))

  (func (export "run") (param $n i64) (result i64)
    (local $value i64) (local $promise i32)
    (global.set $n (local.get $n))
    (call $continue (i64.const 1) (task.new $program $program))
    (call $continue (i64.const 2) (task.new $program $program))
    (call $continue (i64.const 3) (task.new $program $program))
    (loop $next
      (if (global.get $open)
        (then
          (call $settled)
          (local.set $value)
          (local.set $promise)
          (call $continue (local.get $value) (table.get $waiting (local.get $promise)))
          (br $next))))
    (global.get $total)))
