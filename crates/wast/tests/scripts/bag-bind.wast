;; `stack.bind` binds the first values of a stack.

(module
  (type $idle (stack (ref null $idle)))
  (type $main (stack (param i64) (ref null $idle)))
  (type $c0 (stack (ref null $main)))
  (type $c1 (stack (param f64) (ref null $main)))
  (type $c2 (stack (param i64 f64) (ref null $main)))
  (type $c3 (stack (param i32 i64 f64) (ref null $main)))
  ;; Ones, hundreds and ten thousands of the result show the three values.
  (func $body (param i32 i64 f64) (param (ref null $main))
    (switch_retire $main
      (i64.add
        (i64.extend_i32_u (local.get 0))
        (i64.add
          (i64.mul (local.get 1) (i64.const 100))
          (i64.mul (i64.trunc_f64_s (local.get 2)) (i64.const 10000))))
      (local.get 3)))

  (func (export "nothing") (result i64)
    (switch $c3 (i32.const 1) (i64.const 2) (f64.const 3)
      (stack.bind $c3 $c3 (stack.new $c3 $body)))
    (drop))
  (func (export "one") (result i64)
    (switch $c2 (i64.const 2) (f64.const 3)
      (stack.bind $c3 $c2 (i32.const 1) (stack.new $c3 $body)))
    (drop))
  (func (export "two") (result i64)
    (switch $c1 (f64.const 3)
      (stack.bind $c3 $c1 (i32.const 1) (i64.const 2) (stack.new $c3 $body)))
    (drop))
  (func (export "all") (result i64)
    (switch $c0
      (stack.bind $c3 $c0 (i32.const 1) (i64.const 2) (f64.const 3) (stack.new $c3 $body)))
    (drop))
  (func (export "one after another") (result i64)
    (switch $c0
      (stack.bind $c1 $c0 (f64.const 7)
        (stack.bind $c2 $c1 (i64.const 8)
          (stack.bind $c3 $c2 (i32.const 9) (stack.new $c3 $body)))))
    (drop))
  (func (export "plain") (result i64)
    (local $bound (ref null $c1))
    i32.const 4
    i64.const 5
    stack.new $c3 $body
    stack.bind $c3 $c1
    local.set $bound
    f64.const 6
    local.get $bound
    switch $c1
    drop)

  ;; Each `stack.bind` of a sequence consumes its operand.
  (global $s3 (mut (ref null $c3)) (ref.null $c3))
  (global $s2 (mut (ref null $c2)) (ref.null $c2))
  (global $s1 (mut (ref null $c1)) (ref.null $c1))
  (func (export "bind three times")
    (global.set $s3 (stack.new $c3 $body))
    (global.set $s2 (stack.bind $c3 $c2 (i32.const 1) (global.get $s3)))
    (global.set $s1 (stack.bind $c2 $c1 (i64.const 2) (global.get $s2))))
  (func (export "switch to the first") (result i64)
    (switch $c3 (i32.const 0) (i64.const 0) (f64.const 0) (global.get $s3))
    (drop))
  (func (export "bind the first")
    (drop (stack.bind $c3 $c2 (i32.const 0) (global.get $s3))))
  (func (export "bind nothing to the first")
    (drop (stack.bind $c3 $c3 (global.get $s3))))
  (func (export "switch to the second") (result i64)
    (switch $c2 (i64.const 0) (f64.const 0) (global.get $s2))
    (drop))
  (func (export "switch to the third") (result i64)
    (switch $c1 (f64.const 3) (global.get $s1))
    (drop))
  (func (export "null") (drop (stack.bind $c3 $c2 (i32.const 1) (ref.null $c3))))
  (func (export "null, nothing bound") (drop (stack.bind $c3 $c3 (ref.null $c3))))

  ;; A stack that is suspended in a `switch` can be bound as well.
  (rec
    (type $pair (stack (param i32 i32) (ref null $sum)))
    (type $sum (stack (param i32) (ref null $pair))))
  (type $single (stack (param i32) (ref null $sum)))
  (type $ready (stack (ref null $sum)))
  (func $subtracts (param $a i32) (param $b i32) (param $back (ref null $sum))
    (loop $next
      (switch $sum (i32.sub (local.get $a) (local.get $b)) (local.get $back))
      (local.set $back)
      (local.set $b)
      (local.set $a)
      (br $next)))
  (func (export "waiting") (result i32 i32 i32)
    (local $s (ref null $pair)) (local $n i32)
    (switch $pair (i32.const 9) (i32.const 1) (stack.new $pair $subtracts))
    (local.set $s) (local.set $n) (local.get $n)
    (switch $single (i32.const 3) (stack.bind $pair $single (i32.const 10) (local.get $s)))
    (local.set $s) (local.set $n) (local.get $n)
    (switch $ready
      (stack.bind $single $ready (i32.const 5)
        (stack.bind $pair $single (i32.const 11) (local.get $s))))
    (drop))

  ;; So can the root, by the coroutine it switched to.
  (type $root3 (stack (param i32 i64 f64) (ref null $idle)))
  (type $root1 (stack (param f64) (ref null $idle)))
  (type $start (stack (ref null $root3)))
  (func $binds (param $back (ref null $root3))
    (switch_retire $root1 (f64.const 3)
      (stack.bind $root3 $root1 (i32.const 1) (i64.const 2) (local.get $back))))
  (func (export "root") (result i32 i64 f64)
    (switch $start (stack.new $start $binds))
    (drop))

  ;; Bound references survive a collection.
  (type $box (struct (field i32)))
  (type $boxes (stack (param (ref $box) (ref $box)) (ref null $sum)))
  (type $one-box (stack (param (ref $box)) (ref null $sum)))
  (func $unboxes (param (ref $box) (ref $box) (ref null $sum))
    (switch_retire $sum
      (i32.add (struct.get $box 0 (local.get 0)) (struct.get $box 0 (local.get 1)))
      (local.get 2)))
  (global $one-box (mut (ref null $one-box)) (ref.null $one-box))
  (func $litter (param $n i32)
    (loop $next
      (drop (struct.new $box (i32.const -1)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func (export "keep a box")
    (global.set $one-box
      (stack.bind $boxes $one-box (struct.new $box (i32.const 30)) (stack.new $boxes $unboxes)))
    (call $litter (i32.const 10000)))
  (func (export "unbox") (result i32)
    (call $litter (i32.const 10000))
    (switch $one-box (struct.new $box (i32.const 12)) (global.get $one-box))
    (drop)))

(assert_return (invoke "nothing") (i64.const 30201))
(assert_return (invoke "one") (i64.const 30201))
(assert_return (invoke "two") (i64.const 30201))
(assert_return (invoke "all") (i64.const 30201))
(assert_return (invoke "one after another") (i64.const 70809))
(assert_return (invoke "plain") (i64.const 60504))
(assert_return (invoke "bind three times"))
(assert_trap (invoke "switch to the first") "stack reference already used")
(assert_trap (invoke "bind the first") "stack reference already used")
(assert_trap (invoke "bind nothing to the first") "stack reference already used")
(assert_trap (invoke "switch to the second") "stack reference already used")
(assert_return (invoke "switch to the third") (i64.const 30201))
(assert_trap (invoke "switch to the third") "stack reference already used")
(assert_trap (invoke "null") "null stack reference")
(assert_trap (invoke "null, nothing bound") "null stack reference")
(assert_return (invoke "waiting") (i32.const 8) (i32.const 7) (i32.const 6))
(assert_return (invoke "root") (i32.const 1) (i64.const 2) (f64.const 3))
(assert_return (invoke "keep a box"))
(assert_return (invoke "unbox") (i32.const 42))
