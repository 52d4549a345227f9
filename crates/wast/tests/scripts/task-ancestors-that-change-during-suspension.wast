;; A stack's cached ancestor task is used only while the stack stays under that task.
;; The stack was suspended and continued together with the task. If the stack is then captured from
;; under the task, the next operation searches for the task again.

(module
  (type $t (task (result i32)))
  (type $body (func))
  (type $nested (cont $body))
  (tag $yield)
  (tag $cut)
  (global $task (mut (ref null $t)) (ref.null $t))
  (global $other (mut (ref null $t)) (ref.null $t))
  (global $rest (mut (ref null $nested)) (ref.null $nested))
  (elem declare func $generate $yields $cuts $outer $inner $takes $in_between $nothing)

  (func $nothing)

  ;; Resumes a continuation that suspends back to here.
  (func $generate (suspend $yield))
  (func $resume_another
    (block $yielded (result (ref $nested))
      (resume $nested (on $yield $yielded) (cont.new $nested (ref.func $generate)))
      (return))
    (drop))

  ;; ---- Nothing is captured.

  (func $yields
    (task.suspend $t (global.get $task) (i32.const 1))
    (call $resume_another)
    (task.suspend $t (global.get $task) (i32.const 2))
    (call $resume_another)
    (call $resume_another)
    (task.suspend $t (global.get $task) (i32.const 3)))
  (func $outer
    (resume $nested (cont.new $nested (ref.func $yields)))
    (task.suspend $t (global.get $task) (i32.const 4)))
  (func $generator (param (ref null $t)) (result i32)
    (resume $nested (cont.new $nested (ref.func $outer)))
    (i32.const 5))
  (func $next (result i32) (task.resume $t (global.get $task)))
  (func (export "stays") (result i32 i32 i32 i32 i32)
    (global.set $task (task.new $t $generator))
    (call $next) (call $next) (call $next) (call $next) (call $next))

  ;; ---- A continuation inside the task captures the stacks above its base.

  ;; Captures itself, $inner and $takes.
  (func $cuts (suspend $cut))
  (func $inner
    (task.suspend $t (global.get $task) (i32.const 1))     ;; continued through the task
    (resume $nested (cont.new $nested (ref.func $cuts)))
    (task.suspend $t (global.get $other) (i32.const 2))    ;; is this task an ancestor?
    (task.suspend $t (global.get $other) (i32.const 3)))
  (func $takes (resume $nested (cont.new $nested (ref.func $inner))))
  (func $taken (result (ref $nested))
    (block $taken (result (ref $nested))
      (resume $nested (on $cut $taken) (cont.new $nested (ref.func $takes)))
      (unreachable)))

  (func $returns (param (ref null $t)) (result i32)
    (global.set $rest (call $taken))
    (i32.const 10))
  (func $suspends (param (ref null $t)) (result i32)
    (global.set $rest (call $taken))
    (task.suspend $t (local.get 0) (i32.const 20))
    (i32.const 21))
  (func $idle (param (ref null $t)) (result i32) (i32.const 30))

  ;; The task has ended.
  (func (export "returned") (result i32)
    (global.set $task (task.new $t $returns))
    (global.set $other (global.get $task))
    (drop (call $next))
    (drop (call $next))
    (resume $nested (global.get $rest))
    (i32.const -1))

  ;; The task has ended, and another uses its memory.
  (func (export "replaced") (result i32)
    (global.set $task (task.new $t $returns))
    (drop (call $next))
    (drop (call $next))
    (global.set $other (task.new $t $idle))
    (resume $nested (global.get $rest))
    (i32.const -1))

  ;; The task is suspended.
  (func (export "suspended") (result i32)
    (global.set $task (task.new $t $suspends))
    (global.set $other (global.get $task))
    (drop (call $next))
    (drop (call $next))
    (resume $nested (global.get $rest))
    (i32.const -1))

  ;; Another task is now the ancestor.
  (func $continues (param (ref null $t)) (result i32)
    (resume $nested (global.get $rest))
    (i32.const 40))
  (func (export "under another") (result i32 i32 i32)
    (global.set $task (task.new $t $suspends))
    (drop (call $next))
    (drop (call $next))
    (global.set $other (task.new $t $continues))
    (task.resume $t (global.get $other))
    (task.resume $t (global.get $other))
    (task.resume $t (global.get $other)))

  ;; The same task is the ancestor, through other parents.
  (func $in_between (resume $nested (global.get $rest)))
  (func $takes_back (param (ref null $t)) (result i32)
    (global.set $rest (call $taken))
    (resume $nested (cont.new $nested (ref.func $in_between)))
    (i32.const 50))
  (func (export "by another way") (result i32 i32 i32 i32)
    (global.set $task (task.new $t $takes_back))
    (global.set $other (global.get $task))
    (call $next) (call $next) (call $next) (call $next)))

