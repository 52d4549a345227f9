;; A generator as a task: it walks over an array and suspends itself with each
;; element. Its consumer resumes it for the next one, or to cancel it.
;;
;; The sum of the first elements of 3 1 4 1 5 9 2 6 5 3:
;;
;;   $ ropewalk run --invoke sum examples/task-generator.wat 10
;;   39
;;   $ ropewalk run --invoke sum examples/task-generator.wat 0
;;   0
;;
;; The number of elements until their sum is at least a limit, and what the
;; generator returns when it is canceled (1: it has ended).
;;
;;   $ ropewalk run --invoke enough examples/task-generator.wat 12
;;   5
;;   1

(module
  ;; An event is the number of its kind, after a value if it has one.
  (global $next i32 (i32.const 0))
  (global $cancel i32 (i32.const 1))
  (global $yield i32 (i32.const 0))
  (global $end i32 (i32.const 1))
  (type $generator (taskref (i32) (i32 i32)))

  (memory 1)
  (data (i32.const 64)
    "\03\00\00\00" "\01\00\00\00" "\04\00\00\00" "\01\00\00\00" "\05\00\00\00"
    "\09\00\00\00" "\02\00\00\00" "\06\00\00\00" "\05\00\00\00" "\03\00\00\00")

  ;; A task receives a reference to itself, then the values of its first resumption,
  ;; then the arguments of `task.new`.
  (func $array-generator (param $me (ref null $generator)) (param $first i32)
    (param $count i32) (param $elements i32)
    (result i32 i32)
    (local $i i32)
    (block $over
      (block $cancelled
        ;; The first event is handled like every other event.
        (br_if $cancelled (i32.eq (local.get $first) (global.get $cancel)))
        (loop $more
          (br_if $over (i32.ge_u (local.get $i) (local.get $count)))
          (block $on-next
            (task.suspend $generator (local.get $me)
              (i32.load
                (i32.add (local.get $elements) (i32.mul (local.get $i) (i32.const 4))))
              (global.get $yield))
            (br_table $on-next $cancelled))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $more))))
    (i32.const 0)
    (global.get $end))

  (func (export "sum") (param $count i32) (result i32)
    (local $generator (ref null $generator))
    (local $total i32)
    (local.set $generator
      (task.new $generator $array-generator (local.get $count) (i32.const 64)))
    (loop $more
      (block $on-end (result i32)
        (block $on-yield (result i32)
          (task.resume $generator (local.get $generator) (global.get $next))
          (br_table $on-yield $on-end))
        (local.set $total (i32.add (local.get $total)))
        (br $more))
      (drop))
    (local.get $total))

  (func (export "enough") (param $wanted i32) (result i32 i32)
    (local $generator (ref null $generator))
    (local $total i32)
    (local $count i32)
    (local.set $generator
      (task.new $generator $array-generator (i32.const 10) (i32.const 64)))
    (loop $more
      (if (i32.lt_u (local.get $total) (local.get $wanted))
        (then
          (task.resume $generator (local.get $generator) (global.get $next))
          (drop)
          (local.set $total (i32.add (local.get $total)))
          (local.set $count (i32.add (local.get $count) (i32.const 1)))
          (br $more))))
    (local.get $count)
    ;; Only the kind of the last event is used.
    (call $second
      (task.resume $generator (local.get $generator) (global.get $cancel))))
  (func $second (param i32 i32) (result i32) (local.get 1)))
