;; The cached path to an outer handler is not used when the stacks in between have changed.
(module
  (type $f (func)) (type $c (cont $f))
  (type $g (func (param i32))) (type $d (cont $g))
  (tag $far (param i32)) (tag $near)
  (global $inner (mut (ref null $c)) (ref.null $c))
  (global $seen (mut i32) (i32.const 0))

  ;; Suspends with $far, $far, $near, $far, $far.
  (func $worker
    (suspend $far (i32.const 1))
    (suspend $far (i32.const 2))
    (suspend $near)
    (suspend $far (i32.const 3))
    (suspend $far (i32.const 4)))
  (elem declare func $worker $middle $other)

  ;; Handles $near: keeps the suspended continuation and ends.
  (func $middle
    (global.set $inner
      (block $h (result (ref $c))
        (resume $c (on $near $h) (cont.new $c (ref.func $worker)))
        (unreachable))))

  ;; Resumes the kept continuation under another handler of $far, which adds 100.
  (func $other
    (local $k (ref null $c))
    (local.set $k (global.get $inner))
    (loop $l
      (block $h (result i32 (ref $c))
        (resume $c (on $far $h) (local.get $k))
        (return))
      (local.set $k)
      (global.set $seen (i32.add (i32.mul (global.get $seen) (i32.const 1000))
        (i32.add (i32.const 100))))
      (br $l)))

  ;; Drives a continuation and records the payloads of its suspensions.
  (func $drive (param $k (ref null $c))
    (loop $l
      (block $h (result i32 (ref $c))
        (resume $c (on $far $h) (local.get $k))
        (return))
      (local.set $k)
      (global.set $seen (i32.add (i32.mul (global.get $seen) (i32.const 10))))
      (br $l)))

  (func (export "run") (result i32)
    (call $drive (cont.new $c (ref.func $middle)))
    (call $other)
    (global.get $seen)))

;; 1 and 2 reach the outer driver, 103 and 104 the other one.
(assert_return (invoke "run") (i32.const 12103104))
