;; Switches between a stack of the bag inside of nested resumes and one outside, by every
;; instruction.
;; The basic switch is in bag_nested.wat.
;; One operation is a switch there and one back.
(module
  (rec
    (type $asks (stack (ref null $replied)))
    (type $replied (stack (param i64) (ref null $asks))))
  (type $nested_body (func (param i32)))
  (type $nested (cont $nested_body))
  (tag $asked (param (ref null $replied)))
  (tag $told (param i64 (ref null $asks)))
  (global $n (mut i64) (i64.const 0))
  (global $sum (mut i64) (i64.const 0))
  (global $which (mut i32) (i32.const 0))
  (elem declare func $inside $count $count_thrown $once $bound)

  (func $inside (type $nested_body) (param $depth i32)
    (if (i32.eqz (local.get $depth))
      (then
        (if (i32.eq (global.get $which) (i32.const 0)) (then (return_call $switches)))
        (if (i32.eq (global.get $which) (i32.const 1)) (then (return_call $throws)))
        (if (i32.eq (global.get $which) (i32.const 2)) (then (return_call $retires)))
        (if (i32.eq (global.get $which) (i32.const 3)) (then (return_call $binds)))
        (return_call $returns)))
    (resume $nested
      (i32.sub (local.get $depth) (i32.const 1))
      (cont.new $nested (ref.func $inside))))

  (func $times (param $n i64) (param $which i32) (result i64)
    (global.set $n (local.get $n))
    (global.set $which (local.get $which))
    (call $inside (i32.const DEPTH))
    (global.get $sum))


  ;; switch.
  (func $count (param $from (ref null $replied))
    (local $i i64)
    (loop $next
      (local.set $from (switch $replied (local.get $i) (local.get $from)))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))
  (func $switches
    (local $counter (ref null $asks))
    (local.set $counter (stack.new $asks $count))
    (loop $next
      (switch $asks (local.get $counter))
      (local.set $counter)
      (global.set $sum (i64.add (global.get $sum)))
      (global.set $n (i64.sub (global.get $n) (i64.const 1)))
      (br_if $next (i64.ne (global.get $n) (i64.const 0)))))
  (func (export "switch") (param $n i64) (result i64) (call $times (local.get $n) (i32.const 0)))

  ;; switch_throw in both directions.
  (func $count_thrown (param $from (ref null $replied))
    (local $i i64)
    (loop $next
      (block $asked (result (ref null $replied))
        (try_table (catch $asked $asked)
          (switch_throw $replied $told (local.get $i) (local.get $from))
          (unreachable))
        (unreachable))
      (local.set $from)
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))
  (func $throws
    (local $counter (ref null $asks))
    (block $told (result i64 (ref null $asks))
      (try_table (catch $told $told)
        (switch $asks (stack.new $asks $count_thrown))
        (unreachable))
      (unreachable))
    (local.set $counter)
    (drop)
    (loop $next
      (block $told (result i64 (ref null $asks))
        (try_table (catch $told $told)
          (switch_throw $asks $asked (local.get $counter))
          (unreachable))
        (unreachable))
      (local.set $counter)
      (global.set $sum (i64.add (global.get $sum)))
      (global.set $n (i64.sub (global.get $n) (i64.const 1)))
      (br_if $next (i64.ne (global.get $n) (i64.const 0)))))
  (func (export "switch_throw") (param $n i64) (result i64) (call $times (local.get $n) (i32.const 1)))

  ;; switch_retire from a new stack.
  (func $once (param $from (ref null $replied))
    (switch_retire $replied (i64.const 1) (local.get $from)))
  (func $retires
    (loop $next
      (switch $asks (stack.new $asks $once))
      (drop)
      (global.set $sum (i64.add (global.get $sum)))
      (global.set $n (i64.sub (global.get $n) (i64.const 1)))
      (br_if $next (i64.ne (global.get $n) (i64.const 0)))))
  (func (export "switch_retire") (param $n i64) (result i64) (call $times (local.get $n) (i32.const 2)))

  ;; stack.bind of a value to the inner stack.
  (func $bound (param $from (ref null $replied))
    (local $i i64)
    (loop $next
      (switch $asks2b (stack.bind $replied $asks2b (local.get $i) (local.get $from)))
      (local.set $from)
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))
  (type $asks2b (stack (ref null $asks)))
  (func $binds
    (local $counter (ref null $asks))
    (local.set $counter (stack.new $asks $bound))
    (loop $next
      (switch $asks (local.get $counter))
      (local.set $counter)
      (global.set $sum (i64.add (global.get $sum)))
      (global.set $n (i64.sub (global.get $n) (i64.const 1)))
      (br_if $next (i64.ne (global.get $n) (i64.const 0)))))
  (func (export "bind") (param $n i64) (result i64) (call $times (local.get $n) (i32.const 3)))

  ;; return_switch.
  (global $counter (mut (ref null $asks)) (ref.null $asks))
  (func $ask (result i64)
    (return_switch $asks $receive (global.get $counter)))
  (func $receive (param $i i64) (param $from (ref null $asks)) (result i64)
    (global.set $counter (local.get $from))
    (local.get $i))
  (func $returns
    (global.set $counter (stack.new $asks $count))
    (loop $next
      (global.set $sum (i64.add (global.get $sum) (call $ask)))
      (global.set $n (i64.sub (global.get $n) (i64.const 1)))
      (br_if $next (i64.ne (global.get $n) (i64.const 0)))))
  (func (export "return_switch") (param $n i64) (result i64) (call $times (local.get $n) (i32.const 4))))
