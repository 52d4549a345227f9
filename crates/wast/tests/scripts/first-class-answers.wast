;; `call_stack` runs the nearest enclosing `answer` with its function's locals, and returns.

(module
  (import "host" "new_stack" (func $new (result stackref)))
  (call_tag $add (param i32) (result i32))
  (call_tag $other (param i32) (result i32))
  (call_tag $ping)
  (call_tag $swap (param i32 i64) (result i64 i32))
  (tag $x (param i32))
  (event $done (param i32))

  (func $adds (param i32) (result i32) (call_stack $add (local.get 0)))
  (func $deep (param $n i32) (result i32)
    (if (result i32) (local.get $n)
      (then (call $deep (i32.sub (local.get $n) (i32.const 1))))
      (else (call_stack $add (i32.const 1)))))

  ;; The answer reads and writes locals of its function.
  (func (export "locals") (result i32 i32 i32)
    (local $sum i32)
    (local.set $sum (i32.const 100))
    (answer $add (result i32 i32)
      (i32.add (local.get $sum))
      (local.tee $sum)
     within
      (call $adds (i32.const 1))
      (local.set $sum (i32.add (local.get $sum) (i32.const 1000)))
      (call $adds (i32.const 2)))
    (local.get $sum))
  (func (export "parameters and types") (param $i i32) (param $l i64) (result i64 i32 i32 i64)
    (local $t i64)
    (answer $swap (result i64 i32)
      (local.set $t)
      (local.set $i (i32.add (local.get $i)))
      (local.set $l (i64.add (local.get $l) (local.get $t)))
      (local.get $t)
      (local.get $i)
     within
      (call_stack $swap (i32.const 5) (i64.const 6)))
    (local.get $i)
    (local.get $l))
  (func (export "from deep down") (param $n i32) (result i32)
    (answer $add (result i32) (i32.add (local.get $n)) within
      (call $deep (local.get $n))))

  ;; The nearest answer counts, and each answer has its own tag.
  (func (export "nearest") (result i32)
    (answer $add (result i32) (i32.add (i32.const 100)) within
      (answer $other (result i32) (i32.add (i32.const 10)) within
        (answer $add (result i32) (i32.add (i32.const 1)) within
          (call_stack $other (call $adds (i32.const 0)))))))
  ;; Each activation of a function has its own answer.
  (func $recursive (param $n i32) (result i32)
    (if (i32.eqz (local.get $n)) (then (return (call_stack $add (i32.const 0)))))
    (answer $add (result i32) (i32.add (local.get $n)) within
      (call $recursive (i32.sub (local.get $n) (i32.const 1))))
    ;; This activation's answer has ended, so the call finds the caller's.
    (if (param i32) (result i32) (i32.eq (local.get $n) (i32.const 5))
      (then)
      (else (call_stack $add))))
  (func (export "recursion") (result i32) (call $recursive (i32.const 5)))

  ;; An answer does not find itself, but the one outside.
  (func (export "not itself") (result i32)
    (answer $add (result i32) (i32.mul (i32.const 2)) within
      (answer $add (result i32) (call_stack $add (i32.add (i32.const 1))) within
        (answer $add (result i32) (call $adds (i32.add (i32.const 10))) within
          (call $adds (i32.const 5))))))
  (func (export "only itself")
    (answer $ping (call_stack $ping) within (call_stack $ping)))
  ;; An answer does not find one that is further inside.
  (func (export "not further in") (result i32)
    (answer $add (result i32) (call_stack $other) within
      (answer $other (result i32) (i32.add (i32.const 1)) within
        (call_stack $add (i32.const 1)))))

  ;; An exception of the answer propagates from the call.
  (func (export "throws") (result i32)
    (block $outer (result i32)
      (try_table (catch $x $outer)
        (answer $add (throw $x) within
          (block $inner (result i32)
            (try_table (catch $x $inner) (drop (call_stack $add (i32.const 3))))
            (unreachable))
          (return (i32.add (i32.const 10)))))
      (unreachable)))
  (func (export "throws, caught outside") (result i32)
    (block $outer (result i32)
      (try_table (catch $x $outer)
        (answer $add (throw $x) within
          (drop (call $deep (i32.const 3)))))
      (unreachable)))
  ;; A `try` inside the answer catches its exceptions.
  (func (export "catches") (result i32)
    (answer $add (result i32)
      (block $x (param i32) (result i32)
        (try_table (param i32) (catch $x $x) (throw $x))
        (unreachable))
     within
      (call_stack $add (i32.const 4))))

  ;; The answer ends with its body, however the body is left.
  (func (export "after its end") (result i32)
    (answer $ping within)
    (call_stack $ping)
    (i32.const 1))
  (func (export "after a branch")
    (block $out (answer $ping within (br $out)))
    (call_stack $ping))
  (func (export "after a loop's branch") (result i32)
    (local $i i32)
    (loop $next
      (answer $add (i32.add (local.get $i)) within
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $next (i32.lt_u (local.get $i) (i32.const 100)))))
    (answer $add (result i32) (i32.add (i32.const 1)) within (call_stack $add (local.get $i))))
  (func $returns (answer $ping within (return)))
  (func (export "after a return") (call $returns) (call_stack $ping))
  (func $throws (answer $ping within (throw $x (i32.const 1))))
  (func (export "after an exception")
    (block $x (result i32)
      (try_table (catch $x $x) (call $throws))
      (unreachable))
    (drop)
    (call_stack $ping))
  (func (export "after an exception here")
    (block $x (result i32)
      (try_table (catch $x $x) (answer $ping within (throw $x (i32.const 1))))
      (unreachable))
    (drop)
    (call_stack $ping))
  (func $pings (call_stack $ping))
  (func $tails (answer $ping within (return_call $pings)))
  (func (export "after a tail call") (call $tails))
  (func (export "none") (call_stack $ping))
  (func (export "of another tag") (result i32)
    (answer $add (result i32) within (call_stack $other (i32.const 1))))

  ;; Plain form.
  (func (export "plain") (result i32)
    i32.const 1
    answer $add (param i32) (result i32)
      i32.const 5
      i32.mul
    within
      call_stack $add
    end))

