;; `taskref` is the supertype of all tasks: it can be kept, compared and released.
;; Other instructions require a concrete type.

(module $all
  (type $number (task (param i32) (result i32)))
  (type $nothing (task))
  (type $pair (struct (field $one (mut taskref)) (field $other taskref)))
  (type $row (array (mut taskref)))
  (table $table (export "table") 8 taskref)
  (table $filled 2 taskref (ref.null task))
  (global $global (export "global") (mut taskref) (ref.null task))
  (global $null (ref null task) (ref.null task))
  (elem $segment taskref (ref.null task))
  (tag $thrown (param taskref))

  (func $double (param $me (ref null $number)) (param i32) (result i32)
    (loop $more
      (local.set 1
        (task.suspend $number (local.get $me) (i32.mul (local.get 1) (i32.const 2))))
      (br $more))
    (unreachable))
  (func $ends (param taskref))
  ;; The function knows its own task only as a `taskref`.
  (func $keeps-itself (param $me (ref task)) (global.set $global (local.get $me)))

  (func (export "fill")
    (table.set $table (i32.const 0) (task.new $number $double))
    (table.set $table (i32.const 1) (task.new $nothing $ends))
    (table.set $table (i32.const 2) (table.get $table (i32.const 0))))
  (func (export "eq") (param i32 i32) (result i32)
    (task.eq (table.get $table (local.get 0)) (table.get $table (local.get 1))))
  (func (export "release") (param i32) (task.release (table.get $table (local.get 0))))
  (func (export "release null") (task.release (ref.null task)))
  (func (export "release null of a type") (task.release (ref.null $number)))

  (func (export "own reference") (result i32)
    (local $task (ref null $nothing))
    (local.set $task (task.new $nothing $keeps-itself))
    (task.resume $nothing (local.get $task))
    (task.eq (local.get $task) (global.get $global)))

  (func (export "nulls") (result i32 i32 i32 i32)
    (task.eq (ref.null task) (ref.null $number))
    (task.eq (ref.null $nothing) (ref.null $number))
    (task.eq (global.get $null) (table.get $filled (i32.const 1)))
    (task.eq (ref.null task) (task.new $nothing $ends)))

  (func (export "fields") (result i32 i32 i32)
    (local $pair (ref null $pair)) (local $row (ref null $row))
    (local $task (ref null $number))
    (local.set $task (task.new $number $double))
    (local.set $pair (struct.new $pair (local.get $task) (task.new $nothing $ends)))
    (local.set $row (array.new $row (local.get $task) (i32.const 3)))
    (task.eq (struct.get $pair $one (local.get $pair)) (local.get $task))
    (task.eq (struct.get $pair $other (local.get $pair)) (local.get $task))
    (task.eq (array.get $row (local.get $row) (i32.const 2)) (local.get $task)))

  (func $throws (param taskref) (throw $thrown (local.get 0)))
  (func (export "thrown") (result i32)
    (local $task (ref null $number))
    (local.set $task (task.new $number $double))
    (block $caught (result taskref)
      (try_table (catch $thrown $caught) (call $throws (local.get $task)))
      (unreachable))
    (local.get $task)
    task.eq)

  (func (export "segment") (result i32)
    (table.init $table $segment (i32.const 0) (i32.const 0) (i32.const 1))
    (ref.is_null (table.get $table (i32.const 0))))

  ;; Returns the number of a task in the table and the task's value.
  (func (export "still works") (result i32 i32)
    (local $task (ref null $number))
    (local.set $task (task.new $number $double))
    (table.set $table (i32.const 5) (local.get $task))
    (task.resume $number (local.get $task) (i32.const 4))
    (task.eq (table.get $table (i32.const 5)) (local.get $task))))
(register "all")

(invoke "fill")
(assert_return (invoke "eq" (i32.const 0) (i32.const 0)) (i32.const 1))
(assert_return (invoke "eq" (i32.const 0) (i32.const 1)) (i32.const 0))
(assert_return (invoke "eq" (i32.const 0) (i32.const 2)) (i32.const 1))
(assert_return (invoke "eq" (i32.const 0) (i32.const 3)) (i32.const 0))
(assert_return (invoke "eq" (i32.const 3) (i32.const 4)) (i32.const 1))
(assert_return (invoke "own reference") (i32.const 1))
(assert_return (invoke "nulls") (i32.const 1) (i32.const 1) (i32.const 1) (i32.const 0))
(assert_return (invoke "fields") (i32.const 1) (i32.const 0) (i32.const 1))
(assert_return (invoke "thrown") (i32.const 1))
(assert_return (invoke "still works") (i32.const 8) (i32.const 1))

