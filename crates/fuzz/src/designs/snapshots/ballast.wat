;; A large amount of each kind of state, which changes little between two snapshots. Each part adds
;; up the numbers that it receives, and returns the sum.
(module $ballast
  (import "host" "new_stack" (func $new_stack (result stackref)))

  ;; Numbers in a memory.
  (memory $memory (export "numbers") 20 60)
  (func (export "memory") (param $at i32) (param $n i64) (result i64)
    (local.set $at (i32.mul (local.get $at) (i32.const 8)))
    (i64.store (local.get $at) (i64.add (i64.load (local.get $at)) (local.get $n)))
    (i64.load (local.get $at)))
  (func (export "grow_memory") (drop (memory.grow (i32.const 1))))

  ;; Objects in a table. Some refer to others.
  (type $cell (struct (field (mut i64)) (field (mut (ref null $cell)))))
  (table $cells 9000 12000 (ref null $cell))
  (func (export "objects") (param $at i32) (param $n i64) (result i64)
    (local $cell (ref null $cell))
    (local.set $cell (table.get $cells (local.get $at)))
    (if (i32.eqz (ref.is_null (local.get $cell)))
      (then
        (local.set $n (i64.add (local.get $n) (struct.get $cell 0 (local.get $cell))))
        (if (i64.eqz (i64.and (local.get $n) (i64.const 1)))
          (then
            (struct.set $cell 0 (local.get $cell) (local.get $n))
            (return (local.get $n))))))
    (table.set $cells (local.get $at)
      (struct.new $cell (local.get $n) (table.get $cells (i32.const 17))))
    (local.get $n))
  (func (export "grow_table") (drop (table.grow $cells (ref.null $cell) (i32.const 40))))

  ;; Elements of a large object.
  (type $array (array (mut i64)))
  (global $array (mut (ref null $array)) (ref.null $array))
  (func (export "elements") (param $at i32) (param $n i64) (result i64)
    (if (ref.is_null (global.get $array))
      (then (global.set $array (array.new_default $array (i32.const 9000)))))
    (local.set $n
      (i64.add (local.get $n) (array.get $array (global.get $array) (local.get $at))))
    (array.set $array (global.get $array) (local.get $at) (local.get $n))
    (local.get $n))

  ;; Continuations in a table, which suspend at several depths.
  (type $f (func (param i64)))
  (type $c (cont $f))
  (tag $yield (export "yield") (param i64) (result i64))
  (table $sums 9000 (ref null $c))
  (func $deep (param $n i64) (param $depth i64) (result i64)
    (if (i64.eqz (local.get $depth))
      (then (return (i64.add (local.get $n) (suspend $yield (local.get $n))))))
    (call $deep (local.get $n) (i64.sub (local.get $depth) (i64.const 1))))
  (func $sum (export "sum") (param $n i64)
    (loop $again
      (local.set $n (call $deep (local.get $n) (i64.and (local.get $n) (i64.const 31))))
      (br $again)))
  (elem declare func $sum)
  (func $continue (export "continuations") (param $at i32) (param $n i64) (result i64)
    (local $rest (ref null $c))
    (local.set $rest (table.get $sums (local.get $at)))
    (if (ref.is_null (local.get $rest))
      (then (local.set $rest (cont.new $c (ref.func $sum)))))
    (block $on (result i64 (ref $c))
      (resume $c (on $yield $on) (local.get $n) (local.get $rest))
      (unreachable))
    (local.set $rest)
    (table.set $sums (local.get $at) (local.get $rest)))
  (func (export "begin_many") (local $at i32)
    (loop $next
      (drop (call $continue (local.get $at) (i64.const 0)))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 600)))))

  ;; One of each other design, for the host.
  (type $t (taskref (i64) (i64)))
  (func $task-body (param $me (ref null $t)) (param $n i64) (result i64)
    (loop $again
      (local.set $n
        (i64.add (local.get $n) (task.suspend $t (local.get $me) (local.get $n))))
      (br $again))
    (unreachable))
  (func (export "new_task") (result (ref $t)) (task.new $t $task-body))

  (tag $go (export "go") (param i64))
  (tag $told (export "told") (param i64))
  (tag $end)
  (func $fiber-body (param $me fiberref) (param $n i64)
    (loop $again
      (block $next (result i64)
        (fiber.dismount $told (on $go $next) (local.get $n) (local.get $me))
        (unreachable))
      (local.set $n (i64.add (local.get $n)))
      (br $again)))
  (func (export "new_fiber") (result fiberref) (fiber.new $end (on $go $fiber-body)))

  (rec (type $to-host (stack (param i64) (ref null $to-body)))
       (type $to-body (stack (param i64) (ref null $to-host))))
  (func $bag-body (param $n i64) (param $host (ref null $to-host)) (local $add i64)
    (loop $again
      (switch $to-host (local.get $n) (local.get $host))
      (local.set $host)
      (local.set $add)
      (local.set $n (i64.add (local.get $n) (local.get $add)))
      (br $again)))
  (func (export "new_bag_stack") (result (ref $to-body)) (stack.new $to-body $bag-body))

  (event $number (export "number") (param i64 stackref))
  (func $serve (param $n i64) (param $back stackref)
    (loop $again
      (block $got (result i64 stackref)
        (try
          (stack.switch $number (local.get $n) (local.get_clear $back))
          catch $number $got)
        (unreachable))
      (local.set_cleared $back)
      (local.set $n (i64.add (local.get $n)))
      (br $again)))
  (rout $serves
    (block $got (result i64 stackref) (try (stack.start) catch $number $got) (unreachable))
    (call $serve)
    (unreachable))
  (func (export "new_first_class_stack") (result stackref)
    (stack.extend $serves (call $new_stack))))
