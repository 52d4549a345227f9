;; A script may use dialects in every form of module.

(module $m (type $c (stack (param i32) (ref null $c)))
  (func (export "null") (result (ref null $c)) (ref.null $c))
  (func (export "one") (result i32) (i32.const 1)))
(assert_return (invoke "one") (i32.const 1))

(module definition $d
  (type $c (stack (ref null $c)))
  (func (export "two") (result i32) (i32.const 2)))
(module instance $i $d)
(assert_return (invoke $i "two") (i32.const 2))

(module quote "(type $c (stack (ref $c)))" "(func (export \"three\") (result i32) (i32.const 3))")
(assert_return (invoke "three") (i32.const 3))

(register "m" $m)
(module
  (type $c (stack (param i32) (ref null $c)))
  (import "m" "null" (func (result (ref null $c)))))
(assert_unlinkable
  (module
    (type $d (stack (param i64) (ref null $d)))
    (import "m" "null" (func (result (ref null $d)))))
  "incompatible import type")
(assert_trap
  (module (type $c (stack (ref $c))) (func $start unreachable) (start $start))
  "unreachable")

(assert_invalid (module (type $c (stack (param i32)))) "a stack type ends with")
(assert_malformed (module (type $c (stack (ref $d)))) "unknown type")
(assert_malformed (module quote "(type $c (stack (ref $c)" ") ) (func (call 0))") "expected a name")
