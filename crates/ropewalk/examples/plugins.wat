;; A plugin that greets, and counts how often.
;;
;; Strings are an address and a length. The host asks `alloc` for room for what it
;; passes.
(module $greeter
  (import "host" "log" (func $log (param i32 i32)))
  (import "host" "setting" (func $setting (param i32 i32) (result i32)))
  (import "env" "telemetry" (func $telemetry))
  (memory (export "memory") 1)
  (data (i32.const 0) "Hello, ")
  (data (i32.const 16) "loud")
  (data (i32.const 32) "greeting someone")
  (global $free (mut i32) (i32.const 1024))
  (global $count (export "count") (mut i32) (i32.const 0))

  (func $alloc (export "alloc") (param $size i32) (result i32)
    (global.get $free)
    (global.set $free (i32.add (global.get $free) (local.get $size))))

  ;; Returns a greeting for a name.
  (func (export "handle") (param $name i32) (param $len i32) (result i32 i32)
    (local $text i32)
    (call $log (i32.const 32) (i32.const 16))
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (local.set $text (call $alloc (i32.add (local.get $len) (i32.const 8))))
    (memory.copy (local.get $text) (i32.const 0) (i32.const 7))
    (memory.copy
      (i32.add (local.get $text) (i32.const 7)) (local.get $name) (local.get $len))
    (i32.store8                                   ;; "!" or "."
      (i32.add (local.get $text) (i32.add (local.get $len) (i32.const 7)))
      (select (i32.const 33) (i32.const 46) (call $setting (i32.const 16) (i32.const 4))))
    (local.get $text)
    (i32.add (local.get $len) (i32.const 8))))
