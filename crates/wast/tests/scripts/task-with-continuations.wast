;; Tasks and continuations nest, and chains of both designs stay together when suspended.

(module
  (type $t (task (param i32) (result i32)))
  (type $f (func (param i32) (result i32)))
  (type $k (cont $f))
  (type $g (func))
  (type $kg (cont $g))
  (tag $yield (param i32))
  (tag $ask (param i32) (result i32))
  (tag $x (param i32))
  (elem declare func $numbers $runs-task $suspends-task $asks $retires-task $throws)
  (global $t (mut (ref null $t)) (ref.null $t))
  (global $k (mut (ref null $k)) (ref.null $k))

  ;; ---- A task runs a continuation as a generator.

  (func $numbers
    (local $n i32)
    (loop $next
      (suspend $yield (local.get $n))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br $next)))
  ;; Each time it is resumed, it suspends with the next number times the value that it receives.
  (func $scales (param $me (ref null $t)) (param $n i32) (result i32)
    (local $generator (ref null $kg))
    (local.set $generator (cont.new $kg (ref.func $numbers)))
    (loop $next
      (block $h (result i32 (ref $kg))
        (resume $kg (on $yield $h) (local.get $generator))
        (unreachable))
      (local.set $generator)
      (i32.mul (local.get $n))
      (local.set $n)
      (local.set $n (task.suspend $t (local.get $me) (local.get $n)))
      (br $next))
    (unreachable))
  (func (export "generator in a task") (result i32 i32 i32)
    (local $t (ref null $t))
    (local.set $t (task.new $t $scales))
    (task.resume $t (local.get $t) (i32.const 5))
    (task.resume $t (local.get $t) (i32.const 6))
    (task.resume $t (local.get $t) (i32.const 7)))

  ;; ---- A suspension passes a task and captures it.

  (func $asker (param $me (ref null $t)) (param $n i32) (result i32)
    (i32.add (i32.const 1) (suspend $ask (local.get $n))))
  (func $runs-task (param $n i32) (result i32)
    (i32.add (i32.const 10) (task.resume $t (global.get $t) (local.get $n))))
  (func $start (param i32) (result i32)
    (global.set $t (task.new $t $asker))
    (block $h (result i32 (ref $k))
      (return (resume $k (on $ask $h) (local.get 0) (cont.new $k (ref.func $runs-task)))))
    (global.set $k))
  (func (export "suspend through a task") (param i32) (result i32) (call $start (local.get 0)))
  (func (export "resume the task") (result i32) (task.resume $t (global.get $t) (i32.const 0)))
  (func (export "suspend the task") (result i32) (task.suspend $t (global.get $t) (i32.const 0)))
  (func (export "retire the task") (task.retire $t (global.get $t) (i32.const 0)))
  (func (export "release the task") (task.release $t (global.get $t)))
  (func $switches (param $me (ref null $t)) (param $n i32) (result i32)
    (task.switchto $t $t (local.get $me) (global.get $t) (i32.const 0)))
  (func (export "switch to the task") (result i32)
    (task.resume $t (task.new $t $switches) (i32.const 0)))
  (func (export "resume the continuation") (param i32) (result i32)
    (resume $k (local.get 0) (global.get $k)))
  ;; An exception is thrown into the innermost frame, and ends the task when it leaves it.
  (func (export "throw into the continuation") (result i32)
    (block $h (result i32)
      (try_table (catch $x $h)
        (return (resume_throw $k $x (i32.const 33) (global.get $k))))
      (unreachable)))
  ;; When another task resumes the continuation, the captured task is its descendant.
  (func $resumes (param $me (ref null $t)) (param $n i32) (result i32)
    (i32.add (i32.const 100) (resume $k (local.get $n) (global.get $k))))
  (func (export "resume the continuation in a task") (param i32) (result i32)
    (task.resume $t (task.new $t $resumes) (local.get 0)))
  ;; After its continuation was abandoned, the task cannot be resumed, because it was never
  ;; suspended itself.
  (func (export "abandon the continuation") (global.set $k (ref.null $k)))

  ;; ---- Suspending a task suspends the continuations below it.

  (func $suspends-task (param $n i32) (result i32)
    (i32.add (i32.const 1) (task.suspend $t (global.get $t) (i32.add (local.get $n) (i32.const 2)))))
  (func $runs-continuation (param $me (ref null $t)) (param $n i32) (result i32)
    (global.set $k (cont.new $k (ref.func $suspends-task)))
    (block $h (result i32 (ref $k))
      (return (i32.add (i32.const 10) (resume $k (on $ask $h) (local.get $n) (global.get $k)))))
    (unreachable))
  (func (export "suspend from a continuation") (param i32) (result i32)
    (global.set $t (task.new $t $runs-continuation))
    (task.resume $t (global.get $t) (local.get 0)))
  (func (export "resume again") (param i32) (result i32)
    (task.resume $t (global.get $t) (local.get 0)))

  ;; A task runs a continuation, which runs a task, which runs a continuation. The last one suspends
  ;; the outer task, and then suspends to the nearest handler, in the outer task.
  (global $inner (mut (ref null $t)) (ref.null $t))
  (func $asks (param $n i32) (result i32)
    (local.set $n (task.suspend $t (global.get $t) (local.get $n)))
    (i32.add (i32.const 1) (suspend $ask (local.get $n))))
  (func $inner (param $me (ref null $t)) (param $n i32) (result i32)
    (i32.add (i32.const 10) (resume $k (local.get $n) (cont.new $k (ref.func $asks)))))
  (func $runs-inner (param $n i32) (result i32)
    (global.set $inner (task.new $t $inner))
    (i32.add (i32.const 100) (task.resume $t (global.get $inner) (local.get $n))))
  (elem declare func $runs-inner)
  (func $outer (param $me (ref null $t)) (param $n i32) (result i32)
    (local $rest (ref null $k))
    (block $h (result i32 (ref $k))
      (return
        (resume $k (on $ask $h) (local.get $n) (cont.new $k (ref.func $runs-inner)))))
    (local.set $rest)
    (local.set $n)
    ;; While the continuation is suspended, it contains the inner task.
    (i32.add (i32.const 1000)
      (resume $k
        (task.suspend $t (local.get $me) (i32.add (local.get $n) (i32.const 5)))
        (local.get $rest))))
  (func (export "four levels") (result i32 i32 i32)
    (global.set $t (task.new $t $outer))
    (task.resume $t (global.get $t) (i32.const 1))
    (task.resume $t (global.get $t) (i32.const 2))
    (task.resume $t (global.get $t) (i32.const 3)))

  ;; ---- Retiring and releasing end the continuations below.

  (func $retires-task (param $n i32) (result i32)
    (task.retire $t (global.get $t) (i32.const 50)))
  (func $runs-retirer (param $me (ref null $t)) (param $n i32) (result i32)
    (resume $k (local.get $n) (cont.new $k (ref.func $retires-task))))
  (func (export "retire from a continuation") (result i32)
    (global.set $t (task.new $t $runs-retirer))
    (task.resume $t (global.get $t) (i32.const 0)))

  ;; ---- Exceptions pass both.

  (func $throws (param $n i32) (result i32) (throw $x (local.get $n)))
  (func $runs-thrower (param $me (ref null $t)) (param $n i32) (result i32)
    (resume $k (local.get $n) (cont.new $k (ref.func $throws))))
  (func (export "throw from a continuation in a task") (result i32)
    (global.set $t (task.new $t $runs-thrower))
    (block $h (result i32)
      (try_table (catch $x $h) (return (task.resume $t (global.get $t) (i32.const 60))))
      (unreachable)))

  ;; ---- A handler below the suspended task does not affect the suspension.

  (func $unhandled (param $me (ref null $t)) (param $n i32) (result i32)
    (suspend $ask (local.get $n)))
  (func (export "unhandled") (result i32)
    (global.set $t (task.new $t $unhandled))
    (task.resume $t (global.get $t) (i32.const 0)))

  ;; ---- A typed switch suspends the task too.

  (rec (type $sf (func (param (ref null $sk)) (result i32))) (type $sk (cont $sf)))
  (tag $swap (result i32))
  (elem declare func $switching $switched)
  (func $switcher (param $me (ref null $t)) (param $n i32) (result i32)
    (drop (switch $sk $swap (cont.new $sk (ref.func $switched))))
    (i32.const 70))
  (global $sk (mut (ref null $sk)) (ref.null $sk))
  (func $switching (type $sf)
    (i32.add (i32.const 1) (task.resume $t (global.get $t) (i32.const 0))))
  (func $switched (type $sf) (global.set $sk (local.get 0)) (i32.const 80))
  (func (export "switch") (result i32)
    (global.set $t (task.new $t $switcher))
    (resume $sk (on $swap switch) (ref.null $sk) (cont.new $sk (ref.func $switching))))
  (func (export "switch back") (result i32)
    (resume $sk (ref.null $sk) (global.get $sk))))

