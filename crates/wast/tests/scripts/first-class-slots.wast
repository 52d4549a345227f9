;; Reading a stackref from a local, global or table leaves null behind.
;; Writing one traps unless the slot is null.

(module
  (import "host" "new_stack" (func $new (result stackref)))
  (global $g (mut stackref) (ref.null stack))
  (table $t 3 stackref)

  (func (export "local") (result i32 i32 i32)
    (local $s stackref)
    (ref.is_null (local.get_clear $s))
    (local.set_cleared $s (call $new))
    (ref.is_null (local.get_clear $s))
    (ref.is_null (local.get_clear $s)))
  (func $param (param $s stackref) (result i32 i32)
    (ref.is_null (local.get_clear $s))
    (ref.is_null (local.get_clear $s)))
  (func (export "parameter") (result i32 i32) (call $param (call $new)))
  (func (export "global") (result i32 i32 i32)
    (ref.is_null (global.get_clear $g))
    (global.set_cleared $g (call $new))
    (ref.is_null (global.get_clear $g))
    (ref.is_null (global.get_clear $g)))
  (func (export "table") (result i32 i32 i32 i32)
    (ref.is_null (table.get_clear $t (i32.const 1)))
    (table.set_cleared $t (i32.const 1) (call $new))
    (ref.is_null (table.get_clear $t (i32.const 0)))
    (ref.is_null (table.get_clear $t (i32.const 1)))
    (ref.is_null (table.get_clear $t (i32.const 1))))

  ;; Without an index, the instruction uses the first table.
  (func (export "first table") (result i32 i32)
    (table.set_cleared (i32.const 1) (call $new))
    i32.const 0
    table.get_clear
    ref.is_null
    (ref.is_null (table.get_clear $t (i32.const 1))))
  (func (export "plain") (result i32 i32 i32)
    (local $s stackref)
    call $new
    local.set_cleared $s
    local.get_clear $s
    global.set_cleared $g
    i32.const 2
    global.get_clear $g
    table.set_cleared $t
    i32.const 2
    table.get_clear $t
    ref.is_null
    local.get_clear $s
    ref.is_null
    global.get_clear $g
    ref.is_null)
  ;; Null may be written over null.
  (func (export "null over null") (result i32)
    (local $s stackref) (local $null stackref)
    (local.set_cleared $s (local.get_clear $null))
    (local.set_cleared $s (local.get_clear $null))
    (global.set_cleared $g (local.get_clear $null))
    (table.set_cleared $t (i32.const 0) (local.get_clear $null))
    (local.set_cleared $s (call $new))
    (ref.is_null (local.get_clear $s)))

  (func (export "full local")
    (local $s stackref)
    (local.set_cleared $s (call $new))
    (local.set_cleared $s (call $new)))
  (func (export "null into a full local")
    (local $s stackref) (local $null stackref)
    (local.set_cleared $s (call $new))
    (local.set_cleared $s (local.get_clear $null)))
  (func $full (param $s stackref) (local.set_cleared $s (call $new)))
  (func (export "full parameter") (call $full (call $new)))
  (func (export "fill the global") (global.set_cleared $g (call $new)))
  (func (export "clear the global") (result i32) (ref.is_null (global.get_clear $g)))
  (func (export "null into the global")
    (local $null stackref)
    (global.set_cleared $g (local.get_clear $null)))
  (func (export "fill the table") (param $i i32)
    (table.set_cleared $t (local.get $i) (call $new)))
  (func (export "clear the table") (param $i i32) (result i32)
    (ref.is_null (table.get_clear $t (local.get $i))))
  (func (export "loop") (param $n i32) (result i32)
    (local $s stackref)
    (loop $next
      (local.set_cleared $s (call $new))
      (global.set_cleared $g (local.get_clear $s))
      (table.set_cleared $t (i32.const 0) (global.get_clear $g))
      (drop (table.get_clear $t (i32.const 0)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n)))
    (ref.is_null (local.get_clear $s))))

(assert_return (invoke "local") (i32.const 1) (i32.const 0) (i32.const 1))
(assert_return (invoke "parameter") (i32.const 0) (i32.const 1))
(assert_return (invoke "global") (i32.const 1) (i32.const 0) (i32.const 1))
(assert_return (invoke "table") (i32.const 1) (i32.const 1) (i32.const 0) (i32.const 1))
(assert_return (invoke "first table") (i32.const 1) (i32.const 0))
(assert_return (invoke "plain") (i32.const 0) (i32.const 1) (i32.const 1))
(assert_return (invoke "null over null") (i32.const 0))
(assert_trap (invoke "full local") "linear slot is not empty")
(assert_trap (invoke "null into a full local") "linear slot is not empty")
(assert_trap (invoke "full parameter") "linear slot is not empty")
(assert_return (invoke "fill the global"))
(assert_trap (invoke "fill the global") "linear slot is not empty")
(assert_trap (invoke "null into the global") "linear slot is not empty")
(assert_return (invoke "clear the global") (i32.const 0))
(assert_return (invoke "clear the global") (i32.const 1))
(assert_return (invoke "fill the global"))
(assert_return (invoke "clear the global") (i32.const 0))
(assert_return (invoke "fill the table" (i32.const 2)))
(assert_trap (invoke "fill the table" (i32.const 2)) "linear slot is not empty")
(assert_trap (invoke "fill the table" (i32.const 3)) "out of bounds table access")
(assert_trap (invoke "clear the table" (i32.const 3)) "out of bounds table access")
(assert_return (invoke "clear the table" (i32.const 2)) (i32.const 0))
(assert_return (invoke "clear the table" (i32.const 2)) (i32.const 1))
(assert_return (invoke "loop" (i32.const 1000)) (i32.const 1))

(assert_invalid
  (module (func (drop (table.get_clear (i32.const 0)))))
  "unknown table")
(assert_invalid
  (module (table 1 (ref func) (ref.func $f)) (func $f (drop (table.get_clear (i32.const 0)))))
  "type mismatch")
