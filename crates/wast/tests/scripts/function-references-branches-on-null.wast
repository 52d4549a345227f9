;; `br_on_null` drops the null, `br_on_non_null` passes the reference.
;; Both keep the operands below.

(module
  (type $f (func (result i32)))
  (elem declare func $seven)
  (func $seven (type $f) (i32.const 7))
  (func $maybe (param i32) (result (ref null $f))
    (select (result (ref null $f)) (ref.func $seven) (ref.null $f) (local.get 0)))

  (func (export "br_on_null") (param i32) (result i32)
    (block $null
      (return (call_ref $f (br_on_null $null (call $maybe (local.get 0))))))
    (i32.const -1))
  (func (export "br_on_non_null") (param i32) (result i32)
    (call_ref $f
      (block $found (result (ref $f))
        (br_on_non_null $found (call $maybe (local.get 0)))
        (return (i32.const -1)))))

  ;; With other operands.
  (func (export "br_on_null operands") (param i32) (result i32 i64)
    (block $null (result i32 i64)
      (i32.const 1) (i64.const 2)
      (br_on_null $null (call $maybe (local.get 0)))
      (drop) (drop) (drop)
      (i32.const 3) (i64.const 4)))
  (func (export "br_on_non_null operands") (param i32) (result i32 i64 i32)
    (block $found (result i32 i64 (ref $f))
      (i32.const 1) (i64.const 2)
      (br_on_non_null $found (call $maybe (local.get 0)))
      (drop) (drop)
      (i32.const 3) (i64.const 4) (ref.func $seven))
    (call_ref $f))

  ;; To a loop, and to the function's end.
  (func (export "loop") (param $n i32) (result i32)
    (local $count i32)
    (loop $again
      (local.set $count (i32.add (local.get $count) (i32.const 1)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (drop (br_on_null $again (call $maybe (i32.eqz (local.get $n))))))
    (local.get $count))
  (func (export "function") (param i32) (result (ref null $f))
    (br_on_non_null 0 (call $maybe (local.get 0)))
    (ref.null $f))

  ;; References of every hierarchy.
  (func (export "extern") (param externref) (result i32)
    (block $null (drop (br_on_null $null (local.get 0))) (return (i32.const 1)))
    (i32.const 0))
  (func (export "i31") (param i32) (result i32)
    (block $found (result (ref i31))
      (br_on_non_null $found
        (select (result i31ref) (ref.i31 (i32.const 5)) (ref.null i31) (local.get 0)))
      (return (i32.const -1)))
    (i31.get_s)))

(assert_return (invoke "br_on_null" (i32.const 1)) (i32.const 7))
(assert_return (invoke "br_on_null" (i32.const 0)) (i32.const -1))
(assert_return (invoke "br_on_non_null" (i32.const 1)) (i32.const 7))
(assert_return (invoke "br_on_non_null" (i32.const 0)) (i32.const -1))
(assert_return (invoke "br_on_null operands" (i32.const 0)) (i32.const 1) (i64.const 2))
(assert_return (invoke "br_on_null operands" (i32.const 1)) (i32.const 3) (i64.const 4))
(assert_return (invoke "br_on_non_null operands" (i32.const 1))
  (i32.const 1) (i64.const 2) (i32.const 7))
(assert_return (invoke "br_on_non_null operands" (i32.const 0))
  (i32.const 3) (i64.const 4) (i32.const 7))
(assert_return (invoke "loop" (i32.const 1)) (i32.const 1))
(assert_return (invoke "loop" (i32.const 1000)) (i32.const 1000))
(assert_return (invoke "function" (i32.const 1)) (ref.func))
(assert_return (invoke "function" (i32.const 0)) (ref.null func))
(assert_return (invoke "extern" (ref.extern 1)) (i32.const 1))
(assert_return (invoke "extern" (ref.null extern)) (i32.const 0))
(assert_return (invoke "i31" (i32.const 1)) (i32.const 5))
(assert_return (invoke "i31" (i32.const 0)) (i32.const -1))