(assert_return (invoke "generator in a task") (i32.const 0) (i32.const 6) (i32.const 14))

(assert_return (invoke "suspend through a task" (i32.const 3)) (i32.const 3))
(assert_trap (invoke "resume the task") "task is not suspended")
(assert_trap (invoke "release the task") "task is not suspended")
(assert_trap (invoke "switch to the task") "task is not suspended")
(assert_trap (invoke "suspend the task") "task is not running")
(assert_trap (invoke "retire the task") "task is not running")
(assert_return (invoke "resume the continuation" (i32.const 4)) (i32.const 15))
(assert_trap (invoke "resume the task") "task is moribund")
(assert_trap (invoke "resume the continuation" (i32.const 4)) "continuation already consumed")
(assert_return (invoke "suspend through a task" (i32.const 3)) (i32.const 3))
(assert_return (invoke "throw into the continuation") (i32.const 33))
(assert_trap (invoke "resume the task") "task is moribund")
(assert_return (invoke "suspend through a task" (i32.const 3)) (i32.const 3))
(assert_return (invoke "resume the continuation in a task" (i32.const 5)) (i32.const 116))
(assert_return (invoke "suspend through a task" (i32.const 3)) (i32.const 3))
(assert_return (invoke "abandon the continuation"))
(assert_return (invoke "generator in a task") (i32.const 0) (i32.const 6) (i32.const 14))
(assert_trap (invoke "resume the task") "task is not suspended")

