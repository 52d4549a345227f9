;; A chain of tasks that switch to each other by `task.switchto`: a source counts, a filter squares,
;; and a sink adds up. The caller resumes the source, and gets the sum from the sink, since the task
;; that continues gets the parent of the one that stops.
;;
;; The sum of the squares of 1 to 10:
;;
;;   $ ropewalk run --invoke sum examples/task-switchto.wat 10
;;   385
;;   $ ropewalk run --invoke sum examples/task-switchto.wat 0
;;   0
;;
;; The source can be resumed again after the sink has ended: it counts from where it is.
;;
;;   $ ropewalk run --invoke twice examples/task-switchto.wat 3
;;   14
;;   4

(module
  ;; A stage receives a number, which is 0 at the end.
  (type $stage (task (param i32) (result i32)))
  (global $source (mut (ref null $stage)) (ref.null $stage))
  (global $filter (mut (ref null $stage)) (ref.null $stage))
  (global $sink (mut (ref null $stage)) (ref.null $stage))

  ;; Sends each number to the filter. The sink switches back for the next one.
  (func $source (param $me (ref null $stage)) (param $first i32) (param $n i32) (result i32)
    (local $i i32)
    (loop $next
      (if (i32.lt_u (local.get $i) (local.get $n))
        (then
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (drop
            (task.switchto $stage $stage
              (local.get $me) (global.get $filter) (local.get $i)))
          (br $next))))
    (drop
      (task.switchto $stage $stage (local.get $me) (global.get $filter) (i32.const 0)))
    (i32.add (local.get $i) (i32.const 1)))

  (func $filter (param $me (ref null $stage)) (param $number i32) (result i32)
    (loop $next
      (local.set $number
        (task.switchto $stage $stage (local.get $me) (global.get $sink)
          (i32.mul (local.get $number) (local.get $number))))
      (br $next))
    (unreachable))

  (func $sink (param $me (ref null $stage)) (param $number i32) (result i32)
    (local $sum i32)
    (loop $next
      (if (local.get $number)
        (then
          (local.set $sum (i32.add (local.get $sum) (local.get $number)))
          (local.set $number
            (task.switchto $stage $stage
              (local.get $me) (global.get $source) (i32.const 0)))
          (br $next))))
    (local.get $sum))

  (func $sum (export "sum") (param $n i32) (result i32)
    (global.set $source (task.new $stage $source (local.get $n)))
    (global.set $filter (task.new $stage $filter))
    (global.set $sink (task.new $stage $sink))
    (task.resume $stage (global.get $source) (i32.const 0)))
  (func (export "twice") (param $n i32) (result i32 i32)
    (call $sum (local.get $n))
    (task.resume $stage (global.get $source) (i32.const 0))))
