;; `throw_ref` rethrows an exception with its tag and values, any number of times, from anywhere.

(module
  (type $cell (struct (field (mut i32))))
  (tag $e (param (ref $cell)))
  (tag $f)

  (func $throw (param (ref $cell)) (throw $e (local.get 0)))

  ;; The handler modifies an object in the exception and rethrows.
  (func $adds (param $cell (ref $cell)) (param $n i32)
    (local $found (ref $cell)) (local $exception (ref exn))
    (if (i32.eqz (local.get $n)) (then (return_call $throw (local.get $cell))))
    (block $h (result (ref $cell) (ref exn))
      (try_table (catch_ref $e $h)
        (call $adds (local.get $cell) (i32.sub (local.get $n) (i32.const 1))))
      (unreachable))
    (local.set $exception)
    (local.set $found)
    (struct.set $cell 0 (local.get $found)
      (i32.add (struct.get $cell 0 (local.get $found)) (i32.const 1)))
    (throw_ref (local.get $exception)))
  (func (export "adds") (param i32) (result i32 i32)
    (local $cell (ref $cell)) (local $found (ref $cell))
    (local.set $cell (struct.new $cell (i32.const 100)))
    (block $h (result (ref $cell))
      (try_table (catch $e $h) (call $adds (local.get $cell) (local.get 0)))
      (unreachable))
    (local.set $found)
    (struct.get $cell 0 (local.get $found))
    (ref.eq (local.get $cell) (local.get $found)))

  ;; The handler rethrows to an outer clause in the same function.
  (func (export "outwards") (result i32)
    (block $outer (result (ref $cell))
      (try_table (catch $e $outer)
        (block $inner (result (ref exn))
          (try_table (catch_all_ref $inner)
            (call $throw (struct.new $cell (i32.const 5))))
          (unreachable))
        (throw_ref))
      (unreachable))
    (struct.get $cell 0))

  ;; The `try_table` around the `throw_ref` catches, regardless of which one caught the exception
  ;; first.
  (func (export "later") (result i32)
    (local $exception exnref)
    (block $h (result exnref)
      (try_table (catch_all_ref $h) (call $throw (struct.new $cell (i32.const 6))))
      (unreachable))
    (local.set $exception)
    (block $h (result (ref $cell))
      (block $f
        (try_table (catch $f $f) (catch $e $h) (throw_ref (local.get $exception))))
      (unreachable))
    (struct.get $cell 0)
    (drop)
    (block $h (result (ref $cell) (ref exn))
      (try_table (catch_ref $e $h) (throw_ref (local.get $exception)))
      (unreachable))
    (drop)
    (struct.get $cell 0))

  (func (export "uncaught")
    (block $h (result exnref)
      (try_table (catch_all_ref $h) (throw $f))
      (unreachable))
    (throw_ref))
  (func (export "null") (throw_ref (ref.null exn)))
  (func (export "null noexn") (throw_ref (ref.null noexn)))
  (func (export "null in try") (result i32)
    (block $h
      (try_table (catch_all $h) (throw_ref (ref.null exn))))
    (i32.const 1))

  ;; Rethrows n times.
  (func (export "n times") (param $n i32) (result i32)
    (local $exception exnref) (local $count i32)
    (local.set $exception
      (block $h (result exnref)
        (try_table (catch_all_ref $h) (throw $f))
        (unreachable)))
    (loop $again
      (local.set $count (i32.add (local.get $count) (i32.const 1)))
      (local.set $exception
        (block $h (result exnref)
          (try_table (catch_all_ref $h) (throw_ref (local.get $exception)))
          (unreachable)))
      (br_if $again (i32.lt_u (local.get $count) (local.get $n))))
    (local.get $count)))

(assert_return (invoke "adds" (i32.const 0)) (i32.const 100) (i32.const 1))
(assert_return (invoke "adds" (i32.const 1)) (i32.const 101) (i32.const 1))
(assert_return (invoke "adds" (i32.const 50)) (i32.const 150) (i32.const 1))
(assert_return (invoke "outwards") (i32.const 5))
(assert_return (invoke "later") (i32.const 6))
(assert_exception (invoke "uncaught"))
(assert_trap (invoke "null") "null exception reference")
(assert_trap (invoke "null noexn") "null exception reference")
(assert_trap (invoke "null in try") "null exception reference")
(assert_return (invoke "n times" (i32.const 10_000)) (i32.const 10_000))
