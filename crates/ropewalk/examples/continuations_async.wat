;; Async functions on typed continuations: `await` suspends the continuation
;; that runs an async function, with the promise it waits for. The event loop of
;; the host settles the promise and resumes it: with the value, or by throwing an
;; error where it waits.
;;
;; An async function is called like any other. What makes it asynchronous is
;; only the continuation that it runs on.

(module
  ;; A promise is a number: the host settles it later.
  (import "host" "sleep" (func $sleep (param $milliseconds i32) (result i32)))
  (import "host" "fetch" (func $fetch (param $name externref) (result i32)))
  (import "host" "say" (func $say (param $who i32) (param $text externref)))
  (import "host" "end" (func $end (param $who i32)))

  (type $main (func (param i32 externref)))
  (type $new (cont $main))
  (type $settle (func (param externref)))
  (type $waiting (cont $settle))

  ;; Suspends with the promise, and is resumed with the value.
  (tag $await (param i32) (result externref))
  (tag $rejected (param externref))

  ;; ---- the program

  (func $get (param $name externref) (result externref)
    (suspend $await (call $fetch (local.get $name))))

  ;; Two pages one after the other. The first has the name of the second.
  (func $follow (param $who i32) (param $name externref)
    (local $text externref)
    (local.set $text (call $get (local.get $name)))
    (call $say (local.get $who) (local.get $text))
    (drop (suspend $await (call $sleep (i32.const 1))))
    (call $say (local.get $who) (call $get (local.get $text))))

  ;; A rejected promise throws where it is awaited.
  (func $careful (param $who i32) (param $name externref)
    (local $error externref)
    (block $failed (result externref)
      (try_table (catch $rejected $failed)
        (call $follow (local.get $who) (local.get $name))
        (return))
      (unreachable))
    (local.set $error)
    (call $say (local.get $who) (local.get $error)))
  (elem declare func $careful)

  ;; ---- promises, and the continuations that wait for them

  (table $continuations 100 (ref null $waiting))
  (table $owners 100 i31ref)

  (func $wait (param $promise i32) (param $k (ref $waiting)) (param $who i32)
    (table.set $continuations (local.get $promise) (local.get $k))
    (table.set $owners (local.get $promise) (ref.i31 (local.get $who))))
  (func $take (param $promise i32) (result (ref $waiting))
    (local $k (ref $waiting))
    (local.set $k (ref.as_non_null (table.get $continuations (local.get $promise))))
    (table.set $continuations (local.get $promise) (ref.null $waiting))
    (local.get $k))
  (func $owner (param $promise i32) (result i32)
    (i31.get_u (table.get $owners (local.get $promise))))

  ;; ---- what the host calls: each runs until the program awaits or ends

  (func (export "start") (param $who i32) (param $name externref)
    (block $await (result i32 (ref $waiting))
      (resume $new (on $await $await)
        (local.get $who) (local.get $name) (cont.new $new (ref.func $careful)))
      (return (call $end (local.get $who))))
    (call $wait (local.get $who)))
  (func (export "resolve") (param $promise i32) (param $value externref)
    (local $who i32)
    (local.set $who (call $owner (local.get $promise)))
    (block $await (result i32 (ref $waiting))
      (resume $waiting (on $await $await) (local.get $value) (call $take (local.get $promise)))
      (return (call $end (local.get $who))))
    (call $wait (local.get $who)))
  (func (export "reject") (param $promise i32) (param $error externref)
    (local $who i32)
    (local.set $who (call $owner (local.get $promise)))
    (block $await (result i32 (ref $waiting))
      (resume_throw $waiting $rejected (on $await $await)
        (local.get $error) (call $take (local.get $promise)))
      (return (call $end (local.get $who))))
    (call $wait (local.get $who))))
