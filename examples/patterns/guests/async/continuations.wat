;; Asynchronous programs with typed continuations. `$await` suspends to the event loop, which keeps
;; the continuation under the number of its promise.
(module
  (import "host" "fetch" (func $fetch (param i64) (result i32)))
  (import "host" "settled" (func $settled (result i32 i64)))
  (type $body (func (param i64)))
  (type $program (cont $body))
  (tag $await (param i32) (result i64))
  (table $waiting 3 (ref null $program))
  (global $open (mut i32) (i32.const 3))
  (global $n (mut i64) (i64.const 0))
  (global $total (mut i64) (i64.const 0))

  (func $program (param $number i64)
    (local $i i64)
    (loop $next
      (if (i64.lt_u (local.get $i) (global.get $n))
        (then
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (call $add
            (suspend $await (call $fetch (i64.mul (local.get $number) (local.get $i)))))
          (br $next)))))
  (elem declare func $program)
  (func $add (param $value i64)
    (global.set $total
      (i64.add (i64.mul (global.get $total) (i64.const 3)) (local.get $value))))

  ;; Runs a program until it waits for a promise or ends.
  (func $continue (param $value i64) (param $program (ref null $program))
    (block $awaits (result i32 (ref $program))
      (resume $program (on $await $awaits) (local.get $value) (local.get $program))
      (global.set $open (i32.sub (global.get $open) (i32.const 1)))
      (return))
    (table.set $waiting))

  (func (export "run") (param $n i64) (result i64)
    (local $value i64) (local $promise i32)
    (global.set $n (local.get $n))
    (call $continue (i64.const 1) (cont.new $program (ref.func $program)))
    (call $continue (i64.const 2) (cont.new $program (ref.func $program)))
    (call $continue (i64.const 3) (cont.new $program (ref.func $program)))
    (loop $next
      (if (global.get $open)
        (then
          (call $settled)
          (local.set $value)
          (local.set $promise)
          (call $continue (local.get $value) (table.get $waiting (local.get $promise)))
          (br $next))))
    (global.get $total)))
