;; Checkpoint and retry. A long computation marks points to restart from by
;; `$checkpoint`; its steps may fail with an exception. The handler keeps a copy of the
;; computation at its newest checkpoint. After a failure it resumes a copy of that, so
;; the steps before the checkpoint are not repeated. Stacks of the bag would work as
;; well, and first-class stacks (`stack.clone`).
;;
;; A hundred steps, with a checkpoint after every tenth; each step fails sometimes. The
;; result, and the total number of steps:
;;
;;   $ ropewalk run --invoke result examples/clone-retry.wat
;;   5050
;;   $ ropewalk run --invoke steps examples/clone-retry.wat
;;   156
;;
;; Without checkpoints, each failure restarts the computation:
;;
;;   $ ropewalk run --invoke without examples/clone-retry.wat
;;   236

(module
  (type $work (func (result i32)))
  (type $rest (cont $work))
  (tag $checkpoint)
  (tag $failed)
  (global $steps (mut i32) (i32.const 0))
  (global $attempts (mut i32) (i32.const 0))
  (elem declare func $work)

  ;; A step that returns a number, unless it fails.
  (func $step (param $i i32) (result i32)
    (global.set $steps (i32.add (global.get $steps) (i32.const 1)))
    (global.set $attempts (i32.add (global.get $attempts) (i32.const 1)))
    ;; At first it fails often, then rarely.
    (if (i32.eqz (i32.rem_u (i32.mul (global.get $attempts) (i32.const 7)) (i32.const 17)))
      (then
        (if (i32.lt_u (global.get $attempts) (i32.const 150)) (then (throw $failed)))))
    (local.get $i))
  (func $work (result i32)
    (local $i i32) (local $sum i32)
    (loop $next
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (local.set $sum (i32.add (local.get $sum) (call $step (local.get $i))))
      (if (i32.eqz (i32.rem_u (local.get $i) (i32.const 10))) (then (suspend $checkpoint)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 100))))
    (local.get $sum))

  (func $begin
    (global.set $steps (i32.const 0))
    (global.set $attempts (i32.const 0)))
  (func $run (export "result") (result i32)
    (local $kept (ref null $rest))
    (call $begin)
    (local.set $kept (cont.new $rest (ref.func $work)))
    (loop $again
      (block $failed
        (block $checkpoint (result (ref $rest))
          (try_table (catch $failed $failed)
            (return
              (resume $rest (on $checkpoint $checkpoint)
                (cont.clone $rest (local.get $kept)))))
          (unreachable))
        (local.set $kept))
      (br $again))
    (unreachable))
  (func (export "steps") (result i32) (drop (call $run)) (global.get $steps))

  ;; The same without copies.
  (func $begin-anew (result i32)
    (local $rest (ref null $rest))
    (call $begin)
    (loop $again
      (block $failed
        (local.set $rest (cont.new $rest (ref.func $work)))
        (loop $continue
          (block $checkpoint (result (ref $rest))
            (try_table (catch $failed $failed)
              (return (resume $rest (on $checkpoint $checkpoint) (local.get $rest))))
            (unreachable))
          (local.set $rest)
          (br $continue)))
      (br $again))
    (unreachable))
  (func (export "without") (result i32) (drop (call $begin-anew)) (global.get $steps)))
