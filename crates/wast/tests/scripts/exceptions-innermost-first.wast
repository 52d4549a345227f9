;; The innermost `try_table` with a matching clause catches, by its first matching clause.

(module
  (tag $a) (tag $b) (tag $c)
  (func $throw (param i32)
    (if (i32.eq (local.get 0) (i32.const 0)) (then (throw $a)))
    (if (i32.eq (local.get 0) (i32.const 1)) (then (throw $b)))
    (throw $c))

  (func (export "nested") (param i32) (result i32)
    (block $3 (block $2 (block $1
      (try_table (catch_all $3)
        (try_table (catch $b $2)
          (try_table (catch $a $1)
            (call $throw (local.get 0)))))
      (unreachable))
      (return (i32.const 1)))
      (return (i32.const 2)))
    (i32.const 3))

  (func (export "same tag") (result i32)
    (block $outer (block $inner
      (try_table (catch $a $outer)
        (try_table (catch $a $inner) (call $throw (i32.const 0))))
      (unreachable))
      (return (i32.const 1)))
    (i32.const 2))

  (func (export "first clause") (param i32) (result i32)
    (block $3 (block $2 (block $1
      (try_table (catch $a $1) (catch_all $2) (catch $a $3) (catch $b $3)
        (call $throw (local.get 0)))
      (unreachable))
      (return (i32.const 1)))
      (return (i32.const 2)))
    (i32.const 3))
  (func (export "same clause twice") (result i32)
    (block $2 (block $1
      (try_table (catch $a $1) (catch $a $2) (call $throw (i32.const 0)))
      (unreachable))
      (return (i32.const 1)))
    (i32.const 2))

  ;; A handler is outside of its own `try_table` and inside of the enclosing one.
  (func (export "from a handler") (result i32)
    (block $outer
      (try_table (catch_all $outer)
        (block $inner
          (try_table (catch_all $inner) (call $throw (i32.const 0)))
          (unreachable))
        (call $throw (i32.const 1)))
      (unreachable))
    (i32.const 7))

  ;; The callee's `try_table` is inside of the caller's.
  (func $catches (param i32) (result i32)
    (block $h
      (try_table (catch $a $h) (call $throw (local.get 0)))
      (unreachable))
    (i32.const 1))
  (func (export "callee first") (param i32) (result i32)
    (block $h
      (try_table (catch_all $h) (return (call $catches (local.get 0))))
      (unreachable))
    (i32.const 2))

  ;; A `try_table` that has ended or was left does not catch.
  (func (export "after the try_table") (result i32)
    (block $h
      (try_table (catch_all $h))
      (call $throw (i32.const 0)))
    (i32.const 1))
  (func (export "left") (result i32)
    (block $h
      (block $out (try_table (catch_all $h) (br $out)))
      (call $throw (i32.const 0)))
    (i32.const 1))

  ;; A clause of the inner `try_table` may branch past the end of the outer one.
  (func (export "far") (param i32) (result i32)
    (block $far
      (block $near
        (try_table (catch_all $near)
          (block
            (try_table (catch $b $far) (call $throw (local.get 0))))
          (unreachable))
        (unreachable))
      (return (i32.const 1)))
    (i32.const 2)))

(assert_return (invoke "nested" (i32.const 0)) (i32.const 1))
(assert_return (invoke "nested" (i32.const 1)) (i32.const 2))
(assert_return (invoke "nested" (i32.const 2)) (i32.const 3))
(assert_return (invoke "same tag") (i32.const 1))
(assert_return (invoke "first clause" (i32.const 0)) (i32.const 1))
(assert_return (invoke "first clause" (i32.const 1)) (i32.const 2))
(assert_return (invoke "same clause twice") (i32.const 1))
(assert_return (invoke "from a handler") (i32.const 7))
(assert_return (invoke "callee first" (i32.const 0)) (i32.const 1))
(assert_return (invoke "callee first" (i32.const 1)) (i32.const 2))
(assert_exception (invoke "after the try_table"))
(assert_exception (invoke "left"))
(assert_return (invoke "far" (i32.const 0)) (i32.const 1))
(assert_return (invoke "far" (i32.const 1)) (i32.const 2))
