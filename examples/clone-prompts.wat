;; Two prompts, and a continuation through both that is resumed many times.
;;
;; $body emits numbers to the inner prompt, which adds them, and asks the outer prompt for choices.
;; A choice suspends the stacks of both prompts. The outer prompt resumes a copy of them for each
;; value, so each combination of choices has a sum of its own.
;;
;;     $all  <-- choose --  $sum  <-- emit --  $body
;;     outer prompt         inner prompt
;;
;; The sums, added:
;;
;;   $ ropewalk run --invoke run examples/clone-prompts.wat
;;   63
;;
;; They are 0 + 1 + 10 + 11 + 20 + 21.
(module
  (type $body.f (func)) (type $body.k (cont $body.f))
  (type $sum.f (func (result i32))) (type $sum.k (cont $sum.f))
  (type $rest.f (func (param i32) (result i32))) (type $rest (cont $rest.f))
  (tag $choose (param i32) (result i32))              ;; a number from 0 up to the given one
  (tag $emit (param i32))
  (elem declare func $body $sum)

  (func $body
    (suspend $emit (i32.mul (i32.const 10) (suspend $choose (i32.const 3))))
    (suspend $emit (suspend $choose (i32.const 2))))

  ;; The inner prompt.
  (func $sum (result i32)
    (local $sum i32) (local $k (ref null $body.k))
    (local.set $k (cont.new $body.k (ref.func $body)))
    (loop $next (result i32)
      (block $emitted (result i32 (ref $body.k))
        (resume $body.k (on $emit $emitted) (local.get $k))
        (return (local.get $sum)))
      (local.set $k)
      (local.set $sum (i32.add (local.get $sum)))
      (br $next)))

  ;; The outer prompt.
  (func $all (result i32)
    (block $choice (result i32 (ref $rest))
      (return (resume $sum.k (on $choose $choice) (cont.new $sum.k (ref.func $sum)))))
    (return_call $each))

  ;; Adds what the rest of the program returns for each choice below $n.
  (func $each (param $n i32) (param $rest (ref $rest)) (result i32)
    (local $i i32) (local $total i32)
    (loop $next
      (local.set $total (i32.add (local.get $total)
        (call $with (local.get $i) (cont.clone $rest (local.get $rest)))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $n))))
    (local.get $total))

  ;; Resumes the rest of the program with a choice, again below the outer prompt.
  (func $with (param $chosen i32) (param $rest (ref $rest)) (result i32)
    (block $choice (result i32 (ref $rest))
      (return (resume $rest (on $choose $choice) (local.get $chosen) (local.get $rest))))
    (return_call $each))

  (func (export "run") (result i32) (call $all)))
