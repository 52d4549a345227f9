;; A tail call leaves the `try_table`s of its function.
;; Only the function's caller can catch the callee's exceptions.

(module
  (type $f (func (result i32)))
  (tag $e)
  (table funcref (elem $throw))
  (func $throw (type $f) (throw $e))
  (func $tail (type $f)
    (block $h
      (try_table (catch_all $h) (return_call $throw)))
    (i32.const 1))
  (func $tail_indirect (type $f)
    (block $h
      (try_table (catch_all $h) (return_call_indirect (type $f) (i32.const 0))))
    (i32.const 1))
  (func $tail_ref (type $f)
    (block $h
      (try_table (catch_all $h) (return_call_ref $f (ref.func $throw))))
    (i32.const 1))
  (export "tail" (func $tail))
  (export "tail indirect" (func $tail_indirect))
  (export "tail reference" (func $tail_ref))
  (func (export "caller catches") (result i32)
    (block $h
      (try_table (catch_all $h) (return (call $tail)))
      (unreachable))
    (i32.const 2))

  ;; Operands of the tail call are still evaluated inside of the `try_table`.
  (func $id (param i32) (result i32) (local.get 0))
  (func (export "operands") (result i32)
    (block $h
      (try_table (catch_all $h) (return_call $id (call $throw))))
    (i32.const 3))

  ;; Tail calls from inside of a `try_table` run in constant stack.
  (func $count (export "count") (param i64) (result i64)
    (if (i64.eqz (local.get 0)) (then (return (i64.const -1))))
    (block $h
      (try_table (catch_all $h)
        (return_call $count (i64.sub (local.get 0) (i64.const 1)))))
    (i64.const -2))

  ;; A handler continues with a tail call.
  (func $handler (export "handler") (param i32) (result i32)
    (if (i32.eqz (local.get 0)) (then (return (i32.const 4))))
    (block $h
      (try_table (catch_all $h) (drop (call $throw))))
    (return_call $handler (i32.sub (local.get 0) (i32.const 1)))))

(assert_exception (invoke "tail"))
(assert_exception (invoke "tail indirect"))
(assert_exception (invoke "tail reference"))
(assert_return (invoke "caller catches") (i32.const 2))
(assert_return (invoke "operands") (i32.const 3))
(assert_return (invoke "count" (i64.const 1_000_000)) (i64.const -1))
(assert_return (invoke "handler" (i32.const 10_000)) (i32.const 4))
