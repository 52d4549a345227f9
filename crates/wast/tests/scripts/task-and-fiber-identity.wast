;; A new task or fiber never equals one that has ended, however often its stack was reused.

(module
  (type $t (task))
  (type $tasks (array (mut taskref)))
  (type $fibers (array (mut fiberref)))
  (tag $go)
  (func $ends (param taskref))
  (func $fiber-ends (param fiberref))

  ;; Creates tasks, ends each in one of three ways, and counts the pairs of equal tasks.
  (func (export "tasks") (param $count i32) (result i32)
    (local $tasks (ref null $tasks)) (local $task (ref null $t))
    (local $i i32) (local $j i32) (local $equal i32)
    (local.set $tasks (array.new_default $tasks (local.get $count)))
    (loop $more
      (local.set $task (task.new $t $ends))
      (array.set $tasks (local.get $tasks) (local.get $i) (local.get $task))
      (if (i32.eqz (i32.rem_u (local.get $i) (i32.const 3)))
        (then (task.release (local.get $task)))
        (else
          (if (i32.eqz (i32.rem_u (local.get $i) (i32.const 2)))
            (then (task.resume $t (local.get $task))))))
      ;; This task is already garbage when the next is created.
      (drop (task.new $t $ends))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (local.get $count))))
    (local.set $i (i32.const 0))
    (loop $rows
      (local.set $j (i32.const 0))
      (loop $columns
        (local.set $equal
          (i32.add
            (local.get $equal)
            (task.eq
              (array.get $tasks (local.get $tasks) (local.get $i))
              (array.get $tasks (local.get $tasks) (local.get $j)))))
        (local.set $j (i32.add (local.get $j) (i32.const 1)))
        (br_if $columns (i32.lt_u (local.get $j) (local.get $count))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $rows (i32.lt_u (local.get $i) (local.get $count))))
    (local.get $equal))

  (func (export "fibers") (param $count i32) (result i32)
    (local $fibers (ref null $fibers)) (local $fiber fiberref)
    (local $i i32) (local $j i32) (local $equal i32)
    (local.set $fibers (array.new_default $fibers (local.get $count)))
    (loop $more
      (local.set $fiber (fiber.new $go (on $go $fiber-ends)))
      (array.set $fibers (local.get $fibers) (local.get $i) (local.get $fiber))
      (if (i32.eqz (i32.rem_u (local.get $i) (i32.const 3)))
        (then (fiber.release (local.get $fiber)))
        (else
          (if (i32.eqz (i32.rem_u (local.get $i) (i32.const 2)))
            (then
              (block $ended
                (fiber.mount $go (on $go $ended) (local.get $fiber))
                (unreachable))))))
      (drop (fiber.new $go (on $go $fiber-ends)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $i) (local.get $count))))
    (local.set $i (i32.const 0))
    (loop $rows
      (local.set $j (i32.const 0))
      (loop $columns
        (local.set $equal
          (i32.add
            (local.get $equal)
            (fiber.eq
              (array.get $fibers (local.get $fibers) (local.get $i))
              (array.get $fibers (local.get $fibers) (local.get $j)))))
        (local.set $j (i32.add (local.get $j) (i32.const 1)))
        (br_if $columns (i32.lt_u (local.get $j) (local.get $count))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $rows (i32.lt_u (local.get $i) (local.get $count))))
    (local.get $equal)))

;; Each task equals itself and no other.
(assert_return (invoke "tasks" (i32.const 60)) (i32.const 60))
(assert_return (invoke "tasks" (i32.const 60)) (i32.const 60))
(assert_return (invoke "fibers" (i32.const 60)) (i32.const 60))
(assert_return (invoke "tasks" (i32.const 1)) (i32.const 1))

;; ---- References of other designs: comparing them does not trap.

(module $tasks
  (type $t (task (param (ref null $t))))
  (func $body (param taskref) (param (ref null $t)))
  (func (export "new") (result (ref null $t)) (task.new $t $body))
  (func (export "eq") (param (ref null $t) (ref null $t)) (result i32)
    (task.eq (local.get 0) (local.get 1)))
  (func (export "release") (param (ref null $t)) (task.release (local.get 0))))
(register "tasks")
(module
  (rec (type $f (func (param (ref null $k)))) (type $k (cont $f)))
  (import "tasks" "new" (func $task (result (ref null $k))))
  (import "tasks" "eq" (func $eq (param (ref null $k) (ref null $k)) (result i32)))
  (import "tasks" "release" (func $release (param (ref null $k))))
  (elem declare func $body)
  (func $body (type $f))
  (func (export "eq") (result i32 i32 i32 i32)
    (local $k (ref null $k)) (local $stale (ref null $k))
    (local.set $k (cont.new $k (ref.func $body)))
    (local.set $stale (cont.new $k (ref.func $body)))
    (resume $k (ref.null $k) (local.get $stale))
    (call $eq (local.get $k) (call $task))
    (call $eq (local.get $k) (local.get $k))
    (call $eq (local.get $stale) (local.get $k))
    (call $eq (ref.null $k) (local.get $stale)))
  (func (export "release") (call $release (cont.new $k (ref.func $body)))))
(assert_return (invoke "eq") (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 0))
(assert_trap (invoke "release") "reference of another design")
