;; A tail call in a continuation replaces the frame, and the callee can suspend.
;; Chains of tail calls use constant stack.

(module
  (type $f (func (param i32) (result i32)))
  (type $k (cont $f))
  (type $nine (func (param i64 i64 i64 i64 i64 i64 i64 i64 i64) (result i32)))
  (tag $yield (param i32) (result i32))
  (table funcref (elem $counts $suspends))
  (elem declare func $tails $counts $indirect $by-reference $suspends $widens $throws)
  (func $suspends (type $f) (suspend $yield (local.get 0)))

  (func $tails (type $f) (return_call $suspends (i32.add (local.get 0) (i32.const 1))))
  (func $indirect (type $f)
    (return_call_indirect (type $f) (i32.add (local.get 0) (i32.const 2)) (i32.const 1)))
  (func $by-reference (type $f)
    (return_call_ref $f (i32.add (local.get 0) (i32.const 3)) (ref.func $suspends)))

  ;; Runs a continuation and resumes each suspension with ten times its payload.
  (func $run (param $n i32) (param $k (ref $k)) (result i32)
    (loop $next
      (block $h (result i32 (ref $k))
        (return (resume $k (on $yield $h) (local.get $n) (local.get $k))))
      (local.set $k)
      (local.set $n (i32.mul (i32.const 10)))
      (br $next))
    (unreachable))
  (func (export "return_call") (param i32) (result i32)
    (call $run (local.get 0) (cont.new $k (ref.func $tails))))
  (func (export "return_call_indirect") (param i32) (result i32)
    (call $run (local.get 0) (cont.new $k (ref.func $indirect))))
  (func (export "return_call_ref") (param i32) (result i32)
    (call $run (local.get 0) (cont.new $k (ref.func $by-reference))))

  ;; Passes more arguments than the frame had room for, and then fewer again.
  (func $widens (type $f)
    (local $l i64)
    (local.set $l (i64.extend_i32_u (suspend $yield (local.get 0))))
    (return_call $nine (local.get $l) (local.get $l) (local.get $l) (local.get $l)
      (local.get $l) (local.get $l) (local.get $l) (local.get $l) (i64.const 1)))
  (func $nine (type $nine)
    (return_call $suspends (i32.wrap_i64 (i64.add (local.get 7) (local.get 8)))))
  (func (export "many arguments") (param i32) (result i32)
    (call $run (local.get 0) (cont.new $k (ref.func $widens))))

  ;; Makes n tail calls, and suspends at every thousandth.
  (func $counts (type $f)
    (if (i32.eqz (local.get 0)) (then (return (i32.const 0))))
    (if (i32.eqz (i32.rem_u (local.get 0) (i32.const 1000)))
      (then (return_call $counts
        (i32.sub (i32.div_u (suspend $yield (local.get 0)) (i32.const 10)) (i32.const 1)))))
    (return_call_indirect (type $f) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0)))
  (func (export "count") (param i32) (result i32)
    (call $run (local.get 0) (cont.new $k (ref.func $counts))))

  ;; A tail call leaves the handlers of its function.
  (tag $x)
  (func $throws (type $f)
    (block $h
      (try_table (catch_all $h) (return_call $thrower))
      (unreachable))
    (i32.const -1))
  (func $thrower (result i32) (throw $x))
  (func (export "throws") (result i32)
    (block $h
      (try_table (catch $x $h)
        (drop (resume $k (i32.const 0) (cont.new $k (ref.func $throws)))))
      (unreachable))
    (i32.const 1))

  ;; The handler itself can leave by a tail call.
  (func $handle (param $n i32) (param $k (ref $k)) (result i32)
    (block $h (result i32 (ref $k))
      (return (resume $k (on $yield $h) (local.get $n) (local.get $k))))
    (return_call $handle))
  (func (export "handlers in a row") (param i32) (result i32)
    (call $handle (local.get 0) (cont.new $k (ref.func $loops))))
  (elem declare func $loops)
  (func $loops (type $f)
    (loop $next
      (local.set 0 (i32.sub (suspend $yield (local.get 0)) (i32.const 1)))
      (br_if $next (local.get 0)))
    (i32.const 5)))

(assert_return (invoke "return_call" (i32.const 1)) (i32.const 20))
(assert_return (invoke "return_call_indirect" (i32.const 1)) (i32.const 30))
(assert_return (invoke "return_call_ref" (i32.const 1)) (i32.const 40))
(assert_return (invoke "many arguments" (i32.const 4)) (i32.const 410))
(assert_return (invoke "count" (i32.const 100000)) (i32.const 0))
(assert_return (invoke "throws") (i32.const 1))
(assert_return (invoke "handlers in a row" (i32.const 50000)) (i32.const 5))
