;; Static offsets of any size work, beyond the guard region and beyond 31 bits.

(module
  (memory 1)

  ;; Slightly above 32 MiB.
  (func (export "load 32M") (param i32) (result i32) (i32.load offset=0x2000000 (local.get 0)))
  (func (export "store 32M") (param i32) (i32.store offset=0x2000000 (local.get 0) (i32.const 1)))
  (func (export "load8 64M") (param i32) (result i32) (i32.load8_u offset=0x4000000 (local.get 0)))
  ;; 2 GiB.
  (func (export "load 2G") (param i32) (result i64) (i64.load offset=0x80000000 (local.get 0)))
  (func (export "load 2G-1") (param i32) (result i64) (i64.load offset=0x7fffffff (local.get 0)))
  (func (export "store 2G") (param i32)
    (f64.store offset=0x80000000 (local.get 0) (f64.const 1)))
  ;; The largest offset.
  (func (export "load last") (param i32) (result i32) (i32.load8_u offset=0xffffffff (local.get 0)))
  (func (export "load last v128") (param i32) (result v128)
    (v128.load offset=0xffffffff (local.get 0)))
  (func (export "store last") (param i32)
    (i32.store8 offset=0xffffffff (local.get 0) (i32.const 1)))
  ;; The last byte of the memory, and the one after it.
  (func (export "load 0xffff") (param i32) (result i32)
    (i32.load8_u offset=0xffff (local.get 0)))
  (func (export "load 0x10000") (param i32) (result i32)
    (i32.load8_u offset=0x10000 (local.get 0))))

(assert_trap (invoke "load 32M" (i32.const 0)) "out of bounds memory access")
(assert_trap (invoke "load 32M" (i32.const -1)) "out of bounds memory access")
(assert_trap (invoke "load 32M" (i32.const 0xfe000000)) "out of bounds memory access")
(assert_trap (invoke "store 32M" (i32.const 0)) "out of bounds memory access")
(assert_trap (invoke "store 32M" (i32.const 0xfe000000)) "out of bounds memory access")
(assert_trap (invoke "load8 64M" (i32.const 0xfc000000)) "out of bounds memory access")
(assert_trap (invoke "load 2G" (i32.const 0)) "out of bounds memory access")
(assert_trap (invoke "load 2G" (i32.const 0x80000000)) "out of bounds memory access")
(assert_trap (invoke "load 2G" (i32.const -1)) "out of bounds memory access")
(assert_trap (invoke "load 2G-1" (i32.const 0)) "out of bounds memory access")
(assert_trap (invoke "load 2G-1" (i32.const 0x80000001)) "out of bounds memory access")
(assert_trap (invoke "store 2G" (i32.const 0x80000000)) "out of bounds memory access")
(assert_trap (invoke "load last" (i32.const 0)) "out of bounds memory access")
(assert_trap (invoke "load last" (i32.const 1)) "out of bounds memory access")
(assert_trap (invoke "load last" (i32.const -1)) "out of bounds memory access")
(assert_trap (invoke "load last v128" (i32.const -1)) "out of bounds memory access")
(assert_trap (invoke "store last" (i32.const 1)) "out of bounds memory access")
(assert_return (invoke "load 0xffff" (i32.const 0)) (i32.const 0))
(assert_trap (invoke "load 0xffff" (i32.const 1)) "out of bounds memory access")
(assert_trap (invoke "load 0xffff" (i32.const -1)) "out of bounds memory access")
(assert_trap (invoke "load 0x10000" (i32.const 0)) "out of bounds memory access")
(assert_trap (invoke "load 0x10000" (i32.const -1)) "out of bounds memory access")

;; In a memory that is large enough, the offset is added.
(module
  (memory 1025)
  (func (export "store") (param i32 i32)
    (i32.store offset=0x4000000 (local.get 0) (local.get 1)))
  (func (export "load") (param i32) (result i32) (i32.load offset=0x3fff000 (local.get 0)))
  (func (export "load plain") (param i32) (result i32) (i32.load (local.get 0))))
(assert_return (invoke "store" (i32.const 16) (i32.const 0x12345678)))
(assert_return (invoke "load" (i32.const 4112)) (i32.const 0x12345678))
(assert_return (invoke "load plain" (i32.const 0x4000010)) (i32.const 0x12345678))
(assert_return (invoke "store" (i32.const 65532) (i32.const 7)))
(assert_trap (invoke "store" (i32.const 65533) (i32.const 7)) "out of bounds memory access")
(assert_trap (invoke "store" (i32.const -16) (i32.const 7)) "out of bounds memory access")

(module
  (memory 32769)
  (func (export "store") (param i32 i64)
    (i64.store offset=0x80000000 (local.get 0) (local.get 1)))
  (func (export "load") (param i32) (result i64) (i64.load offset=0x7ffffff8 (local.get 0)))
  (func (export "load plain") (param i32) (result i64) (i64.load (local.get 0))))
(assert_return (invoke "store" (i32.const 8) (i64.const 0x123456789abcdef0)))
(assert_return (invoke "load" (i32.const 16)) (i64.const 0x123456789abcdef0))
(assert_return (invoke "load plain" (i32.const 0x80000008)) (i64.const 0x123456789abcdef0))
(assert_return (invoke "store" (i32.const 65528) (i64.const 7)))
(assert_trap (invoke "store" (i32.const 65529) (i64.const 7)) "out of bounds memory access")
(assert_trap (invoke "store" (i32.const 0x80000000) (i64.const 7)) "out of bounds memory access")

;; The address may be constant as well.
(module
  (memory 1)
  (func (export "inside") (result i32) (i32.load8_u offset=0xfffe (i32.const 1)))
  (func (export "outside") (result i32) (i32.load8_u offset=0xffff (i32.const 1)))
  (func (export "wrapped") (result i32) (i32.load8_u offset=0xffffffff (i32.const 1))))
(assert_return (invoke "inside") (i32.const 0))
(assert_trap (invoke "outside") "out of bounds memory access")
(assert_trap (invoke "wrapped") "out of bounds memory access")
