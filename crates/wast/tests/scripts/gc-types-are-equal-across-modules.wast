;; Types are equal if they have the same position in equal recursive groups, across modules.
;; A group with another member, or in another order, defines different types.

(module $A
  (rec
    (type $list (sub (struct (field $value i32) (field $next (ref null $list)))))
    (type $tree (sub (struct (field $left (ref null $tree)) (field $lists (ref null $list))))))
  (type $double (sub $list
    (struct (field $value i32) (field $next (ref null $list)) (field $previous (ref null $double)))))
  (type $plain (struct (field i32)))
  (func (export "list") (result anyref) (struct.new $list (i32.const 1) (ref.null $list)))
  (func (export "tree") (result anyref)
    (struct.new $tree (ref.null $tree) (struct.new $list (i32.const 2) (ref.null $list))))
  (func (export "double") (result anyref)
    (struct.new $double (i32.const 3) (ref.null $list) (ref.null $double)))
  (func (export "plain") (result anyref) (struct.new $plain (i32.const 4)))
  (func (export "take") (param (ref $list)) (result i32) (struct.get $list 0 (local.get 0)))
  (global (export "global") (ref $tree) (struct.new_default $tree))
  (table (export "table") 1 (ref null $double))
  (tag (export "tag") (param (ref $list))))
(register "A" $A)

(module
  (type $unrelated (func (param i64)))
  (type $value (struct (field i32)))
  (rec
    (type $l (sub (struct (field i32) (field (ref null $l)))))
    (type $t (sub (struct (field (ref null $t)) (field (ref null $l))))))
  (type $d (sub $l (struct (field i32) (field (ref null $l)) (field (ref null $d)))))
  ;; The same structures in other groups.
  (type $alone (sub (struct (field i32) (field (ref null $alone)))))
  (rec
    (type $t2 (sub (struct (field (ref null $t2)) (field (ref null $l2)))))
    (type $l2 (sub (struct (field i32) (field (ref null $l2))))))
  (rec
    (type $l3 (sub (struct (field i32) (field (ref null $l3)))))
    (type $t3 (sub (struct (field (ref null $t3)) (field (ref null $l3)))))
    (type $more (struct)))
  (rec
    (type $l4 (sub (struct (field i32) (field (ref null $l4)))))
    (type $t4 (sub (struct (field (ref null $t4)) (field (ref null $l))))))
  (type $final (struct (field i32) (field (ref null $final))))
  (type $mutable (struct (field (mut i32))))
  ;; The same group twice in one module.
  (rec
    (type $l5 (sub (struct (field i32) (field (ref null $l5)))))
    (type $t5 (sub (struct (field (ref null $t5)) (field (ref null $l5))))))

  (import "A" "list" (func $list (result anyref)))
  (import "A" "tree" (func $tree (result anyref)))
  (import "A" "double" (func $double (result anyref)))
  (import "A" "plain" (func $plain (result anyref)))
  (import "A" "take" (func $take (param (ref $l)) (result i32)))
  (import "A" "global" (global $global (ref $t)))
  (import "A" "table" (table $table 1 (ref null $d)))
  (import "A" "tag" (tag $tag (param (ref $l))))

  (func (export "list") (result i32 i32 i32 i32 i32 i32 i32 i32)
    (local $x anyref)
    (local.set $x (call $list))
    (ref.test (ref $l) (local.get $x))
    (ref.test (ref $l5) (local.get $x))
    (ref.test (ref $alone) (local.get $x))
    (ref.test (ref $l2) (local.get $x))
    (ref.test (ref $l3) (local.get $x))
    (ref.test (ref $l4) (local.get $x))
    (ref.test (ref $final) (local.get $x))
    (ref.test (ref $d) (local.get $x)))
  (func (export "tree") (result i32 i32 i32 i32 i32)
    (local $x anyref)
    (local.set $x (call $tree))
    (ref.test (ref $t) (local.get $x))
    (ref.test (ref $t5) (local.get $x))
    (ref.test (ref $t2) (local.get $x))
    (ref.test (ref $t3) (local.get $x))
    (ref.test (ref $t4) (local.get $x)))
  (func (export "double") (result i32 i32 i32)
    (local $x anyref)
    (local.set $x (call $double))
    (ref.test (ref $d) (local.get $x))
    (ref.test (ref $l) (local.get $x))
    (ref.test (ref $l5) (local.get $x)))
  (func (export "plain") (result i32 i32)
    (ref.test (ref $value) (call $plain))
    (ref.test (ref $mutable) (call $plain)))
  (func (export "take") (result i32)
    (call $take (struct.new $d (i32.const 9) (ref.null $l) (ref.null $d))))
  (func (export "fields") (result i32)
    (struct.get $l 0 (struct.get $t 1 (ref.cast (ref $t) (call $tree)))))
  ;; The types of both groups are interchangeable in a function.
  (func $id (param (ref $l5)) (result (ref $l)) (local.get 0))
  (func (export "twice") (result i32)
    (struct.get $l5 0 (call $id (struct.new $l (i32.const 10) (ref.null $l5))))))

(assert_return (invoke "list")
  (i32.const 1) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
  (i32.const 0) (i32.const 0))
(assert_return (invoke "tree")
  (i32.const 1) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0))
(assert_return (invoke "double") (i32.const 1) (i32.const 1) (i32.const 1))
(assert_return (invoke "plain") (i32.const 1) (i32.const 0))
(assert_return (invoke "take") (i32.const 9))
(assert_return (invoke "fields") (i32.const 2))
(assert_return (invoke "twice") (i32.const 10))

(assert_unlinkable
  (module
    (type $alone (sub (struct (field i32) (field (ref null $alone)))))
    (import "A" "take" (func (param (ref $alone)) (result i32))))
  "incompatible import type")
(assert_unlinkable
  (module
    (type $alone (sub (struct (field i32) (field (ref null $alone)))))
    (import "A" "tag" (tag (param (ref $alone)))))
  "incompatible import type")
(assert_unlinkable
  (module (import "A" "table" (table 1 anyref)))
  "incompatible import type")
;; A constant may be imported with a supertype.
(module
  (import "A" "global" (global $g (ref struct)))
  (func (export "get") (result anyref) (global.get $g)))
(assert_return (invoke "get") (ref.struct))
(assert_unlinkable
  (module (import "A" "global" (global (ref array))))
  "incompatible import type")