;; Moribund tasks can still be compared. Releasing them traps.
(assert_return (invoke "release" (i32.const 0)))
(assert_trap (invoke "release" (i32.const 0)) "task is moribund")
(assert_trap (invoke "release" (i32.const 2)) "task is moribund")
(assert_return (invoke "eq" (i32.const 0) (i32.const 2)) (i32.const 1))
(assert_return (invoke "eq" (i32.const 0) (i32.const 1)) (i32.const 0))
(assert_return (invoke "eq" (i32.const 0) (i32.const 3)) (i32.const 0))
(assert_return (invoke "release" (i32.const 1)))
(assert_return (invoke "eq" (i32.const 0) (i32.const 1)) (i32.const 0))
(assert_trap (invoke "release" (i32.const 3)) "null task reference")
(assert_trap (invoke "release null") "null task reference")
(assert_trap (invoke "release null of a type") "null task reference")

;; ---- Another instance, with its own types.

(module
  (type $mine (task (result i64)))
  (import "all" "table" (table $table 8 taskref))
  (import "all" "global" (global $global (mut taskref)))
  (func $body (param taskref) (result i64) (i64.const 3))
  (func (export "put") (table.set $table (i32.const 6) (task.new $mine $body)))
  (func (export "eq") (param i32) (result i32)
    (task.eq (table.get $table (local.get 0)) (table.get $table (i32.const 6)))))
(invoke "put")
(assert_return (invoke $all "eq" (i32.const 6) (i32.const 6)) (i32.const 1))
(assert_return (invoke $all "eq" (i32.const 6) (i32.const 0)) (i32.const 0))
(assert_return (invoke "eq" (i32.const 0)) (i32.const 0))
(assert_return (invoke $all "release" (i32.const 6)))
(assert_return (invoke "eq" (i32.const 6)) (i32.const 1))
(assert_return (invoke $all "segment") (i32.const 1))

;; ---- States.

(module
  (type $t (task (result i32)))
  (type $u (task))
  (func $release-me (param $me taskref) (result i32) (task.release (local.get $me)) (i32.const 1))
  (func (export "release the active one") (drop (task.resume $t (task.new $t $release-me))))
  (global $outer (mut taskref) (ref.null task))
  (func $inner (param taskref) (task.release (global.get $outer)))
  (func $outer (param $me taskref) (result i32)
    (global.set $outer (local.get $me))
    (task.resume $u (task.new $u $inner))
    (i32.const 1))
  (func (export "release one in use") (drop (task.resume $t (task.new $t $outer)))))
(assert_trap (invoke "release the active one") "task is not suspended")
(assert_trap (invoke "release one in use") "task is not suspended")

;; ---- Task references are distinct from other kinds.

(assert_invalid
  (module (type $t (task)) (func (param taskref) (task.resume $t (local.get 0))))
  "type mismatch")
(assert_invalid
  (module (type $t (task)) (func (param taskref) (task.release $t (local.get 0))))
  "type mismatch")
(assert_invalid
  (module (type $t (task)) (func (param taskref) (result (ref $t)) (ref.cast (ref $t) (local.get 0))))
  "")
(assert_invalid
  (module (type $t (task)) (func (param taskref) (result i32) (ref.test (ref $t) (local.get 0))))
  "")
(assert_invalid (module (func (param taskref) (result i32) (ref.eq (local.get 0) (local.get 0)))) "")
(assert_invalid (module (func (param taskref) (result anyref) (local.get 0))) "type mismatch")
(assert_invalid (module (func (param fiberref) (result taskref) (local.get 0))) "type mismatch")
(assert_invalid (module (func (param (ref null stack)) (result taskref) (local.get 0))) "type mismatch")
(assert_invalid (module (func (param contref) (result taskref) (local.get 0))) "type mismatch")
(assert_invalid (module (func (param taskref) (result contref) (local.get 0))) "type mismatch")
(assert_invalid (module (func (result (ref task)) (ref.null task))) "type mismatch")
(assert_invalid (module (func (local (ref task)) (drop (local.get 0)))) "uninitialized local")
(assert_invalid (module (func (param taskref) (result i32) (task.eq (local.get 0)))) "type mismatch")
(assert_malformed (module quote "(func (param task))") "unexpected token")
(assert_malformed (module quote "(func (param (ref taskref)))") "unexpected token")
(assert_malformed (module quote "(func (drop (ref.null taskref)))") "unexpected token")
(assert_malformed (module quote "(func (param taskref) (task.release 0 (local.get 0)))") "expected a name")
