;; `get_clear`, `set_cleared` and `is_cleared` work on every kind of place in all modules.
;; The script checks traps and their order, the evaluation of operands, and which places accept
;; `is_cleared`.

(module
  (type $s (struct (field $i i32) (field $f (mut externref)) (field externref)))
  (type $a (array (mut externref)))
  (global $trace (mut i32) (i32.const 0))
  (global $g (mut externref) (ref.null extern))
  (table $t 3 5 externref)
  (table $t64 i64 3 5 externref)

  ;; Records an operand's evaluation as one digit.
  (func $note (param i32)
    (global.set $trace (i32.add (i32.mul (global.get $trace) (i32.const 10)) (local.get 0))))
  (func $struct (result (ref null $s))
    (call $note (i32.const 1))
    (struct.new $s (i32.const 0) (ref.null extern) (ref.null extern)))
  (func $array (result (ref null $a))
    (call $note (i32.const 2)) (array.new_default $a (i32.const 3)))
  (func $index (result i32) (call $note (i32.const 3)) (i32.const 2))
  (func $index64 (result i64) (call $note (i32.const 4)) (i64.const 2))
  (func $value (result externref)
    (call $note (i32.const 5)) (extern.convert_any (ref.i31 (i32.const 7))))
  (func $traced (result i32) (global.get $trace) (global.set $trace (i32.const 0)))
  (func $number (param externref) (result i32)
    (i31.get_u (ref.cast (ref i31) (any.convert_extern (local.get 0)))))

  ;; Operands are evaluated once, from left to right.
  (func (export "once") (result i32 i32 i32 i32 i32 i32)
    (struct.set_cleared $s $f (call $struct) (call $value)) (call $traced)
    (array.set_cleared $a (call $array) (call $index) (call $value)) (call $traced)
    (table.set_cleared $t (call $index) (call $value)) (call $traced)
    (table.set_cleared $t64 (call $index64) (call $value)) (call $traced)
    (drop (struct.get_clear $s $f (call $struct)))
    (drop (array.get_clear $a (call $array) (call $index)))
    (drop (table.get_clear $t (call $index)))
    (drop (table.get_clear $t64 (call $index64)))
    (call $traced)
    (drop (struct.is_cleared $s $f (call $struct)))
    (drop (array.is_cleared $a (call $array) (call $index)))
    (drop (table.is_cleared $t (call $index)))
    (drop (table.is_cleared $t64 (call $index64)))
    (drop (table.grow_cleared $t (i32.sub (call $index) (i32.const 2))))
    (call $traced))
  ;; The value that is read is the one that was written, whatever is below it on the operand stack.
  (func (export "reads the written value") (result i32 i32 i32 i32 i32)
    (local $x externref) (local $o (ref null $s)) (local $p (ref null $a))
    i32.const 1
    call $value
    local.set_cleared $x
    local.get_clear $x
    global.set_cleared $g
    i32.const 1
    global.get_clear $g
    table.set_cleared $t
    (local.set $o (call $struct))
    (local.set $p (call $array))
    local.get $o
    i32.const 1
    table.get_clear $t
    struct.set_cleared $s 1
    local.get $p
    i32.const 2
    local.get $o
    struct.get_clear $s $f
    array.set_cleared $a
    local.get $p
    i32.const 2
    array.get_clear $a
    call $number
    local.get $p
    i32.const 2
    array.is_cleared $a
    local.get $o
    struct.is_cleared $s $f
    i32.const 1
    table.is_cleared $t)
  ;; An operand may change the place before the instruction reads it.
  (func (export "operands run first") (result i32)
    (local $x externref)
    (local.set $x (call $value))
    (local.set_cleared $x (local.get_clear $x))
    (global.set_cleared $g (local.get_clear $x))
    (global.set_cleared $g (global.get_clear $g))
    (call $number (global.get_clear $g)))

  ;; Checks in order: null, bounds, emptiness.
  (func (export "null struct: get") (drop (struct.get_clear $s $f (ref.null $s))))
  (func (export "null struct: set") (struct.set_cleared $s $f (ref.null $s) (call $value)))
  (func (export "null struct: is") (drop (struct.is_cleared $s $f (ref.null $s))))
  (func (export "null array: get") (param i32)
    (drop (array.get_clear $a (ref.null $a) (local.get 0))))
  (func (export "null array: set") (param i32)
    (array.set_cleared $a (ref.null $a) (local.get 0) (call $value)))
  (func (export "null array: is") (param i32)
    (drop (array.is_cleared $a (ref.null $a) (local.get 0))))
  (func $full (result (ref $a))
    (array.new $a (call $value) (i32.const 3)))
  (func (export "array: get") (param i32)
    (drop (array.get_clear $a (call $full) (local.get 0))))
  (func (export "array: set") (param i32)
    (array.set_cleared $a (call $full) (local.get 0) (call $value)))
  (func (export "array: set null") (param i32)
    (array.set_cleared $a (call $full) (local.get 0) (ref.null extern)))
  (func (export "array: is") (param i32) (result i32)
    (array.is_cleared $a (call $full) (local.get 0)))
  (func (export "struct: set null")
    (struct.set_cleared $s $f
      (struct.new $s (i32.const 1) (call $value) (ref.null extern)) (ref.null extern)))
  (func (export "table: get") (param i32) (drop (table.get_clear $t (local.get 0))))
  (func (export "table: set") (param i32) (table.set_cleared $t (local.get 0) (call $value)))
  (func (export "table: is") (param i32) (result i32) (table.is_cleared $t (local.get 0)))
  (func (export "table64: get") (param i64) (drop (table.get_clear $t64 (local.get 0))))
  (func (export "table64: set") (param i64) (table.set_cleared $t64 (local.get 0) (call $value)))
  (func (export "table64: is") (param i64) (result i32) (table.is_cleared $t64 (local.get 0)))
  (func (export "grow") (param i32) (result i32) (table.grow_cleared $t (local.get 0)))
  (func (export "grow64") (param i64) (result i64) (table.grow_cleared $t64 (local.get 0))))