(assert_return (invoke "suspend from a continuation" (i32.const 1)) (i32.const 3))
(assert_trap (invoke "resume the continuation" (i32.const 0)) "continuation already consumed")
(assert_return (invoke "resume again" (i32.const 5)) (i32.const 16))
(assert_trap (invoke "resume again" (i32.const 5)) "task is moribund")
(assert_return (invoke "suspend from a continuation" (i32.const 1)) (i32.const 3))
(assert_return (invoke "release the task"))
(assert_trap (invoke "resume again" (i32.const 5)) "task is moribund")
(assert_trap (invoke "resume the continuation" (i32.const 0)) "continuation already consumed")

(assert_return (invoke "four levels") (i32.const 1) (i32.const 7) (i32.const 1114))
(assert_return (invoke "retire from a continuation") (i32.const 50))
(assert_trap (invoke "resume the task") "task is moribund")
(assert_return (invoke "throw from a continuation in a task") (i32.const 60))
(assert_trap (invoke "resume the task") "task is moribund")

(assert_suspension (invoke "unhandled") "unhandled tag")
(assert_trap (invoke "resume the task") "task is moribund")
(assert_trap (invoke "unhandled") "unhandled tag")

(assert_return (invoke "switch") (i32.const 80))
(assert_trap (invoke "resume the task") "task is not suspended")
(assert_trap (invoke "suspend the task") "task is not running")
(assert_return (invoke "switch back") (i32.const 71))
(assert_trap (invoke "resume the task") "task is moribund")
