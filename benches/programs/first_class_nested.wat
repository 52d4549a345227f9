;; Switches from inside nested resumes to a first-class stack and back: the chain up to the root is
;; suspended as one.
;; One operation is one stack.switch, and one back with a number.
(module
  (rec
    (type $stack (cont $stack.func))
    (type $stack.func (func (param (ref null $stack) (ref null $stack)))))
  (type $begin (func (param (ref null $stack))))
  (type $body (func (param i32)))
  (type $nested (cont $body))
  (import "host" "new_stack" (func $new_stack (result (ref null $stack))))
  (import "ropewalk:first-class" "check_cleared" (func $check_cleared (param (ref null $stack))))
  (import "ropewalk:first-class" "switch" (func $ask (param (ref null $stack))))
  (import "ropewalk:first-class" "switch" (func $reply (param i64 (ref null $stack))))
  (import "ropewalk:first-class" "switch_call_trap"
    (func $begin (param (ref null $stack) (ref $begin))))
  (tag $asked (param (ref null $stack)))
  (tag $replied (param i64 (ref null $stack)))
  (global $n (mut i64) (i64.const 0))
  (global $sum (mut i64) (i64.const 0))
  (elem declare func $inside $count)

  ;; Does the work inside of nested resumes.
  (func $inside (type $body) (param $depth i32)
    (if (i32.eqz (local.get $depth)) (then (return_call $work)))
    (resume $nested
      (i32.sub (local.get $depth) (i32.const 1))
      (cont.new $nested (ref.func $inside))))

  (func $count (type $begin) (param $from (ref null $stack))
    (local $i i64)
    (loop $next
      (block $continue (result (ref null $stack))
        (try_table (catch $asked $continue)
          (local.get $i)
          (local.get $from)
          (local.set $from (ref.null $stack))
          (block $sent (param i64 (ref null $stack)) (result i64 (ref null $stack))
            (try_table (param i64 (ref null $stack)) (catch $replied $sent) (call $reply))
            (unreachable))
          (unreachable))
        (unreachable))
      (call $check_cleared (local.get $from))
      (local.set $from)
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))

  (func $work
    (local $counter (ref null $stack))
    (block $begun (result i64 (ref null $stack))
      (try_table (catch $replied $begun)
        (call $begin (call $new_stack) (ref.func $count)))
      (unreachable))
    (local.set $counter)
    (drop)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (global.get $n)))
        (block $replied (result i64 (ref null $stack))
          (try_table (catch $replied $replied)
            (local.get $counter)
            (local.set $counter (ref.null $stack))
            (block $sent (param (ref null $stack)) (result (ref null $stack))
              (try_table (param (ref null $stack)) (catch $asked $sent) (call $ask))
              (unreachable))
            (unreachable))
          (unreachable))
        (call $check_cleared (local.get $counter))
        (local.set $counter)
        (global.set $sum (i64.add (global.get $sum)))
        (global.set $n (i64.sub (global.get $n) (i64.const 1)))
        (br $next))))

  (func $times (param $n i64) (param $depth i32) (result i64)
    (global.set $n (local.get $n))
    (call $inside (local.get $depth))
    (global.get $sum))

  (func (export "depth_0") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 0)))

  (func (export "depth_1") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 1)))

  (func (export "depth_10") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 10)))

  (func (export "depth_100") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 100)))

  (func (export "depth_1000") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 1000))))
