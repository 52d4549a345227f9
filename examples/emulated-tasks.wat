;; Tasks emulated by typed continuations, beside the real ones. An emulated task is a structure that
;; keeps the continuation while the task is suspended, so it has an identity. To suspend a task means
;; to suspend with a tag and the structure. The handler in `$resume` compares the structure with its
;; own task. If they differ, it suspends the same way and so forwards the request outwards. The
;; engine does the same search for real tasks, in one step.
;;
;; An inner task gives each number to the outer task that resumes it, and each even number also to
;; the caller, by suspending the outer task. The outer task adds up and doubles what it gets. The
;; values that the caller gets, with the last sum, as one number in base 100:
;;
;;   $ ropewalk run --invoke real examples/emulated-tasks.wat 4
;;   20420
;;   $ ropewalk run --invoke emulated examples/emulated-tasks.wat 4
;;   20420

(module
  ;; ---- real tasks

  (type $task (task (param i32) (result i32)))

  (func $inner (param $me (ref null $task)) (param $n i32) (param $outer (ref null $task))
    (result i32)
    (local $i i32)
    (loop $next
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (if (i32.eqz (i32.and (local.get $i) (i32.const 1)))
        (then (drop (task.suspend $task (local.get $outer) (local.get $i)))))
      (drop (task.suspend $task (local.get $me) (local.get $i)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $n))))
    (i32.const 0))

  (func $outer (param $me (ref null $task)) (param $n i32) (result i32)
    (local $inner (ref null $task)) (local $number i32) (local $sum i32)
    (local.set $inner (task.new $task $inner (local.get $me)))
    (loop $next
      (local.set $number (task.resume $task (local.get $inner) (local.get $n)))
      (local.set $sum (i32.add (local.get $sum) (local.get $number)))
      (br_if $next (local.get $number)))
    (i32.mul (local.get $sum) (i32.const 2)))

  (func (export "real") (param $n i32) (result i32)
    (local $outer (ref null $task)) (local $got i32) (local $i i32)
    (local.set $outer (task.new $task $outer))
    (loop $next
      (local.set $got
        (i32.add (i32.mul (local.get $got) (i32.const 100))
          (task.resume $task (local.get $outer) (local.get $n))))
      (local.set $i (i32.add (local.get $i) (i32.const 2)))
      (br_if $next (i32.le_u (local.get $i) (local.get $n))))
    (local.get $got))

  ;; ---- emulated tasks

  (type $body (func (param i32) (result i32)))
  (type $rest (cont $body))
  (type $emulated (struct (field $rest (mut (ref null $rest)))))
  ;; Suspends a task with a value, and returns the value of its next resumption.
  (tag $suspend (param (ref null $emulated) i32) (result i32))

  (func $resume (param $task (ref null $emulated)) (param $value i32) (result i32)
    (local $rest (ref null $rest)) (local $target (ref null $emulated))
    (local.set $rest (struct.get $emulated $rest (local.get $task)))
    (struct.set $emulated $rest (local.get $task) (ref.null $rest))
    (loop $forwarded
      (block $suspended (result (ref null $emulated) i32 (ref $rest))
        (return
          (resume $rest (on $suspend $suspended) (local.get $value) (local.get $rest))))
      (local.set $rest)
      (local.set $value)
      (local.set $target)
      (if (i32.eqz (ref.eq (local.get $target) (local.get $task)))
        (then
          (local.set $value (suspend $suspend (local.get $target) (local.get $value)))
          (br $forwarded))))
    (struct.set $emulated $rest (local.get $task) (local.get $rest))
    (local.get $value))

  (type $with-task (func (param (ref null $emulated) i32) (result i32)))
  (type $new-task (cont $with-task))
  (type $with-tasks
    (func (param (ref null $emulated) (ref null $emulated) i32) (result i32)))
  (type $new-tasks (cont $with-tasks))
  (elem declare func $emulated-inner $emulated-outer)

  (func $emulated-inner
    (param $outer (ref null $emulated)) (param $me (ref null $emulated)) (param $n i32)
    (result i32)
    (local $i i32)
    (loop $next
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (if (i32.eqz (i32.and (local.get $i) (i32.const 1)))
        (then (drop (suspend $suspend (local.get $outer) (local.get $i)))))
      (drop (suspend $suspend (local.get $me) (local.get $i)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $n))))
    (i32.const 0))

  (func $emulated-outer (param $me (ref null $emulated)) (param $n i32) (result i32)
    (local $inner (ref null $emulated)) (local $number i32) (local $sum i32)
    (local.set $inner (struct.new_default $emulated))
    (struct.set $emulated $rest (local.get $inner)
      (cont.bind $new-tasks $rest (local.get $me) (local.get $inner)
        (cont.new $new-tasks (ref.func $emulated-inner))))
    (loop $next
      (local.set $number (call $resume (local.get $inner) (local.get $n)))
      (local.set $sum (i32.add (local.get $sum) (local.get $number)))
      (br_if $next (local.get $number)))
    (i32.mul (local.get $sum) (i32.const 2)))

  (func (export "emulated") (param $n i32) (result i32)
    (local $outer (ref null $emulated)) (local $got i32) (local $i i32)
    (local.set $outer (struct.new_default $emulated))
    (struct.set $emulated $rest (local.get $outer)
      (cont.bind $new-task $rest (local.get $outer)
        (cont.new $new-task (ref.func $emulated-outer))))
    (loop $next
      (local.set $got
        (i32.add (i32.mul (local.get $got) (i32.const 100))
          (call $resume (local.get $outer) (local.get $n))))
      (local.set $i (i32.add (local.get $i) (i32.const 2)))
      (br_if $next (i32.le_u (local.get $i) (local.get $n))))
    (local.get $got)))