(assert_return (invoke "once")
  (i32.const 15) (i32.const 235) (i32.const 35) (i32.const 45) (i32.const 12334)
  (i32.const 123343))
(assert_return (invoke "reads the written value")
  (i32.const 1) (i32.const 7) (i32.const 1) (i32.const 1) (i32.const 1))
(assert_return (invoke "operands run first") (i32.const 7))
(assert_trap (invoke "null struct: get") "null structure reference")
(assert_trap (invoke "null struct: set") "null structure reference")
(assert_trap (invoke "null struct: is") "null structure reference")
(assert_trap (invoke "null array: get" (i32.const 0)) "null array reference")
(assert_trap (invoke "null array: get" (i32.const 9)) "null array reference")
(assert_trap (invoke "null array: set" (i32.const 0)) "null array reference")
(assert_trap (invoke "null array: set" (i32.const -1)) "null array reference")
(assert_trap (invoke "null array: is" (i32.const 9)) "null array reference")
(assert_trap (invoke "array: get" (i32.const 3)) "out of bounds array access")
(assert_trap (invoke "array: get" (i32.const -1)) "out of bounds array access")
(assert_trap (invoke "array: set" (i32.const 3)) "out of bounds array access")
(assert_trap (invoke "array: is" (i32.const 3)) "out of bounds array access")
(assert_trap (invoke "array: set" (i32.const 2)) "linear slot is not empty")
(assert_trap (invoke "array: set null" (i32.const 2)) "linear slot is not empty")
(assert_trap (invoke "array: set null" (i32.const 3)) "out of bounds array access")
(assert_trap (invoke "struct: set null") "linear slot is not empty")
(assert_return (invoke "array: is" (i32.const 2)) (i32.const 0))
(assert_return (invoke "table: set" (i32.const 0)))
(assert_trap (invoke "table: set" (i32.const 0)) "linear slot is not empty")
(assert_trap (invoke "table: set" (i32.const 3)) "out of bounds table access")
(assert_trap (invoke "table: get" (i32.const -1)) "out of bounds table access")
(assert_trap (invoke "table: is" (i32.const 3)) "out of bounds table access")
(assert_return (invoke "table: is" (i32.const 0)) (i32.const 0))
(assert_return (invoke "table: get" (i32.const 0)))
(assert_return (invoke "table: is" (i32.const 0)) (i32.const 1))
(assert_return (invoke "table64: set" (i64.const 1)))
(assert_trap (invoke "table64: set" (i64.const 1)) "linear slot is not empty")
(assert_trap (invoke "table64: set" (i64.const 0x1_0000_0001)) "out of bounds table access")
(assert_trap (invoke "table64: get" (i64.const 0x1_0000_0001)) "out of bounds table access")
(assert_trap (invoke "table64: is" (i64.const -1)) "out of bounds table access")
;; Growing works like `table.grow`: it returns the old size, or -1 without an effect.
(assert_return (invoke "grow" (i32.const 0)) (i32.const 3))
(assert_return (invoke "grow" (i32.const 2)) (i32.const 3))
(assert_return (invoke "grow" (i32.const 1)) (i32.const -1))
(assert_return (invoke "table: is" (i32.const 4)) (i32.const 1))
(assert_trap (invoke "table: is" (i32.const 5)) "out of bounds table access")
(assert_return (invoke "grow64" (i64.const 1)) (i64.const 3))
(assert_return (invoke "grow64" (i64.const 0x1_0000_0000)) (i64.const -1))
(assert_return (invoke "table64: is" (i64.const 3)) (i32.const 1))

