;; A generator: a function that yields values one at a time, and waits between
;; them. It runs as a continuation, and `suspend` leaves it with a value.
;; The length of the Collatz sequence of a number down to 1, and the largest
;; number in it:
;;
;;   $ ropewalk run --invoke steps examples/continuations-generator.wat 27
;;   111
;;   $ ropewalk run --invoke largest examples/continuations-generator.wat 27
;;   9232

(module
  (type $generator (func))
  (type $continuation (cont $generator))
  (type $from (func (param i64)))
  (type $new (cont $from))
  (tag $yield (param i64))
  (elem declare func $collatz)

  ;; Yields the numbers of the sequence, down to 1.
  (func $collatz (param $n i64)
    (loop $next
      (suspend $yield (local.get $n))
      (if (i64.eq (local.get $n) (i64.const 1)) (then (return)))
      (local.set $n
        (if (result i64) (i64.eqz (i64.and (local.get $n) (i64.const 1)))
          (then (i64.shr_u (local.get $n) (i64.const 1)))
          (else (i64.add (i64.mul (local.get $n) (i64.const 3)) (i64.const 1)))))
      (br $next)))

  ;; Binds the argument of the generator, so that it needs none to run.
  (func $start (param $n i64) (result (ref $continuation))
    (cont.bind $new $continuation (local.get $n) (cont.new $new (ref.func $collatz))))

  (func (export "steps") (param $n i64) (result i32)
    (local $rest (ref $continuation))
    (local $count i32)
    (local.set $rest (call $start (local.get $n)))
    (local.set $count (i32.const -1))
    (loop $next
      (block $yielded (result i64 (ref $continuation))
        (resume $continuation (on $yield $yielded) (local.get $rest))
        (return (local.get $count)))
      (local.set $rest)
      (drop)
      (local.set $count (i32.add (local.get $count) (i32.const 1)))
      (br $next))
    (unreachable))

  (func (export "largest") (param $n i64) (result i64)
    (local $rest (ref $continuation))
    (local $largest i64)
    (local.set $rest (call $start (local.get $n)))
    (loop $next
      (block $yielded (result i64 (ref $continuation))
        (resume $continuation (on $yield $yielded) (local.get $rest))
        (return (local.get $largest)))
      (local.set $rest)
      (local.set $n)
      (if (i64.gt_u (local.get $n) (local.get $largest))
        (then (local.set $largest (local.get $n))))
      (br $next))
    (unreachable)))
