;; `stack.new_ref` creates a stack for a function reference.

(module $functions
  (type $main (stack (param i32) (ref null $main)))
  (func (export "times ten") (param i32) (param (ref null $main))
    (switch_retire $main (i32.mul (local.get 0) (i32.const 10)) (local.get 1))))
(register "functions")

(module
  (type $main (stack (param i32) (ref null $main)))
  (type $body (func (param i32) (param (ref null $main))))
  (import "functions" "times ten" (func $times-ten (type $body)))
  (table $bodies (ref null $body) (elem (ref.func $doubles) (ref.func $times-ten) (ref.null $body)))
  (func $doubles (type $body)
    (switch_retire $main (i32.mul (local.get 0) (i32.const 2)) (local.get 1)))

  (func (export "folded") (result i32)
    (switch $main (i32.const 21) (stack.new_ref $main $body (ref.func $doubles)))
    (drop))
  (func (export "plain") (result i32)
    i32.const 22
    ref.func $doubles
    stack.new_ref $main $body
    switch $main
    drop)
  (func (export "of the table") (param i32) (result i32)
    (switch $main (i32.const 23)
      (stack.new_ref $main $body (table.get $bodies (local.get 0))))
    (drop))
  (func (export "null") (drop (stack.new_ref $main $body (ref.null $body))))
  (func (export "nofunc") (drop (stack.new_ref $main $body (ref.null nofunc))))

  ;; Another function type of the same structure.
  (type $alike (func (param i32 (ref null $main))))
  (func (export "alike") (result i32)
    (switch $main (i32.const 24) (stack.new_ref $main $alike (ref.func $doubles)))
    (drop))
  ;; `stack.new` needs no declaration of its function, which may be an import.
  (func (export "import") (result i32)
    (switch $main (i32.const 25) (stack.new $main $times-ten))
    (drop)))

(assert_return (invoke "folded") (i32.const 42))
(assert_return (invoke "plain") (i32.const 44))
(assert_return (invoke "of the table" (i32.const 0)) (i32.const 46))
(assert_return (invoke "of the table" (i32.const 1)) (i32.const 230))
(assert_trap (invoke "of the table" (i32.const 2)) "null function reference")
(assert_return (invoke "of the table" (i32.const 1)) (i32.const 230))
(assert_trap (invoke "null") "null function reference")
(assert_return (invoke "folded") (i32.const 42))
(assert_trap (invoke "nofunc") "null function reference")
(assert_return (invoke "folded") (i32.const 42))
(assert_return (invoke "alike") (i32.const 48))
(assert_return (invoke "import") (i32.const 250))
