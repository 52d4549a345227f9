;; Suspensions act as resumable exceptions.
;; The handler resumes with a value or throws a real exception.

(module
  (type $f (func (param i32) (result i32)))
  (type $k (cont $f))
  (tag $raise (param i32) (result i32))
  (tag $abort (param i32))
  (elem declare func $divides)
  ;; Suspends instead of dividing by zero, and returns the value that it receives.
  (func $divide (param i32 i32) (result i32)
    (if (result i32) (local.get 1)
      (then (i32.div_s (local.get 0) (local.get 1)))
      (else (suspend $raise (local.get 0)))))
  (func $divides (param i32) (result i32)
    (i32.add
      (call $divide (i32.const 100) (local.get 0))
      (call $divide (i32.const 10) (local.get 0))))

  (func (export "replace") (param $n i32) (param $instead i32) (result i32)
    (local $k (ref $k))
    (local.set $k (cont.new $k (ref.func $divides)))
    (loop $next
      (block $h (result i32 (ref $k))
        (return (resume $k (on $raise $h) (local.get $n) (local.get $k))))
      (local.set $k)
      (drop)
      (local.set $n (local.get $instead))
      (br $next))
    (unreachable))
  (func (export "abort") (param $n i32) (result i32)
    (local $k (ref $k)) (local $i i32)
    (block $h (result i32 (ref $k))
      (return (resume $k (on $raise $h) (local.get $n) (cont.new $k (ref.func $divides)))))
    (local.set $k)
    (local.set $i)
    (block $x (result i32)
      (try_table (catch $abort $x)
        (return (resume_throw $k $abort (local.get $i) (local.get $k))))
      (unreachable))
    (i32.mul (i32.const -1))))

(assert_return (invoke "replace" (i32.const 5) (i32.const 1)) (i32.const 22))
(assert_return (invoke "replace" (i32.const 0) (i32.const 3)) (i32.const 6))
(assert_return (invoke "abort" (i32.const 5)) (i32.const 22))
(assert_return (invoke "abort" (i32.const 0)) (i32.const -100))
