;; `stack.extend` adds a rout's frame on top of a suspended stack.
;; The next event arrives at the rout's `stack.start`. Its results are delivered below it, and its
;; exceptions propagate below it.

(module
  (import "host" "new_stack" (func $new (result stackref)))
  (event $n (param i32))
  (event $sum (param i32))
  (event $other (param i32))
  (event $back (param i32 stackref))
  (tag $x (param i32))

  (rout $adds (param $a i32) (result i32)
    (block $n (result i32)
      (try (stack.start) catch $n $n)
      (unreachable))
    (i32.add (local.get $a)))

  ;; Each rout on top of the suspended stack adds its own number.
  (func $one (param $main stackref)
    (stack.switch_drop $n (i32.const 5)
      (stack.extend $adds $sum (i32.const 1) (local.get_clear $main))))
  (func (export "one") (result i32)
    (block $sum (result i32)
      (try (stack.switch_call $one (call $new)) catch $sum $sum)
      (unreachable)))
  (func $several (param $main stackref)
    (stack.switch_drop $n (i32.const 5)
      (stack.extend $adds $n (i32.const 100)
        (stack.extend $adds $n (i32.const 10)
          (stack.extend $adds $sum (i32.const 1) (local.get_clear $main))))))
  (func (export "several") (result i32)
    (block $sum (result i32)
      (try (stack.switch_call $several (call $new)) catch $sum $sum)
      (unreachable)))

  ;; An event that the rout does not catch propagates below it.
  (func $past (param $main stackref)
    (stack.switch_drop $other (i32.const 6)
      (stack.extend $adds $sum (i32.const 1)
        (stack.extend $adds $sum (i32.const 1) (local.get_clear $main)))))
  (func (export "past it") (result i32)
    (block $other (result i32)
      (try (stack.switch_call $past (call $new)) catch $other $other)
      (unreachable)))
  ;; So does an exception of the rout, also through other routs.
  (rout $throws (result i32)
    (block $n (result i32)
      (try (stack.start) catch $n $n)
      (unreachable))
    (throw $x))
  (func $thrower (param $main stackref)
    (stack.switch_drop $n (i32.const 8)
      (stack.extend $throws $sum
        (stack.extend $adds $sum (i32.const 1) (local.get_clear $main)))))
  (func (export "thrown") (result i32)
    (block $x (result i32)
      (try_table (catch $x $x) (stack.switch_call $thrower (call $new)))
      (unreachable)))
  ;; A rout below may catch it.
  (rout $catches (result i32)
    (block $x (result i32)
      (try_table (catch $x $x) (stack.start))
      (unreachable))
    (i32.add (i32.const 1)))
  (func $throw-and-catch (param $main stackref)
    (stack.switch_drop $n (i32.const 8)
      (stack.extend $throws
        (stack.extend $catches $sum (local.get_clear $main)))))
  (func (export "thrown and caught below") (result i32)
    (block $sum (result i32)
      (try (stack.switch_call $throw-and-catch (call $new)) catch $sum $sum)
      (unreachable))))

(assert_return (invoke "one") (i32.const 6))
(assert_return (invoke "several") (i32.const 116))
(assert_return (invoke "past it") (i32.const 6))
(assert_return (invoke "thrown") (i32.const 8))
(assert_return (invoke "thrown and caught below") (i32.const 9))

