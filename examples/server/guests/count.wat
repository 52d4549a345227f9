;; A handler whose body comes in parts from a task, which waits between them. The pending host call
;; suspends the whole computation with all its stacks.
(module
  (import "http" "sleep" (func $sleep (param $milliseconds i32)))
  (memory (export "memory") 1)
  (type $digits (task (param) (result i32)))

  ;; Yields the digits from 1 on, each after a millisecond, then zero.
  (func $count (param $me (ref null $digits)) (param $last i32) (result i32) (local $digit i32)
    (loop $more
      (call $sleep (i32.const 1))
      (local.set $digit (i32.add (local.get $digit) (i32.const 1)))
      (task.suspend $digits (local.get $me) (i32.add (local.get $digit) (i32.const 48)))
      (br_if $more (i32.lt_u (local.get $digit) (local.get $last))))
    (i32.const 0))

  ;; `count/5`: 12345
  (func (export "count") (param $at i32) (param $length i32) (result i32)
    (local $digits (ref null $digits)) (local $end i32) (local $digit i32)
    (local.set $end (local.get $at))
    (local.set $digits
      (task.new $digits $count (i32.sub (i32.load8_u (local.get $at)) (i32.const 48))))
    (block $done
      (loop $more
        (local.set $digit (task.resume $digits (local.get $digits)))
        (br_if $done (i32.eqz (local.get $digit)))
        (i32.store8 (local.get $end) (local.get $digit))
        (local.set $end (i32.add (local.get $end) (i32.const 1)))
        (br $more)))
    (i32.store8 (local.get $end) (i32.const 10))
    (i32.add (i32.sub (local.get $end) (local.get $at)) (i32.const 1))))
