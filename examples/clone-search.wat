;; A search as in logic programs. The facts are the edges of a graph; the rule says that
;; a path is an edge, or an edge followed by a path. If several facts match, the query
;; suspends with `$or` to ask which one to take. The handler stores a copy of the
;; computation for each other alternative in a list, and continues with the first. After
;; a failure it resumes the newest copy: depth first, left to right, as in Prolog.
;;
;; The nodes that can be reached from node 1 in a number of steps, in the order in which
;; they are found, as the digits of a number:
;;
;;   $ ropewalk run --invoke reach examples/clone-search.wat 1
;;   23
;;   $ ropewalk run --invoke reach examples/clone-search.wat 2
;;   4545
;;   $ ropewalk run --invoke reach examples/clone-search.wat 3
;;   656656
;;
;; The same without copies, by a recursion for each step:
;;
;;   $ ropewalk run --invoke recursive examples/clone-search.wat 3
;;   656656

(module
  (type $query (func (result i32)))
  (type $goal (cont $query))
  (type $alternative (func (param i32) (result i32)))
  (type $waits (cont $alternative))
  ;; Chooses alternative 0 or 1.
  (tag $or (result i32))
  (tag $fail)
  (rec (type $list (struct
    (field $waits (ref null $waits)) (field $next (ref null $list)))))
  (elem declare func $query)
  (global $steps (mut i32) (i32.const 0))

  ;; edge(1,2). edge(1,3). edge(2,4). edge(2,5). edge(3,4). edge(3,5). edge(4,6). edge(5,6).
  ;; edge(4,5).
  ;; The first matching edge of a node from number $i on; -1 if there is none.
  (data $edges "\01\02\01\03\02\04\02\05\03\04\03\05\04\06\04\05\05\06")
  (memory 1)
  (func $load (memory.init $edges (i32.const 0) (i32.const 0) (i32.const 18)))
  (start $load)
  (func $fits (param $from i32) (param $i i32) (result i32)
    (loop $next
      (if (i32.ge_u (local.get $i) (i32.const 9)) (then (return (i32.const -1))))
      (if (i32.eq (i32.load8_u (i32.shl (local.get $i) (i32.const 1))) (local.get $from))
        (then (return (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br $next))
    (unreachable))
  (func $target (param $i i32) (result i32)
    (i32.load8_u offset=1 (i32.shl (local.get $i) (i32.const 1))))

  ;; edge(From, To): chooses a matching fact, or fails.
  (func $edge (param $from i32) (result i32)
    (local $i i32) (local $other i32)
    (local.set $i (call $fits (local.get $from) (i32.const 0)))
    (loop $next
      (if (i32.lt_s (local.get $i) (i32.const 0)) (then (suspend $fail)))
      (local.set $other
        (call $fits (local.get $from) (i32.add (local.get $i) (i32.const 1))))
      ;; The last fact leaves no choice.
      (if (i32.ge_s (local.get $other) (i32.const 0))
        (then
          (if (suspend $or)
            (then
              (local.set $i (local.get $other))
              (br $next))))))
    (call $target (local.get $i)))
  ;; A path with this many steps.
  (func $query (result i32)
    (local $node i32) (local $step i32)
    (local.set $node (i32.const 1))
    (loop $next
      (local.set $node (call $edge (local.get $node)))
      (local.set $step (i32.add (local.get $step) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $step) (global.get $steps))))
    (local.get $node))

  ;; All solutions, as digits.
  (func $reach (export "reach") (param $steps i32) (result i32)
    (local $waits (ref null $waits)) (local $list (ref null $list))
    (local $found i32) (local $which i32)
    (global.set $steps (local.get $steps))
    (block $or (result (ref $waits))
      (block $fail (result (ref $goal))
        (return
          (resume $goal (on $or $or) (on $fail $fail) (cont.new $goal (ref.func $query)))))
      (return (drop) (i32.const 0)))
    (local.set $waits)
    (local.set $list (struct.new $list (cont.clone $waits (local.get $waits)) (ref.null $list)))
    (loop $next
      (block $ended
        (block $fail (result (ref $goal))
          (block $or (result (ref $waits))
            (local.set $found
              (i32.add
                (i32.mul (local.get $found) (i32.const 10))
                (resume $waits (on $or $or) (on $fail $fail)
                  (local.get $which) (local.get $waits))))
            (br $ended))
          (local.set $waits)
          ;; The other alternative waits; the first is next.
          (local.set $list
            (struct.new $list (cont.clone $waits (local.get $waits)) (local.get $list)))
          (local.set $which (i32.const 0))
          (br $next))
        (drop))
      (if (ref.is_null (local.get $list)) (then (return (local.get $found))))
      (local.set $waits (struct.get $list $waits (local.get $list)))
      (local.set $list (struct.get $list $next (local.get $list)))
      (local.set $which (i32.const 1))
      (br $next))
    (unreachable))

  (func $recursive (param $node i32) (param $steps i32) (param $found i32) (result i32)
    (local $i i32)
    (if (i32.eqz (local.get $steps))
      (then
        (return (i32.add (i32.mul (local.get $found) (i32.const 10)) (local.get $node)))))
    (loop $next
      (local.set $i (call $fits (local.get $node) (local.get $i)))
      (if (i32.ge_s (local.get $i) (i32.const 0))
        (then
          (local.set $found
            (call $recursive (call $target (local.get $i))
              (i32.sub (local.get $steps) (i32.const 1)) (local.get $found)))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $next))))
    (local.get $found))
  (func $walked (export "recursive") (param $steps i32) (result i32)
    (call $recursive (i32.const 1) (local.get $steps) (i32.const 0))))
