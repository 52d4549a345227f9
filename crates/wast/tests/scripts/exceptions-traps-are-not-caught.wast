;; No clause catches a trap or an exhausted stack, neither in the function nor in its callers; the
;; next call works.

(module
  (type $f (func))
  (tag $e)
  (memory 1)
  (table 1 funcref)
  (func $trap (param i32)
    (block $7 (block $6 (block $5 (block $4 (block $3 (block $2 (block $1 (block $0
      (br_table $0 $1 $2 $3 $4 $5 $6 $7 (local.get 0)))
      (unreachable))
      (drop (i32.load (i32.const 65536))) (return))
      (drop (i32.div_u (i32.const 1) (i32.const 0))) (return))
      (call_indirect (type $f) (i32.const 0)) (return))
      (call_ref $f (ref.null $f)) (return))
      (throw_ref (ref.null exn)))
      (memory.fill (i32.const 1) (i32.const 0) (i32.const 65536)) (return))
    (call $forever))
  (func $forever (call $forever))
  (func $forever_catching
    (block $h
      (try_table (catch_all $h) (call $forever_catching))))

  (func (export "in a callee") (param i32) (result i32)
    (block $h (result exnref)
      (block $all
        (try_table (catch $e $all) (catch_all_ref $h) (call $trap (local.get 0))))
      (return (i32.const 1)))
    (drop)
    (i32.const 2))
  (func (export "in the function") (result i32)
    (block $h
      (try_table (catch_all $h) (drop (i32.load (i32.const 65536)))))
    (i32.const 1))
  (func (export "unreachable") (result i32)
    (block $h
      (try_table (catch_all $h) (unreachable)))
    (i32.const 1))
  (func (export "recursion") (result i32)
    (block $h (try_table (catch_all $h) (call $forever)))
    (i32.const 1))
  (func (export "recursion of handlers") (result i32)
    (block $h (try_table (catch_all $h) (call $forever_catching)))
    (i32.const 1))
  (func (export "next") (result i32)
    (block $h
      (try_table (catch_all $h) (throw $e))
      (unreachable))
    (i32.const 42)))

(assert_trap (invoke "in a callee" (i32.const 0)) "unreachable")
(assert_return (invoke "next") (i32.const 42))
(assert_trap (invoke "in a callee" (i32.const 1)) "out of bounds memory access")
(assert_return (invoke "next") (i32.const 42))
(assert_trap (invoke "in a callee" (i32.const 2)) "integer divide by zero")
(assert_trap (invoke "in a callee" (i32.const 3)) "uninitialized element")
(assert_trap (invoke "in a callee" (i32.const 4)) "null function reference")
(assert_trap (invoke "in a callee" (i32.const 5)) "null exception reference")
(assert_trap (invoke "in a callee" (i32.const 6)) "out of bounds memory access")
(assert_exhaustion (invoke "in a callee" (i32.const 7)) "call stack exhausted")
(assert_return (invoke "next") (i32.const 42))
(assert_trap (invoke "in the function") "out of bounds memory access")
(assert_trap (invoke "unreachable") "unreachable")
(assert_exhaustion (invoke "recursion") "call stack exhausted")
(assert_return (invoke "next") (i32.const 42))
(assert_exhaustion (invoke "recursion of handlers") "call stack exhausted")
(assert_return (invoke "next") (i32.const 42))
