;; An exception that nothing catches ends the call, and nothing else: the next
;; call works, and what was done before stays done.

(module
  (tag $e (param i32 i64))
  (global $calls (mut i32) (i32.const 0))
  (func $throw (export "throw")
    (global.set $calls (i32.add (global.get $calls) (i32.const 1)))
    (throw $e (i32.const 1) (i64.const 2)))
  (func (export "deep") (param i32)
    (if (i32.eqz (local.get 0)) (then (call $throw)))
    (call 1 (i32.sub (local.get 0) (i32.const 1))))
  (func (export "not caught")
    (try_table (call $throw)))
  (func (export "inside") (try_table (throw $e (i32.const 1) (i64.const 2))))
  (func (export "calls") (result i32) (global.get $calls))
  (func (export "caught") (result i32)
    (block $h
      (try_table (catch_all $h) (call $throw))
      (unreachable))
    (global.get $calls)))

(assert_exception (invoke "throw"))
(assert_return (invoke "calls") (i32.const 1))
(assert_exception (invoke "deep" (i32.const 1000)))
(assert_return (invoke "calls") (i32.const 2))
(assert_exception (invoke "not caught"))
(assert_exception (invoke "inside"))
(assert_return (invoke "caught") (i32.const 4))
(assert_exception (invoke "throw"))
(assert_return (invoke "caught") (i32.const 6))
