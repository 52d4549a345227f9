;; Values of every type travel with `suspend` to the handler, with `resume` back
;; to the suspension, and as arguments and results of a continuation.

(module
  (type $f (func (result i32)))
  (type $s (struct (field i32)))
  (type $a (array i8))
  (type $nf (func))
  (type $nk (cont $nf))
  (type $back (func
    (param externref (ref $nk) exnref i31ref (ref $s) anyref (ref $f) funcref v128 f64 f32 i64 i32)
    (result i32)))
  (type $kback (cont $back))
  (type $start (func
    (param i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk) externref)
    (result i32)))
  (type $kstart (cont $start))
  (tag $e
    (param i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk) externref)
    (result externref (ref $nk) exnref i31ref (ref $s) anyref (ref $f) funcref v128 f64 f32 i64
      i32))
  (tag $n (param i32))
  (elem declare func $seven $eight $body $count)
  (func $seven (type $f) (i32.const 7))
  (func $eight (type $f) (i32.const 8))
  (global $count (mut i32) (i32.const 0))
  (func $count (global.set $count (i32.add (global.get $count) (i32.const 1))))
  (func (export "count") (result i32) (global.get $count))
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

  ;; Traps unless all is as it was sent; answers the sum of what is in them.
  (func $check (type $start)
    (if (i32.ne (local.get 0) (i32.const 1)) (then (unreachable)))
    (if (i64.ne (local.get 1) (i64.const -2)) (then (unreachable)))
    (if (f32.ne (local.get 2) (f32.const 3.5)) (then (unreachable)))
    (if (f64.ne (local.get 3) (f64.const -4.5)) (then (unreachable)))
    (if (i32.eqz (i32x4.all_true
      (i32x4.eq (local.get 4) (v128.const i32x4 5 6 7 8)))) (then (unreachable)))
    (resume $nk (local.get 11))
    (global.set $extern (local.get 12))
    (call_ref $f (ref.cast (ref $f) (local.get 5)))
    (call_ref $f (local.get 6))
    (array.get_u $a (ref.cast (ref $a) (local.get 7)) (i32.const 8))
    (struct.get $s 0 (local.get 8))
    (i31.get_u (local.get 9))
    (call $in (local.get 10))
    i32.add i32.add i32.add i32.add i32.add)

  (func $body (type $start)
    (local $extern externref) (local $k (ref $nk)) (local $exn exnref) (local $i31 i31ref)
    (local $s (ref $s)) (local $any anyref) (local $f (ref $f)) (local $func funcref)
    (local $v v128) (local $d f64) (local $g f32) (local $l i64) (local $i i32)
    (suspend $e
      (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5)
      (local.get 6) (local.get 7) (local.get 8) (local.get 9) (local.get 10) (local.get 11)
      (local.get 12))
    (local.set $i) (local.set $l) (local.set $g) (local.set $d) (local.set $v) (local.set $func)
    (local.set $f) (local.set $any) (local.set $s) (local.set $i31) (local.set $exn)
    (local.set $k) (local.set $extern)
    (drop (struct.new $s (i32.const 0)))
    (call $check
      (local.get $i) (local.get $l) (local.get $g) (local.get $d) (local.get $v)
      (local.get $func) (local.get $f) (local.get $any) (local.get $s) (local.get $i31)
      (local.get $exn) (local.get $k) (local.get $extern)))

  (func (export "every") (param externref externref) (result i32)
    (local $extern externref) (local $k (ref $nk)) (local $exn exnref) (local $i31 i31ref)
    (local $s (ref $s)) (local $any anyref) (local $f (ref $f)) (local $func funcref)
    (local $v v128) (local $d f64) (local $g f32) (local $l i64) (local $i i32)
    (local $kback (ref $kback))
    (block $h
      (result i32 i64 f32 f64 v128 funcref (ref $f) anyref (ref $s) i31ref exnref (ref $nk)
        externref (ref $kback))
      (return (resume $kstart (on $e $h)
        (i32.const 1) (i64.const -2) (f32.const 3.5) (f64.const -4.5)
        (v128.const i32x4 5 6 7 8) (ref.func $seven) (ref.func $eight)
        (array.new $a (i32.const 9) (i32.const 9)) (struct.new $s (i32.const 10))
        (ref.i31 (i32.const 11)) (call $exception (i32.const 12))
        (cont.new $nk (ref.func $count)) (local.get 0)
        (cont.new $kstart (ref.func $body)))))
    (local.set $kback)
    (local.set $extern) (local.set $k) (local.set $exn) (local.set $i31) (local.set $s)
    (local.set $any) (local.set $f) (local.set $func) (local.set $v) (local.set $d)
    (local.set $g) (local.set $l) (local.set $i)
    (drop (struct.new $s (i32.const 0)))
    ;; Checked here, and sent back in the other order with one more in each.
    (drop (call $check
      (local.get $i) (local.get $l) (local.get $g) (local.get $d) (local.get $v)
      (local.get $func) (local.get $f) (local.get $any) (local.get $s) (local.get $i31)
      (local.get $exn) (local.get $k) (local.get $extern)))
    (resume $kback
      (local.get 1) (cont.new $nk (ref.func $count)) (call $exception (i32.const 13))
      (ref.i31 (i32.const 14)) (local.get $s) (local.get $any) (local.get $f)
      (local.get $func) (local.get $v) (local.get $d) (local.get $g) (local.get $l)
      (local.get $i) (local.get $kback))))

(assert_return (invoke "every" (ref.extern 1) (ref.extern 2)) (i32.const 61))
(assert_return (invoke "count") (i32.const 2))
(assert_return (invoke "extern") (ref.extern 2))
