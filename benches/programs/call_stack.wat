;; Calls up the stack: a function adds a constant to n numbers, one after another.
;; `answered` finds it as an answer on the stack, and `indirect` in a table.
;; One operation is one call_stack or one call_indirect.
(module
  (type $unary (func (param i64) (result i64)))
  (type $locals (struct (field i64)))
  (type $answer (func (param (ref $locals) i64) (result i64)))
  (import "ropewalk:first-class" "level" (func $level (result i32)))
  (import "ropewalk:first-class" "leave_to" (func $leave_to (param i32)))
  (import "ropewalk:first-class" "enter_answer"
    (func $enter_answer (param (ref $locals) (ref $answer))))
  (import "ropewalk:first-class" "call_stack" (func $call_stack (param i64) (result i64)))
  (tag $add (param (ref null $unary)))
  (table funcref (elem $add))
  (elem declare func $answer)

  (func $answer (type $answer)
    (i64.add (local.get 1) (struct.get $locals 0 (local.get 0))))

  (func $add (type $unary) (i64.add (local.get 0) (i64.const 7)))

  (func (export "answered") (param $n i64) (result i64)
    (local $x i64)
    (local $level i32)
    (local.set $level (call $level))
    (block $entered
      (block $sent (result (ref null $unary))
        (struct.new $locals (i64.const 7))
        (try_table (param (ref $locals))
          (catch $add $sent)
          (ref.func $answer) (call $enter_answer))
        (br $entered))
      (unreachable))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (block $answered (result i64)
          (block $sent (result (ref null $unary))
            (local.get $x)
            (try_table (param i64) (result i64) (catch $add $sent) (call $call_stack))
            (br $answered))
          (unreachable))
        (local.set $x)
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (call $leave_to (local.get $level))
    (local.get $x))

  (func (export "indirect") (param $n i64) (result i64)
    (local $x i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $x (call_indirect (type $unary) (local.get $x) (i32.const 0)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $x)))
