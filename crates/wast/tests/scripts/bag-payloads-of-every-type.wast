;; A switch, an exception and `stack.bind` carry values of every type.

(module
  (type $f (func (result i32)))
  (type $s (struct (field i32)))
  (type $a (array i8))
  (type $nf (func))
  (type $nk (cont $nf))
  (type $tick (task))
  (type $idle (stack (ref null $idle)))
  (rec
    (type $there (stack
      (param i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk)
        externref (ref $tick) (ref null $idle))
      (ref null $back)))
    (type $back (stack
      (param (ref null $idle) (ref $tick) externref (ref $nk) exnref i31ref (ref $s) anyref
        (ref $f) funcref v128 f64 f32 i64 i32)
      (ref null $there))))
  (type $rest (stack
    (param funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk) externref (ref $tick)
      (ref null $idle))
    (ref null $back)))
  (tag $thrown
    (param i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk)
      externref (ref $tick) (ref null $idle) (ref null $back)))
  (tag $n (param i32))
  (elem declare func $seven $eight $count)
  (func $seven (type $f) (i32.const 7))
  (func $eight (type $f) (i32.const 8))
  (global $count (mut i32) (i32.const 0))
  (func $count (global.set $count (i32.add (global.get $count) (i32.const 1))))
  (func $task (param (ref null $tick)) (call $count))
  (func $idler (param (ref null $idle)) (call $count) (switch_retire $idle (local.get 0)))
  (func (export "count") (result i32) (global.get $count) (global.set $count (i32.const 0)))
  (global $extern (mut externref) (ref.null extern))
  (func (export "extern") (result externref) (global.get $extern))

  (func $exception (param i32) (result exnref)
    (block $h (result exnref)
      (try_table (catch_all_ref $h) (throw $n (local.get 0)))
      (unreachable)))
  (func $in (param exnref) (result i32)
    (block $h (result i32)
      (try_table (catch $n $h) (throw_ref (local.get 0)))
      (unreachable)))

  ;; Traps unless all values arrived unchanged. Returns the sum of the values in the references.
  (func $check
    (param i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk)
      externref (ref $tick) (ref null $idle))
    (result i32)
    (if (i32.ne (local.get 0) (i32.const 1)) (then (unreachable)))
    (if (i64.ne (local.get 1) (i64.const -2)) (then (unreachable)))
    (if (f32.ne (local.get 2) (f32.const 3.5)) (then (unreachable)))
    (if (f64.ne (local.get 3) (f64.const -4.5)) (then (unreachable)))
    (if (i32.eqz (i32x4.all_true
      (i32x4.eq (local.get 4) (v128.const i32x4 5 6 7 8)))) (then (unreachable)))
    (resume $nk (local.get 11))
    (global.set $extern (local.get 12))
    (task.resume $tick (local.get 13))
    (drop (switch $idle (local.get 14)))
    (call_ref $f (ref.cast (ref $f) (local.get 5)))
    (call_ref $f (local.get 6))
    (array.get_u $a (ref.cast (ref $a) (local.get 7)) (i32.const 8))
    (struct.get $s 0 (local.get 8))
    (i31.get_u (local.get 9))
    (call $in (local.get 10))
    i32.add i32.add i32.add i32.add i32.add)

  ;; Sends the values back in reverse order, with fresh one-shot references. Replies to an exception
  ;; in the same way.
  (func $echo
    (param $i i32) (param $l i64) (param $g f32) (param $d f64) (param $v v128)
    (param $func funcref) (param $f (ref $f)) (param $any anyref) (param $s (ref $s))
    (param $i31 i31ref) (param $exn exnref) (param $k (ref $nk)) (param $extern externref)
    (param $t (ref $tick)) (param $idle (ref null $idle)) (param $back (ref null $back))
    (loop $next
      (drop (call $check
        (local.get $i) (local.get $l) (local.get $g) (local.get $d) (local.get $v)
        (local.get $func) (local.get $f) (local.get $any) (local.get $s) (local.get $i31)
        (local.get $exn) (local.get $k) (local.get $extern) (local.get $t) (local.get $idle)))
      (drop (struct.new $s (i32.const 0)))
      (block $h
        (result i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk)
          externref (ref $tick) (ref null $idle) (ref null $back))
        (try_table
          (result i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk)
            externref (ref $tick) (ref null $idle) (ref null $back))
          (catch $thrown $h)
          (switch $back
            (stack.new $idle $idler) (task.new $tick $task) (local.get $extern)
            (cont.new $nk (ref.func $count)) (local.get $exn) (local.get $i31) (local.get $s)
            (local.get $any) (local.get $f) (local.get $func) (local.get $v) (local.get $d)
            (local.get $g) (local.get $l) (local.get $i) (local.get $back))))
      (local.set $back)
      (local.set $idle) (local.set $t) (local.set $extern) (local.set $k) (local.set $exn)
      (local.set $i31) (local.set $s) (local.set $any) (local.set $f) (local.set $func)
      (local.set $v) (local.set $d) (local.set $g) (local.set $l) (local.set $i)
      (br $next)))

  (global $echo (mut (ref null $there)) (ref.null $there))
  ;; Restores the order of the received values, and keeps the sender's stack.
  (func $order
    (param (ref null $idle) (ref $tick) externref (ref $nk) exnref i31ref (ref $s) anyref
      (ref $f) funcref v128 f64 f32 i64 i32 (ref null $there))
    (result i32)
    (global.set $echo (local.get 15))
    (drop (array.new $a (i32.const 0) (i32.const 100)))
    (call $check
      (local.get 14) (local.get 13) (local.get 12) (local.get 11) (local.get 10) (local.get 9)
      (local.get 8) (local.get 7) (local.get 6) (local.get 5) (local.get 4) (local.get 3)
      (local.get 2) (local.get 1) (local.get 0)))

  (func (export "fresh") (param externref) (result i32)
    (call $order (switch $there
      (i32.const 1) (i64.const -2) (f32.const 3.5) (f64.const -4.5) (v128.const i32x4 5 6 7 8)
      (ref.func $seven) (ref.func $eight) (array.new $a (i32.const 9) (i32.const 9))
      (struct.new $s (i32.const 10)) (ref.i31 (i32.const 11)) (call $exception (i32.const 12))
      (cont.new $nk (ref.func $count)) (local.get 0) (task.new $tick $task)
      (stack.new $idle $idler)
      (stack.new $there $echo))))
  (func (export "waiting") (param externref) (result i32)
    (call $order (switch $there
      (i32.const 1) (i64.const -2) (f32.const 3.5) (f64.const -4.5) (v128.const i32x4 5 6 7 8)
      (ref.func $seven) (ref.func $eight) (array.new $a (i32.const 9) (i32.const 9))
      (struct.new $s (i32.const 11)) (ref.i31 (i32.const 12)) (call $exception (i32.const 13))
      (cont.new $nk (ref.func $count)) (local.get 0) (task.new $tick $task)
      (stack.new $idle $idler)
      (global.get $echo))))
  (func (export "thrown") (param externref) (result i32)
    (call $order (switch_throw $there $thrown
      (i32.const 1) (i64.const -2) (f32.const 3.5) (f64.const -4.5) (v128.const i32x4 5 6 7 8)
      (ref.func $seven) (ref.func $eight) (array.new $a (i32.const 9) (i32.const 9))
      (struct.new $s (i32.const 12)) (ref.i31 (i32.const 13)) (call $exception (i32.const 14))
      (cont.new $nk (ref.func $count)) (local.get 0) (task.new $tick $task)
      (stack.new $idle $idler)
      (global.get $echo))))
  (func $bind (param $echo (ref null $there)) (result (ref $rest))
    (stack.bind $there $rest
      (i32.const 1) (i64.const -2) (f32.const 3.5) (f64.const -4.5) (v128.const i32x4 5 6 7 8)
      (local.get $echo)))
  (func $call-rest (param $extern externref) (param $rest (ref null $rest)) (result i32)
    (call $order (switch $rest
      (ref.func $seven) (ref.func $eight) (array.new $a (i32.const 9) (i32.const 9))
      (struct.new $s (i32.const 13)) (ref.i31 (i32.const 14)) (call $exception (i32.const 15))
      (cont.new $nk (ref.func $count)) (local.get $extern) (task.new $tick $task)
      (stack.new $idle $idler)
      (local.get $rest))))
  (func (export "bound") (param externref) (result i32)
    (call $call-rest (local.get 0) (call $bind (global.get $echo))))
  (func (export "bound fresh") (param externref) (result i32)
    (call $call-rest (local.get 0) (call $bind (stack.new $there $echo))))
  (func $leave (param externref) (result i32)
    (return_switch $there $order
      (i32.const 1) (i64.const -2) (f32.const 3.5) (f64.const -4.5) (v128.const i32x4 5 6 7 8)
      (ref.func $seven) (ref.func $eight) (array.new $a (i32.const 9) (i32.const 9))
      (struct.new $s (i32.const 14)) (ref.i31 (i32.const 15)) (call $exception (i32.const 16))
      (cont.new $nk (ref.func $count)) (local.get 0) (task.new $tick $task)
      (stack.new $idle $idler)
      (global.get $echo)))
  (func (export "left") (param externref) (result i32) (call $leave (local.get 0))))

;; 57 = 7 + 8 + 9 from the functions and the array, and 10 + 11 + 12 from the struct, the i31 and
;; the exception. Each check counts three one-shot references.
(assert_return (invoke "fresh" (ref.extern 1)) (i32.const 57))
(assert_return (invoke "extern") (ref.extern 1))
(assert_return (invoke "count") (i32.const 6))
(assert_return (invoke "waiting" (ref.extern 2)) (i32.const 60))
(assert_return (invoke "extern") (ref.extern 2))
(assert_return (invoke "count") (i32.const 6))
(assert_return (invoke "thrown" (ref.extern 3)) (i32.const 63))
(assert_return (invoke "extern") (ref.extern 3))
(assert_return (invoke "count") (i32.const 6))
(assert_return (invoke "bound" (ref.extern 4)) (i32.const 66))
(assert_return (invoke "extern") (ref.extern 4))
(assert_return (invoke "count") (i32.const 6))
(assert_return (invoke "bound fresh" (ref.extern 5)) (i32.const 66))
(assert_return (invoke "extern") (ref.extern 5))
(assert_return (invoke "left" (ref.extern 6)) (i32.const 69))
(assert_return (invoke "extern") (ref.extern 6))