(assert_return (invoke "stays")
  (i32.const 1) (i32.const 2) (i32.const 3) (i32.const 4) (i32.const 5))
(assert_trap (invoke "returned") "task is moribund")
(assert_trap (invoke "replaced") "task is not running")
(assert_trap (invoke "suspended") "task is not running")
(assert_return (invoke "under another") (i32.const 2) (i32.const 3) (i32.const 40))
(assert_return (invoke "by another way")
  (i32.const 1) (i32.const 2) (i32.const 3) (i32.const 50))
(assert_return (invoke "stays")
  (i32.const 1) (i32.const 2) (i32.const 3) (i32.const 4) (i32.const 5))

;; The same for fibers, whose stacks are captured by other fibers and by a suspension.
(module
  (type $body (func))
  (type $nested (cont $body))
  (tag $yield)
  (tag $cut)
  (tag $go)
  (tag $said (param i32))
  (tag $end)
  (global $fiber (mut fiberref) (ref.null fiber))
  (global $other (mut fiberref) (ref.null fiber))
  (global $rest (mut (ref null $nested)) (ref.null $nested))
  (elem declare func $generate $inner $middle $cuts $deep)

  (func $generate (suspend $yield))
  (func $resume_another
    (block $yielded (result (ref $nested))
      (resume $nested (on $yield $yielded) (cont.new $nested (ref.func $generate)))
      (return))
    (drop))

  (func $say (param $fiber fiberref) (param $n i32)
    (block $go
      (fiber.dismount $said (on $go $go) (local.get $n) (local.get $fiber))
      (unreachable)))
  (func $next (param $fiber fiberref) (result i32)
    (block $said (result i32)
      (block $end
        (fiber.mount $go (on $said $said) (on $end $end) (local.get $fiber))
        (unreachable))
      (i32.const 0)))

  (func $inner
    (call $say (global.get $fiber) (i32.const 1))
    (call $resume_another)
    (call $say (global.get $fiber) (i32.const 2))
    (resume $nested (cont.new $nested (ref.func $cuts)))
    (call $say (global.get $other) (i32.const 3)))
  (func $cuts (suspend $cut))
  (func $middle (resume $nested (cont.new $nested (ref.func $inner))))
  (func $first (param fiberref)
    (block $taken (result (ref $nested))
      (resume $nested (on $cut $taken) (cont.new $nested (ref.func $middle)))
      (unreachable))
    (global.set $rest))
  (func $second (param fiberref)
    (resume $nested (global.get $rest)))

  (func (export "taken by another") (result i32 i32 i32 i32 i32)
    (global.set $fiber (fiber.new $end (on $go $first)))
    (call $next (global.get $fiber))
    (call $next (global.get $fiber))
    (call $next (global.get $fiber))                     ;; ends
    (global.set $other (fiber.new $end (on $go $second)))
    (call $next (global.get $other))
    (call $next (global.get $other)))

  ;; The first fiber has ended, and a new fiber, which does not run, may use its memory.
  (func $deep (resume $nested (global.get $rest)))
  (func (export "replaced") (result i32)
    (global.set $fiber (fiber.new $end (on $go $first)))
    (drop (call $next (global.get $fiber)))
    (drop (call $next (global.get $fiber)))
    (drop (call $next (global.get $fiber)))
    (global.set $other (fiber.new $end (on $go $second)))
    (resume $nested (cont.new $nested (ref.func $deep)))
    (i32.const -1)))

(assert_return (invoke "taken by another")
  (i32.const 1) (i32.const 2) (i32.const 0) (i32.const 3) (i32.const 0))
(assert_trap (invoke "replaced") "fiber is not running")
(assert_return (invoke "taken by another")
  (i32.const 1) (i32.const 2) (i32.const 0) (i32.const 3) (i32.const 0))
