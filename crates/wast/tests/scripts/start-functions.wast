;; A start function runs once, after the segments are written.
;; If it traps, the instantiation fails, but the writes remain.

(module $A
  (memory (export "memory") 1)
  (table (export "table") 4 funcref)
  (global (export "count") (mut i32) (i32.const 0))
  (func (export "load") (param i32) (result i32) (i32.load8_u (local.get 0)))
  (func (export "call") (param i32) (result i32) (call_indirect (result i32) (local.get 0))))
(register "A" $A)

(module $Once
  (global $count (import "A" "count") (mut i32))
  (global $seen (export "seen") (mut i32) (i32.const -1))
  (memory 1)
  (data (i32.const 3) "\07")
  (func $start
    (global.set $count (i32.add (global.get $count) (i32.const 1)))
    (global.set $seen (i32.load8_u (i32.const 3))))
  (start $start))
(assert_return (get $A "count") (i32.const 1))
(assert_return (get $Once "seen") (i32.const 7))

;; A trap in the start function.
(assert_trap
  (module
    (import "A" "memory" (memory 1))
    (import "A" "table" (table 4 funcref))
    (global $count (import "A" "count") (mut i32))
    (data (i32.const 10) "\2a")
    (func $f (result i32) (i32.load8_u (i32.const 10)))
    (elem (i32.const 2) $f)
    (func $start
      (global.set $count (i32.const 100))
      (i32.store8 (i32.const 11) (i32.const 43))
      (unreachable))
    (start $start))
  "unreachable")
(assert_return (get $A "count") (i32.const 100))
(assert_return (invoke $A "load" (i32.const 10)) (i32.const 42))
(assert_return (invoke $A "load" (i32.const 11)) (i32.const 43))
;; A function of the failed instance, reachable through the table, still works.
(assert_return (invoke $A "call" (i32.const 2)) (i32.const 42))

;; If a segment is out of bounds, earlier segments are written and the start function does not run.
(assert_trap
  (module
    (import "A" "memory" (memory 1))
    (global $count (import "A" "count") (mut i32))
    (data (i32.const 20) "\01")
    (data (i32.const 65536) "\02")
    (data (i32.const 21) "\03")
    (func $start (global.set $count (i32.const 200)))
    (start $start))
  "out of bounds memory access")
(assert_return (invoke $A "load" (i32.const 20)) (i32.const 1))
(assert_return (invoke $A "load" (i32.const 21)) (i32.const 0))
(assert_return (get $A "count") (i32.const 100))

;; Tables are initialized before memories.
(assert_trap
  (module
    (import "A" "memory" (memory 1))
    (import "A" "table" (table 4 funcref))
    (data (i32.const 30) "\01")
    (func $f (result i32) (i32.const 9))
    (elem (i32.const 3) $f)
    (elem (i32.const 4) $f))
  "out of bounds table access")
(assert_return (invoke $A "call" (i32.const 3)) (i32.const 9))
(assert_return (invoke $A "load" (i32.const 30)) (i32.const 0))

;; A module that does not link has no effect.
(assert_unlinkable
  (module
    (import "A" "memory" (memory 1))
    (import "A" "missing" (func))
    (data (i32.const 40) "\01"))
  "unknown import")
(assert_return (invoke $A "load" (i32.const 40)) (i32.const 0))

;; An empty segment at the end is in bounds.
(module (memory 1) (data (i32.const 65536) ""))
(module (table 1 funcref) (elem (i32.const 1)))
(assert_trap (module (memory 1) (data (i32.const 65537) "")) "out of bounds memory access")
(assert_trap (module (table 1 funcref) (elem (i32.const 2))) "out of bounds table access")
(assert_trap (module (memory 0) (data (i32.const -1) "\01")) "out of bounds memory access")

;; The start function may be imported from the host or from another instance.
(module (import "spectest" "print" (func $print)) (start $print))
(module $S
  (global (export "runs") (mut i32) (i32.const 0))
  (func (export "run") (global.set 0 (i32.add (global.get 0) (i32.const 1)))))
(register "S" $S)
(module (import "S" "run" (func $run)) (start $run))
(module (import "S" "run" (func $run)) (start $run))
(assert_return (get $S "runs") (i32.const 2))

(assert_invalid (module (func $f (param i32)) (start $f)) "start function")
(assert_invalid (module (func $f (result i32) (i32.const 0)) (start $f)) "start function")