(module
  (import "host" "new_stack" (func $new (result stackref)))
  (event $go (param stackref))
  (event $step (param i32 stackref))
  (event $end (param i32))
  (type $s (struct (field i32)))
  (global $s (mut stackref) (ref.null stack))
  (global $n (mut i32) (i32.const 0))

  ;; Arguments of many types, including another stack, and locals.
  (rout $many (param $i i32) (param $l i64) (param $f f32) (param $d f64) (param $v v128)
      (param $r (ref $s)) (param $x externref) (param $to stackref)
    (local $sum i32) (local $from stackref)
    (block $go (result stackref)
      (try (stack.start) catch $go $go)
      (unreachable))
    (drop)
    (local.set $sum (local.get $i))
    (local.set $sum (i32.add (local.get $sum) (i32.wrap_i64 (local.get $l))))
    (local.set $sum (i32.add (local.get $sum) (i32.trunc_f32_s (local.get $f))))
    (local.set $sum (i32.add (local.get $sum) (i32.trunc_f64_s (local.get $d))))
    (local.set $sum (i32.add (local.get $sum) (i32x4.extract_lane 3 (local.get $v))))
    (local.set $sum (i32.add (local.get $sum) (struct.get $s 0 (local.get $r))))
    (local.set $sum (i32.add (local.get $sum) (ref.is_null (local.get $x))))
    (stack.switch_drop $end (local.get $sum) (local.get_clear $to)))
  (func $make (param $to stackref)
    ;; The caller's stack moves into the frame, which then starts.
    (stack.switch $go
      (stack.extend $many
        (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (v128.const i32x4 0 0 0 5)
        (struct.new $s (i32.const 6)) (ref.null extern) (local.get_clear $to)
        (call $new))))
  (func (export "many") (result i32)
    (block $end (result i32)
      (try (stack.switch_call $make (call $new)) catch $end $end)
      (unreachable)))

  ;; A rout that loops after its start, with a `loop` that does not contain the start.
  (rout $counts (param $i i32)
    (local $from stackref)
    (block $begin (result stackref)
      (try stack.start catch $go $begin)
      unreachable)
    (local.set_cleared $from)
    (loop $next
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (block $go (result stackref)
        (try
          (stack.switch $step (local.get $i) (local.get_clear $from))
          catch $go $go)
        (unreachable))
      (local.set_cleared $from)
      (br $next)))
  (func (export "make") (param i32)
    (global.set_cleared $s (stack.extend $counts (local.get 0) (call $new))))
  (func $count (export "count") (result i32)
    (block $step (result i32 stackref)
      (try (stack.switch $go (global.get_clear $s)) catch $step $step)
      (unreachable))
    (global.set_cleared $s))

  ;; Every kind of opening before the start.
  (call_tag $get (result i32))
  (global $main (mut stackref) (ref.null stack))
  (rout $nested (param $a stackref) (param $i i32)
    (block $out
      (answer $get (local.get $i) within
        (stack.redirect $a
          (stack.redirect_to (local.get_clear $a) then (local.set_cleared $a) within
            (loop $unused
              (try_table
                (block $go (result stackref)
                  (try $t (stack.start) catch $go $go)
                  (unreachable))
                (global.set_cleared $main)
                (global.set $n (call_stack $get))
                (br $out)))))))
    (stack.switch_drop $end (global.get $n) (global.get_clear $main)))
  (func (export "openings") (result i32)
    (local $null stackref)
    (block $end (result i32)
      (try
        (stack.switch $go
          (stack.extend $nested (local.get_clear $null) (i32.const 12) (call $new)))
        catch $end $end)
      (unreachable)))

  ;; Plain form.
  (rout $plain (param $i i32) (result i32)
    block $go (result stackref)
      try
        stack.start
      catch $go $go
      end
      unreachable
    end
    drop
    local.get $i)
  (func $extends-plain (param $main stackref)
    i32.const 13
    local.get_clear $main
    stack.extend $plain $end
    stack.switch $go)
  (func (export "plain") (result i32)
    (block $end (result i32)
      (try (stack.switch_call $extends-plain (call $new)) catch $end $end)
      (unreachable))))

(assert_return (invoke "many") (i32.const 22))
(assert_return (invoke "make" (i32.const 5)))
(assert_return (invoke "count") (i32.const 6))
(assert_return (invoke "count") (i32.const 7))
(assert_return (invoke "count") (i32.const 8))
(assert_return (invoke "openings") (i32.const 12))
(assert_return (invoke "plain") (i32.const 13))
