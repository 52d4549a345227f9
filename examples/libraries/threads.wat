;; A library of threads, which are typed continuations. It knows nothing of generators.
(module $threads
  (type $body (func (param i32)))
  (type $new (cont $body))
  (type $rest (func))
  (type $thread (cont $rest))
  (type $slot (struct (field $thread (mut (ref null $thread))) (field $next (mut (ref null $slot)))))
  (tag $pause)
  (global $first (mut (ref null $slot)) (ref.null $slot))
  (global $last (mut (ref null $slot)) (ref.null $slot))

  ;; A queue of threads.
  (func $push (param $thread (ref null $thread))
    (local $slot (ref $slot))
    (local.set $slot (struct.new $slot (local.get $thread) (ref.null $slot)))
    (if (ref.is_null (global.get $first))
      (then (global.set $first (local.get $slot)))
      (else (struct.set $slot $next (global.get $last) (local.get $slot))))
    (global.set $last (local.get $slot)))

  ;; Starts a thread that runs a function with this argument.
  (func (export "spawn") (param $body (ref $body)) (param $argument i32)
    (call $push
      (cont.bind $new $thread (local.get $argument) (cont.new $new (local.get $body)))))

  ;; Lets the other threads run.
  (func (export "pause") (suspend $pause))

  ;; Runs all threads in turn until they have ended.
  (func (export "run")
    (local $thread (ref null $thread))
    (loop $next
      (if (ref.is_null (global.get $first)) (then (return)))
      (local.set $thread (struct.get $slot $thread (global.get $first)))
      (global.set $first (struct.get $slot $next (global.get $first)))
      (block $paused (result (ref $thread))
        (resume $thread (on $pause $paused) (local.get $thread))
        (br $next))
      (call $push)
      (br $next))))
