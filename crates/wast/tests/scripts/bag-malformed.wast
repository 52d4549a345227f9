;; Unknown words and names are malformed, and so are most numeric indices.

(assert_malformed (module quote "(type $c (stack (ref null $d)))") "unknown type")
(assert_malformed (module quote "(type $c (stack (param i33) (ref null $c)))") "")
(assert_malformed (module quote "(type $c (stack (result i32) (ref null $c)))") "")
(assert_malformed (module quote "(type $c (stack (ref null $c) (param i32)))") "")
(assert_malformed (module quote "(type $c (stack (ref null $c)) (stack (ref null $c)))") "")
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(func (drop (stack.new $d $f)))")
  "unknown type")
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(func (drop (stack.new $c $f)))")
  "unknown func")
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(func (drop (stack.new $c)))")
  "")
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(func (drop (stack.old $c)))")
  "unknown operator")
(assert_malformed
  (module quote
    "(type $c (stack (ref null $c)))"
    "(func (param (ref null $c)) (drop (switch_throw $c $e (local.get 0))))")
  "unknown tag")
(assert_malformed
  (module quote
    "(type $c (stack (ref null $c)))"
    "(func (param (ref null $c)) (return_switch $c $f (local.get 0)))")
  "unknown func")
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(func (param (ref null $c)) (drop (switch)))")
  "")
(assert_malformed
  (module quote
    "(type $c (stack (ref null $c)))"
    "(func (param (ref null $c)) (drop (switch $c (local.get $x))))")
  "unknown local")
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(type $c (stack (ref null $c)))")
  "duplicate")

;; ---- Indices.

(assert_malformed (module quote "(type $c (stack (ref null 0)))") "")
(assert_malformed
  (module quote
    "(type $c (stack (ref null $c)))" "(func $f (param (ref null $c)))"
    "(func (drop (stack.new 0 $f)))")
  "")
(assert_malformed
  (module quote
    "(type $c (stack (ref null $c)))" "(func $f (param (ref null $c)))"
    "(func (drop (stack.new $c 0)))")
  "")
(assert_malformed
  (module quote
    "(type $c (stack (ref null $c)))"
    "(func (param (ref null $c)) (drop (switch 0 (local.get 0))))")
  "")
(assert_malformed
  (module quote
    "(type $c (stack (ref null $c)))" "(tag $e (param (ref null $c)))"
    "(func (param (ref null $c)) (drop (switch_throw $c 0 (local.get 0))))")
  "")
;; Indices to items of other designs.
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(func $f)" "(func (call 0))")
  "")
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(func (block $b (br 0)))")
  "")
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(func (block $b (br_if 0 (i32.const 1))))")
  "")
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(tag $e)" "(func (throw 0))")
  "")
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(type $f (func))" "(func (type 1))")
  "")
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(func $f)" "(export \"f\" (func 0))")
  "")
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(func $f)" "(elem declare func 0)")
  "")
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(func $f)" "(start 0)")
  "")
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(func $f)" "(global funcref (ref.func 0))")
  "")
(assert_malformed
  (module quote
    "(type $c (stack (ref null $c)))" "(tag $e)"
    "(func (block $b (try_table (catch $e 0))))")
  "")
(assert_malformed
  (module quote "(type $c (stack (ref null $c)))" "(func (param (ref null 0)))")
  "")

;; Indices of locals, globals, tables, memories and fields are accepted.
(module
  (type $c (stack (ref null $c)))
  (type $s (struct (field i32) (field (ref null $c))))
  (global (mut (ref null $c)) (ref.null $c))
  (table 1 (ref null $c))
  (memory 1)
  (func $back (param (ref null $c)) (switch_retire $c (local.get 0)))
  (func (export "go") (result i32)
    (local (ref null $c) (ref null $s))
    (local.set 0 (stack.new $c $back))
    (global.set 0 (local.get 0))
    (table.set 0 (i32.const 0) (global.get 0))
    (local.set 1 (struct.new $s (i32.const 1) (table.get 0 (i32.const 0))))
    (i32.store 0 (i32.const 0)
      (ref.is_null (switch $c (struct.get $s 1 (local.get 1)))))
    (i32.load (i32.const 0))))
(assert_return (invoke "go") (i32.const 1))
