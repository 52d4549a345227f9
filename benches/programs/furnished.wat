;; A small module with everything that instantiation must initialize: an import, a memory, a table,
;; globals, and segments.
;; One operation is one instantiation; the module is never called.
(module
  (import "host" "inc" (func $inc (param i64) (result i64)))
  (memory (export "memory") 2)
  (table (export "table") 16 funcref)
  (global $top (export "top") (mut i32) (i32.const 65536))
  (global $seed (mut i64) (i64.const 88172645463325252))
  (global $scale f64 (f64.const 0.25))

  (elem (i32.const 1) func $inc $next $scaled)
  (data (i32.const 1024) "A segment of text for the memory, as long as the strings of a small program are.")
  (data (i32.const 70000) "\01\00\00\00\02\00\00\00\03\00\00\00\05\00\00\00\08\00\00\00\0d\00\00\00")

  (func $next (param $by i64) (result i64)
    (global.set $seed (i64.add (global.get $seed) (local.get $by)))
    (global.get $seed))

  (func $scaled (param $x f64) (result f64)
    (f64.mul (local.get $x) (global.get $scale)))

  (func (export "run") (param $x i64) (result i64)
    (call $inc (call $next (local.get $x)))))