;; Immutable places accept `is_cleared`.
(module
  (type $s (struct (field $f funcref) (field (ref null $s))))
  (type $a (array anyref))
  (global $null funcref (ref.null func))
  (global $f funcref (ref.func $f))
  (global $o (ref $s) (struct.new $s (ref.func $f) (ref.null $s)))
  (global $p (ref $a) (array.new_fixed $a 2 (ref.i31 (i32.const 0)) (ref.null none)))
  (func $f)
  (func (export "ask") (result i32 i32 i32 i32 i32 i32)
    (global.is_cleared $null)
    (global.is_cleared 1)
    (struct.is_cleared $s $f (global.get $o))
    (struct.is_cleared $s 1 (global.get $o))
    (array.is_cleared $a (global.get $p) (i32.const 0))
    (array.is_cleared $a (global.get $p) (i32.const 1)))
  (func (export "parameter") (param funcref) (param externref) (result i32 i32)
    (local.is_cleared 0) (local.is_cleared 1)))
(assert_return (invoke "ask")
  (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 1))
(assert_return (invoke "parameter" (ref.null func) (ref.extern 1)) (i32.const 1) (i32.const 0))

;; Objects that hold objects of their own type, and subtypes with more fields.
(module
  (rec (type $a (array (mut (ref null $a)))))
  (rec (type $s (sub (struct (field $next (mut (ref null $s)))))))
  (rec (type $t (sub $s (struct (field $first (mut (ref null $s))) (field $other (mut (ref null $t)))))))
  (func (export "array") (result i32 i32)
    (local $o (ref null $a)) (local $p (ref null $a))
    (local.set $o (array.new_default $a (i32.const 1)))
    (local.set $p (array.new_default $a (i32.const 2)))
    (array.set_cleared $a (local.get $o) (i32.const 0) (local.get $p))
    (array.len (array.get_clear $a (local.get $o) (i32.const 0)))
    (array.is_cleared $a (local.get $o) (i32.const 0)))
  ;; The object holds itself.
  (func (export "cycle") (result i32 i32)
    (local $o (ref null $a))
    (local.set $o (array.new_default $a (i32.const 1)))
    (array.set_cleared $a (local.get $o) (i32.const 0) (local.get $o))
    (ref.eq (array.get_clear $a (local.get $o) (i32.const 0)) (local.get $o))
    (array.is_cleared $a (local.get $o) (i32.const 0)))
  (func (export "subtype") (result i32 i32 i32)
    (local $o (ref $t))
    (local.set $o (struct.new_default $t))
    (struct.set_cleared $s $next (local.get $o) (struct.new_default $t))
    (struct.set_cleared $t $other (local.get $o) (local.get $o))
    (struct.is_cleared $t $first (local.get $o))
    (ref.eq (struct.get_clear $t $other (local.get $o)) (local.get $o))
    (ref.is_null (struct.get_clear $t 0 (local.get $o)))))
