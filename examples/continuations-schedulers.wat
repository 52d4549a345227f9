;; A tree of schedulers. A scheduler runs its threads in turn, one turn of its own each. It is a
;; thread itself, which yields to the scheduler around it. All of them use one tag and one function:
;; what a thread suspends reaches the nearest scheduler, and what that suspends the next one.
;;
;; One group has a thread, and another has three. The groups share the time equally, whatever the
;; number of their threads. The turns of the four threads, in twelve turns of each group:
;;
;;   $ ropewalk run --invoke groups examples/continuations-schedulers.wat 12
;;   12
;;   4
;;   4
;;   4
;;
;; The same threads in one group:
;;
;;   $ ropewalk run --invoke together examples/continuations-schedulers.wat 12
;;   6
;;   6
;;   6
;;   6

(module
  (type $body (func))
  (type $thread (cont $body))
  (type $threads (array (mut (ref null $thread))))
  (type $numbered (func (param i32)))
  (type $new-worker (cont $numbered))
  (type $scheduling (func (param (ref $threads))))
  (type $new-scheduler (cont $scheduling))
  (tag $yield)
  (memory 1)
  (elem declare func $work $schedule)

  ;; Counts its turns.
  (func $work (param $number i32)
    (local $place i32)
    (local.set $place (i32.mul (local.get $number) (i32.const 4)))
    (loop $next
      (i32.store (local.get $place)
        (i32.add (i32.load (local.get $place)) (i32.const 1)))
      (suspend $yield)
      (br $next)))

  (func $schedule (param $threads (ref $threads))
    (local $i i32) (local $thread (ref null $thread))
    (loop $next
      (block $yielded (result (ref $thread))
        (resume $thread (on $yield $yielded)
          (array.get $threads (local.get $threads) (local.get $i)))
        (unreachable))
      (local.set $thread)
      (array.set $threads (local.get $threads) (local.get $i) (local.get $thread))
      (local.set $i
        (i32.rem_u (i32.add (local.get $i) (i32.const 1)) (array.len (local.get $threads))))
      (suspend $yield)
      (br $next)))

  (func $worker (param $number i32) (result (ref $thread))
    (cont.bind $new-worker $thread
      (local.get $number) (cont.new $new-worker (ref.func $work))))
  (func $scheduler (param $threads (ref $threads)) (result (ref $thread))
    (cont.bind $new-scheduler $thread
      (local.get $threads) (cont.new $new-scheduler (ref.func $schedule))))

  ;; Gives a scheduler this many turns. Nothing resumes it afterwards, so all stacks are freed.
  (func $run (param $scheduler (ref null $thread)) (param $turns i32)
      (result i32 i32 i32 i32)
    (loop $next
      (block $yielded (result (ref $thread))
        (resume $thread (on $yield $yielded) (local.get $scheduler))
        (unreachable))
      (local.set $scheduler)
      (br_if $next (local.tee $turns (i32.sub (local.get $turns) (i32.const 1)))))
    (i32.load (i32.const 0))
    (i32.load (i32.const 4))
    (i32.load (i32.const 8))
    (i32.load (i32.const 12)))

  (func (export "groups") (param $turns i32) (result i32 i32 i32 i32)
    (call $run
      (call $scheduler
        (array.new_fixed $threads 2
          (call $scheduler (array.new_fixed $threads 1 (call $worker (i32.const 0))))
          (call $scheduler
            (array.new_fixed $threads 3
              (call $worker (i32.const 1))
              (call $worker (i32.const 2))
              (call $worker (i32.const 3))))))
      (i32.mul (local.get $turns) (i32.const 2))))
  (func (export "together") (param $turns i32) (result i32 i32 i32 i32)
    (call $run
      (call $scheduler
        (array.new_fixed $threads 4
          (call $worker (i32.const 0))
          (call $worker (i32.const 1))
          (call $worker (i32.const 2))
          (call $worker (i32.const 3))))
      (i32.mul (local.get $turns) (i32.const 2)))))
