;; Resumable exceptions: a computation that cannot continue suspends to its
;; handler. The handler provides the missing value, or gives up and throws a real
;; exception into the computation.
;;
;; The sum of 100 / d for d from n down to -n, where the handler decides the value
;; of 100 / 0:
;;
;;   $ ropewalk run --invoke replace examples/continuations-effects.wat 3 1000
;;   1000
;;   $ ropewalk run --invoke replace examples/continuations-effects.wat 3 7
;;   7
;;
;; The same, but the handler gives up; the exception contains the sum so far:
;;
;;   $ ropewalk run --invoke give-up examples/continuations-effects.wat 3
;;   183

(module
  (type $computation (func (param i32) (result i32)))
  (type $rest (cont $computation))
  (tag $divided-by-zero (param i32) (result i32))
  (tag $give-up)
  (tag $given-up (param i32))
  (elem declare func $sum)

  (func $divide (param $a i32) (param $b i32) (result i32)
    (if (i32.eqz (local.get $b))
      (then (return (suspend $divided-by-zero (local.get $a)))))
    (i32.div_s (local.get $a) (local.get $b)))

  (func $sum (param $n i32) (result i32)
    (local $d i32)
    (local $sum i32)
    (local.set $d (local.get $n))
    (block $given-up
      (try_table (catch $give-up $given-up)
        (loop $next
          (local.set $sum
            (i32.add (local.get $sum) (call $divide (i32.const 100) (local.get $d))))
          (local.set $d (i32.sub (local.get $d) (i32.const 1)))
          (br_if $next (i32.ge_s (local.get $d) (i32.sub (i32.const 0) (local.get $n))))))
      (return (local.get $sum)))
    (throw $given-up (local.get $sum)))

  (func (export "replace") (param $n i32) (param $instead i32) (result i32)
    (local $rest (ref $rest))
    (local.set $rest (cont.new $rest (ref.func $sum)))
    (loop $next
      (block $asked (result i32 (ref $rest))
        (return (resume $rest (on $divided-by-zero $asked) (local.get $n) (local.get $rest))))
      (local.set $rest)
      (drop)
      ;; The computation is resumed with this value.
      (local.set $n (local.get $instead))
      (br $next))
    (unreachable))

  (func (export "give-up") (param $n i32) (result i32)
    (local $rest (ref $rest))
    (block $asked (result i32 (ref $rest))
      (return
        (resume $rest (on $divided-by-zero $asked) (local.get $n)
          (cont.new $rest (ref.func $sum)))))
    (local.set $rest)
    (drop)
    (block $given-up (result i32)
      (try_table (catch $given-up $given-up)
        (return (resume_throw $rest $give-up (local.get $rest))))
      (unreachable))))
