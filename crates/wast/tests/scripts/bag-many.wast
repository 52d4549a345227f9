;; 100,000 stacks one after another, and 10,000 at once, exhaust neither memory nor stacks.
;; They are retired, or abandoned fresh, suspended, bound, in chains and in cycles.

(module
  (type $c (stack (ref null $c)))
  (type $n (stack (param i32) (ref null $c)))
  (global $count (mut i32) (i32.const 0))
  (func (export "count") (result i32) (global.get $count) (global.set $count (i32.const 0)))
  (func $counts (global.set $count (i32.add (global.get $count) (i32.const 1))))
  (func $retires (param (ref null $c)) (call $counts) (switch_retire $c (local.get 0)))
  (func $waits (param (ref null $c))
    (loop $next
      (call $counts)
      (local.set 0 (switch $c (local.get 0)))
      (br $next)))
  (func $numbered (param i32) (param (ref null $c)) (return_call $waits (local.get 1)))

  (func (export "retired") (param $n i32)
    (loop $next
      (drop (switch $c (stack.new $c $retires)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func (export "abandoned fresh") (param $n i32)
    (loop $next
      (drop (stack.new $c $waits))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func (export "abandoned suspended") (param $n i32)
    (loop $next
      (drop (switch $c (stack.new $c $waits)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func (export "abandoned bound") (param $n i32)
    (loop $next
      (drop (stack.bind $n $c (i32.const 1) (stack.new $n $numbered)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))

  ;; Each stack is suspended with a reference to the previous one. This chain is abandoned every
  ;; hundred stacks.
  (type $chained (stack (param (ref null $c)) (ref null $c)))
  (func $holds (param $held (ref null $c)) (param $from (ref null $c))
    (call $counts)
    (drop (switch $c (local.get $from)))
    (drop (switch $c (local.get $held)))
    (unreachable))
  (func (export "abandoned chains") (param $n i32)
    (local $last (ref null $c))
    (loop $next
      (if (i32.eqz (i32.rem_u (local.get $n) (i32.const 100)))
        (then (local.set $last (ref.null $c))))
      (local.set $last (switch $chained (local.get $last) (stack.new $chained $holds)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))

  ;; A suspended stack holds a box that holds the stack.
  (type $box (struct (field (mut (ref null $c)))))
  (type $boxed (stack (param (ref null $box)) (ref null $c)))
  (func $waits-with-box (param $box (ref null $box)) (param $from (ref null $c))
    (call $counts)
    (drop (switch $c (local.get $from)))
    (struct.set $box 0 (local.get $box) (ref.null $c))
    (unreachable))
  (func (export "abandoned cycles") (param $n i32)
    (local $box (ref null $box))
    (loop $next
      (local.set $box (struct.new_default $box))
      (struct.set $box 0 (local.get $box)
        (switch $boxed (local.get $box) (stack.new $boxed $waits-with-box)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))

  ;; All stacks are live at the same time.
  (table $t 10000 (ref null $c))
  (func (export "at a time") (param $n i32)
    (local $i i32)
    (loop $next
      (table.set $t (local.get $i) (switch $c (stack.new $c $waits)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $n))))
    (local.set $i (i32.const 0))
    (loop $next
      (table.set $t (local.get $i) (switch $c (table.get $t (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $n))))))

(assert_return (invoke "retired" (i32.const 100000)))
(assert_return (invoke "count") (i32.const 100000))
(assert_return (invoke "abandoned fresh" (i32.const 100000)))
(assert_return (invoke "count") (i32.const 0))
(assert_return (invoke "abandoned suspended" (i32.const 100000)))
(assert_return (invoke "count") (i32.const 100000))
(assert_return (invoke "abandoned bound" (i32.const 100000)))
(assert_return (invoke "count") (i32.const 0))
(assert_return (invoke "abandoned chains" (i32.const 30000)))
(assert_return (invoke "count") (i32.const 30000))
(assert_return (invoke "abandoned cycles" (i32.const 30000)))
(assert_return (invoke "count") (i32.const 30000))
(assert_return (invoke "at a time" (i32.const 10000)))
(assert_return (invoke "count") (i32.const 20000))
