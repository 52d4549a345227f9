;; The examples of the stack switching explainer, in one module.
;;
;; A generator of the natural numbers, and a consumer that adds them up until
;; they reach ten:
;;
;;   $ ropewalk run --invoke sum-up examples/continuations-seesaw.wat
;;   55
;;
;; Two coroutines on a seesaw: one runs until it interrupts itself, then the
;; other. When one ends, the other is canceled. Here they are generators, and
;; the seesaw itself runs as the generator that the consumer consumes: `yield`
;; passes through it. Each number comes twice.
;;
;;   $ ropewalk run --invoke sum-up-after-seesaw examples/continuations-seesaw.wat
;;   100

(module
  (type $generator (func))
  (type $numbers (cont $generator))
  (type $coroutine (func (result i32)))
  (type $task (cont $coroutine))
  (type $two-tasks (func (param (ref $task) (ref $task))))
  (type $seesaw (cont $two-tasks))
  (tag $yield (param i32))
  (tag $interrupt)
  (tag $cancel)
  (elem declare func $naturals $interruptible-naturals $seesaw-without-result)

  ;; The producer.
  (func $naturals
    (local $i i32)
    (loop $produce-next
      (suspend $yield (local.get $i))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $produce-next)))

  ;; The consumer.
  (func $sum-up (param $numbers (ref $numbers)) (param $limit i32) (result i32)
    (local $n i32)
    (local $sum i32)
    (loop $consume-next
      (block $on-yield (result i32 (ref $numbers))
        (resume $numbers (on $yield $on-yield) (local.get $numbers))
        (return (local.get $sum)))
      (local.set $numbers)
      (local.set $n)
      (local.set $sum (i32.add (local.get $sum) (local.get $n)))
      (br_if $consume-next (i32.lt_u (local.get $n) (local.get $limit))))
    (local.get $sum))

  (func (export "sum-up") (result i32)
    (call $sum-up (cont.new $numbers (ref.func $naturals)) (i32.const 10)))

  ;; The seesaw: returns the result of the task that ends first.
  (func $seesaw (param $up (ref $task)) (param $down (ref $task)) (result i32)
    (local $result i32)
    (loop $run-next (result i32)
      (block $on-interrupt (result (ref $task))
        (local.set $result (resume $task (on $interrupt $on-interrupt) (local.get $up)))
        (block $on-cancel
          (try_table (catch $cancel $on-cancel)
            ;; Its result, if it catches the exception, is not used.
            (drop (resume_throw $task $cancel (local.get $down)))))
        (return (local.get $result)))
      (local.set $up)
      (local.get $down)
      (local.set $down (local.get $up))
      (local.set $up)
      (br $run-next)))

  (func $seesaw-without-result (param $up (ref $task)) (param $down (ref $task))
    (drop (call $seesaw (local.get $up) (local.get $down))))

  (func $interruptible-naturals (result i32)
    (local $i i32)
    (loop $produce-next (result i32)
      (suspend $yield (local.get $i))
      (suspend $interrupt)
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $produce-next)))

  (func (export "sum-up-after-seesaw") (result i32)
    (call $sum-up
      (cont.bind $seesaw $numbers
        (cont.new $task (ref.func $interruptible-naturals))
        (cont.new $task (ref.func $interruptible-naturals))
        (cont.new $seesaw (ref.func $seesaw-without-result)))
      (i32.const 10))))
