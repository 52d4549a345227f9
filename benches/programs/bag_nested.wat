;; Switches from inside nested resumes to a stack of the bag and back: the chain up to the root is
;; suspended as one.
;; One operation is one switch, and one back with a number.
(module
  (rec
    (type $asked (func (param (ref null $replied))))
    (type $replied (cont $reply))
    (type $reply (func (param i64 (ref null $asks))))
    (type $asks (cont $asked)))
  (type $body (func (param i32)))
  (type $nested (cont $body))
  (import "ropewalk:stack" "new" (func $new (param (ref null $asked)) (result (ref $asks))))
  (import "ropewalk:stack" "switch"
    (func $ask (param (ref null $asks)) (result i64 (ref null $asks))))
  (import "ropewalk:stack" "switch"
    (func $reply (param i64 (ref null $replied)) (result (ref null $replied))))
  (global $n (mut i64) (i64.const 0))
  (global $sum (mut i64) (i64.const 0))
  (elem declare func $inside $count)

  ;; Does the work inside of nested resumes.
  (func $inside (type $body) (param $depth i32)
    (if (i32.eqz (local.get $depth)) (then (return_call $work)))
    (resume $nested
      (i32.sub (local.get $depth) (i32.const 1))
      (cont.new $nested (ref.func $inside))))

  (func $count (type $asked) (param $from (ref null $replied))
    (local $i i64)
    (loop $next
      (local.set $from (call $reply (local.get $i) (local.get $from)))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))

  (func $work
    (local $counter (ref null $asks))
    (local.set $counter (call $new (ref.func $count)))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (global.get $n)))
        (call $ask (local.get $counter))
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
