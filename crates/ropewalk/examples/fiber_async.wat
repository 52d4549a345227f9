;; Asynchronous input and output with fibers: green threads fetch pages, and a
;; scheduler, a fiber too, runs those that can run. When none can, the scheduler
;; dismounts to the host, whose event loop mounts it again with each page that
;; arrives, and with the request for it.
;;
;; The host never resumes a thread itself. All requests go out through the
;; scheduler, and all pages come in through it.

(module
  ;; Starts a request, which the number identifies.
  (import "host" "fetch" (func $fetch (param $request i32) (param $name externref)))
  (import "host" "say" (func $say (param $thread i32) (param $text externref)))

  ;; Events between threads and the scheduler.
  (tag $pause)
  (tag $async-request (param i32))
  (tag $finished)
  (tag $go-ahead)
  (tag $io-result (param externref))
  ;; Events between the scheduler and the host.
  (tag $global-pause)
  (tag $all-finished)
  (tag $io-notify (param i32 externref))

  ;; ---- the threads

  ;; Fetches a page, whose text is the name of the next page.
  (func $fetcher (param $thread i32) (param $name externref) (param $this fiberref)
    (local $text externref)
    (local.set $text (call $simple-fetch (local.get $this) (local.get $name)))
    (call $say (local.get $thread) (local.get $text))
    ;; Lets the other threads run first.
    (block $go-ahead
      (fiber.dismount $pause (on $go-ahead $go-ahead) (local.get $this))
      (unreachable))
    (local.set $text (call $simple-fetch (local.get $this) (local.get $text)))
    (call $say (local.get $thread) (local.get $text)))

  (global $requests (mut i32) (i32.const 0))

  (func $simple-fetch (param $client fiberref) (param $name externref) (result externref)
    (global.set $requests (i32.add (global.get $requests) (i32.const 1)))
    (call $fetch (global.get $requests) (local.get $name))
    (block $io-result (result externref)
      (fiber.dismount $async-request (on $io-result $io-result)
        (global.get $requests) (local.get $client))
      (unreachable)))

  ;; ---- the scheduler

  ;; A thread that can run: with a text, if it waits for one.
  (type $ready (struct
    (field $thread (ref fiber))
    (field $waits i32)
    (field $text externref)
    (field $next (mut (ref null $ready)))))
  (global $first (mut (ref null $ready)) (ref.null $ready))
  (global $last (mut (ref null $ready)) (ref.null $ready))

  (func $enqueue (param $thread (ref fiber)) (param $waits i32) (param $text externref)
    (local $new (ref $ready))
    (local.set $new
      (struct.new $ready
        (local.get $thread) (local.get $waits) (local.get $text) (ref.null $ready)))
    (if (ref.is_null (global.get $first))
      (then (global.set $first (local.get $new)))
      (else (struct.set $ready $next (global.get $last) (local.get $new))))
    (global.set $last (local.get $new)))
  (func $dequeue (result (ref $ready))
    (local $first (ref $ready))
    (local.set $first (ref.as_non_null (global.get $first)))
    (global.set $first (struct.get $ready $next (local.get $first)))
    (local.get $first))

  ;; The thread that waits for each request.
  (table $delayed 100 fiberref)
  (global $waiting (mut i32) (i32.const 0))

  (func $delay (param $request i32) (param $client (ref fiber))
    (table.set $delayed (local.get $request) (local.get $client))
    (global.set $waiting (i32.add (global.get $waiting) (i32.const 1))))
  (func $reschedule (param $request i32) (param $text externref)
    (call $enqueue
      (ref.as_non_null (table.get $delayed (local.get $request)))
      (i32.const 1) (local.get $text))
    (table.set $delayed (local.get $request) (ref.null fiber))
    (global.set $waiting (i32.sub (global.get $waiting) (i32.const 1))))

  ;; Runs a thread until it pauses, waits, or has finished.
  (func $run (param $ready (ref $ready))
    (local $thread (ref fiber))
    (local.set $thread (struct.get $ready $thread (local.get $ready)))
    (block $finished
      (block $paused
        (block $requested (result i32)
          (if (struct.get $ready $waits (local.get $ready))
            (then
              (fiber.mount $io-result
                (on $pause $paused) (on $async-request $requested) (on $finished $finished)
                (struct.get $ready $text (local.get $ready)) (local.get $thread)))
            (else
              (fiber.mount $go-ahead
                (on $pause $paused) (on $async-request $requested) (on $finished $finished)
                (local.get $thread))))
          (unreachable))
        (call $delay (local.get $thread))
        (return))
      (call $enqueue (local.get $thread) (i32.const 0) (ref.null extern))))

  (func $scheduler (param $this fiberref)
    (loop $next
      (if (i32.eqz (ref.is_null (global.get $first)))
        (then
          (call $run (call $dequeue))
          (br $next)))
      (if (global.get $waiting)
        (then
          (block $io-notify (result i32 externref)
            (fiber.dismount $global-pause (on $io-notify $io-notify) (local.get $this))
            (unreachable))
          (call $reschedule)
          (br $next)))))

  ;; ---- what the host calls

  (global $scheduler (mut fiberref) (ref.null fiber))

  (func (export "spawn") (param $thread i32) (param $name externref)
    (call $enqueue
      (fiber.new $finished (on $go-ahead $fetcher) (local.get $thread) (local.get $name))
      (i32.const 0) (ref.null extern)))

  ;; Both return how many requests are on their way. With none all threads have finished.
  (func (export "main") (result i32)
    (block $paused (result (ref fiber))
      (fiber.mount_new $all-finished $scheduler (on $global-pause $paused))
      (drop)
      (return (i32.const 0)))
    (global.set $scheduler)
    (global.get $waiting))
  (func (export "io_notify") (param $request i32) (param $text externref) (result i32)
    (block $finished
      (block $paused
        (fiber.mount $io-notify (on $global-pause $paused) (on $all-finished $finished)
          (local.get $request) (local.get $text) (global.get $scheduler))
        (unreachable)))
    (global.get $waiting)))