(assert_return (invoke "locals") (i32.const 101) (i32.const 1103) (i32.const 1103))
(assert_return (invoke "parameters and types" (i32.const 1) (i64.const 2))
  (i64.const 6) (i32.const 6) (i32.const 6) (i64.const 8))
(assert_return (invoke "from deep down" (i32.const 500)) (i32.const 501))
(assert_return (invoke "nearest") (i32.const 11))
(assert_return (invoke "recursion") (i32.const 15))
(assert_return (invoke "not itself") (i32.const 32))
(assert_trap (invoke "only itself") "no answer on the stack")
(assert_trap (invoke "not further in") "no answer on the stack")
(assert_return (invoke "throws") (i32.const 13))
(assert_return (invoke "throws, caught outside") (i32.const 1))
(assert_return (invoke "catches") (i32.const 4))
(assert_trap (invoke "after its end") "no answer on the stack")
(assert_trap (invoke "after a branch") "no answer on the stack")
(assert_return (invoke "after a loop's branch") (i32.const 101))
(assert_trap (invoke "after a return") "no answer on the stack")
(assert_trap (invoke "after an exception") "no answer on the stack")
(assert_trap (invoke "after an exception here") "no answer on the stack")
(assert_trap (invoke "after a tail call") "no answer on the stack")
(assert_trap (invoke "none") "no answer on the stack")
(assert_trap (invoke "of another tag") "no answer on the stack")
(assert_return (invoke "plain") (i32.const 5))

;; A non-defaultable local that an answer uses must be set before.
(module
  (call_tag $ask (result i32))
  (type $number (func (result i32)))
  (func $one (result i32) (i32.const 1))
  (func $two (result i32) (i32.const 2))
  (elem declare func $one $two)
  (func (export "set before") (result i32) (local $f (ref $number))
    (local.set $f (ref.func $one))
    (answer $ask (result i32)
      (call_ref $number (local.get $f))
      within
      (local.set $f (ref.func $two))
      (call_stack $ask)))
  (func (export "set in the answer") (result i32) (local $f (ref $number))
    (answer $ask (result i32)
      (call_ref $number (local.tee $f (ref.func $two)))
      (drop (call_ref $number (local.get $f)))
      within
      (call_stack $ask)))
  (func (export "set in a condition") (result i32) (local $f (ref $number))
    (if (ref.is_null (local.tee $f (ref.func $one))) (then (unreachable)) (else))
    (answer $ask (result i32) (call_ref $number (local.get $f)) within (call_stack $ask)))
  (func (export "set in one arm") (result i32) (local $f (ref $number))
    (if (result i32) (i32.const 1)
      (then
        (local.set $f (ref.func $one))
        (answer $ask (result i32) (call_ref $number (local.get $f)) within (call_stack $ask)))
      (else (i32.const 0)))))

(assert_return (invoke "set before") (i32.const 2))
(assert_return (invoke "set in the answer") (i32.const 2))
(assert_return (invoke "set in a condition") (i32.const 1))
(assert_return (invoke "set in one arm") (i32.const 1))

(assert_invalid
  (module
    (call_tag $ask (result i32))
    (type $number (func (result i32)))
    (func (local $f (ref $number))
      (answer $ask (call_ref $number (local.get $f)) within (nop))))
  "uninitialized local")