(assert_return (invoke "array") (i32.const 2) (i32.const 1))
(assert_return (invoke "cycle") (i32.const 1) (i32.const 1))
(assert_return (invoke "subtype") (i32.const 0) (i32.const 1) (i32.const 0))

;; Places of another module.
(module $owner
  (global (export "g") (mut externref) (ref.null extern))
  (table (export "t") 2 externref)
  (table (export "t64") i64 2 externref))
(register "owner" $owner)
(module
  (global $g (import "owner" "g") (mut externref))
  (import "owner" "t" (table $t 1 externref))
  (import "owner" (item "t64" (table $t64 i64 1 externref)))
  (func (export "set") (param externref)
    (global.set_cleared $g (local.get 0))
    (table.set_cleared $t (i32.const 1) (local.get 0))
    (table.set_cleared $t64 (i64.const 1) (local.get_clear 0)))
  (func (export "is") (result i32 i32 i32)
    (global.is_cleared $g) (table.is_cleared $t (i32.const 1))
    (table.is_cleared $t64 (i64.const 1)))
  (func (export "get") (result externref externref externref)
    (global.get_clear $g) (table.get_clear $t (i32.const 1))
    (table.get_clear $t64 (i64.const 1)))
  (func (export "grow") (result i32) (table.grow_cleared (i32.const 1))))
(assert_return (invoke "is") (i32.const 1) (i32.const 1) (i32.const 1))
(assert_return (invoke "set" (ref.extern 5)))
(assert_return (invoke "is") (i32.const 0) (i32.const 0) (i32.const 0))
(assert_trap (invoke "set" (ref.extern 6)) "linear slot is not empty")
(assert_return (invoke "get") (ref.extern 5) (ref.extern 5) (ref.extern 5))
(assert_return (invoke "is") (i32.const 1) (i32.const 1) (i32.const 1))
(assert_return (invoke "grow") (i32.const 2))
(assert_return (get $owner "g") (ref.null extern))

;; In unreachable code, operands are polymorphic.
(module
  (type $s (struct (field $f (mut anyref))))
  (type $a (array (mut anyref)))
  (table $t 1 anyref)
  (func (export "unreachable") (result i32) (local $x anyref)
    unreachable
    local.set_cleared $x
    struct.set_cleared $s $f
    struct.get_clear $s $f
    drop
    array.set_cleared $a
    array.get_clear $a
    drop
    table.set_cleared $t
    table.get_clear $t
    drop
    table.grow_cleared $t
    drop
    struct.is_cleared $s $f
    drop
    table.is_cleared $t
    drop
    array.is_cleared $a))
(assert_trap (invoke "unreachable") "unreachable")

;; The instructions are allowed in every position, folded and plain. Without first-class stacks,
;; `ref.null stack` is a reference to a stack of the bag.
(module
  (global $g (mut (ref null stack)) (ref.null stack))
  (func (export "loop") (param $n i32) (result i32)
    (local $x (ref null stack))
    (loop $more
      (if (global.is_cleared $g)
        (then (global.set_cleared $g (local.get_clear $x)))
        (else (local.set_cleared $x (global.get_clear $g))))
      (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.set_cleared $x (ref.null stack))
    (local.is_cleared $x)))
(assert_return (invoke "loop" (i32.const 10)) (i32.const 1))

;; In a quoted module.
(module quote
  "(type $s (struct (field $f (mut i31ref))))"
  "(func (export \"f\") (param i32) (result i32)"
  "  (i31.get_s (struct.get_clear $s $f (struct.new $s (ref.i31 (local.get 0))))))")
(assert_return (invoke "f" (i32.const -3)) (i32.const -3))
