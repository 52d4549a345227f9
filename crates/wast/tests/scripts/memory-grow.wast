;; A grown memory is accessible at once, in the running function and in every instance.

(module $M
  (memory $m (export "memory") 1 4)
  (func (export "size") (result i32) (memory.size))
  (func $grow (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
  (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
  (func (export "store") (param i32 i32) (i32.store (local.get 0) (local.get 1)))

  ;; Accesses before, between and after growing, in one function.
  (func (export "across") (result i32)
    (i32.store (i32.const 0) (i32.const 11))
    (drop (call $grow (i32.const 1)))
    (i32.store (i32.const 0x1fffc) (i32.const 31))
    (i32.add (i32.load (i32.const 0)) (i32.load (i32.const 0x1fffc))))
  (func (export "across instruction") (result i32)
    (i32.store (i32.const 0x1fff8) (i32.const 5))
    (drop (memory.grow (i32.const 1)))
    (i32.store (i32.const 0x2fffc) (i32.const 6))
    (i32.add (i32.load (i32.const 0x1fff8)) (i32.load (i32.const 0x2fffc)))))

(assert_return (invoke "size") (i32.const 1))
(assert_trap (invoke "load" (i32.const 65536)) "out of bounds memory access")
(assert_return (invoke "across") (i32.const 42))
(assert_return (invoke "size") (i32.const 2))
(assert_return (invoke "across instruction") (i32.const 11))
(assert_return (invoke "size") (i32.const 3))
(assert_return (invoke "load" (i32.const 0)) (i32.const 11))
(assert_return (invoke "load" (i32.const 0x1fffc)) (i32.const 31))
(assert_return (invoke "grow" (i32.const 0)) (i32.const 3))

;; A rejected growth changes nothing.
(assert_return (invoke "grow" (i32.const 2)) (i32.const -1))
(assert_return (invoke "grow" (i32.const -1)) (i32.const -1))
(assert_return (invoke "grow" (i32.const 0x10000)) (i32.const -1))
(assert_return (invoke "size") (i32.const 3))
(assert_trap (invoke "store" (i32.const 0x30000) (i32.const 1)) "out of bounds memory access")
(assert_return (invoke "grow" (i32.const 1)) (i32.const 3))
(assert_return (invoke "load" (i32.const 0x3fffc)) (i32.const 0))
(assert_trap (invoke "load" (i32.const 0x40000)) "out of bounds memory access")
(assert_return (invoke "grow" (i32.const 1)) (i32.const -1))

;; Another instance grows the memory during a function's execution.
(module $Owner
  (memory (export "memory") 1)
  (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0))))
(register "owner" $Owner)
(module
  (import "owner" "memory" (memory 1))
  (import "owner" "grow" (func $grow (param i32) (result i32)))
  (func (export "f") (result i32 i32 i32)
    (i32.store (i32.const 100) (i32.const 7))
    (call $grow (i32.const 100))
    (i32.store (i32.const 0x640000) (i32.const 8))
    (i32.load (i32.const 100))
    (i32.load (i32.const 0x640000)))
  (func (export "size") (result i32) (memory.size)))
(assert_return (invoke "f") (i32.const 1) (i32.const 7) (i32.const 8))
(assert_return (invoke "size") (i32.const 101))

;; A memory that starts empty.
(module
  (memory 0)
  (func (export "load") (result i32) (i32.load8_u (i32.const 0)))
  (func (export "grow") (result i32) (memory.grow (i32.const 1))))
(assert_trap (invoke "load") "out of bounds memory access")
(assert_return (invoke "grow") (i32.const 0))
(assert_return (invoke "load") (i32.const 0))

;; 64-bit addresses.
(module
  (memory i64 1 3)
  (func (export "size") (result i64) (memory.size))
  (func (export "grow") (param i64) (result i64) (memory.grow (local.get 0)))
  (func (export "store") (param i64) (i64.store (local.get 0) (i64.const 1))))
(assert_trap (invoke "store" (i64.const 65536)) "out of bounds memory access")
(assert_return (invoke "grow" (i64.const 1)) (i64.const 1))
(assert_return (invoke "store" (i64.const 65536)))
(assert_return (invoke "grow" (i64.const 2)) (i64.const -1))
(assert_return (invoke "grow" (i64.const -1)) (i64.const -1))
(assert_return (invoke "grow" (i64.const 0x1_0000_0000)) (i64.const -1))
(assert_return (invoke "size") (i64.const 2))

;; Sizes near the end of the address space are rejected too.
(module
  (memory i64 1)
  (func (export "grow") (param i64) (result i64) (memory.grow (local.get 0))))
(assert_return (invoke "grow" (i64.const 0x100000000)) (i64.const -1))
(assert_return (invoke "grow" (i64.const 0x7fffffffffff)) (i64.const -1))
(assert_return (invoke "grow" (i64.const 0xfffffffffffe)) (i64.const -1))
