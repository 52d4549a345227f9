;; The n queens, by choice points. `$place` is written as if it knew the column of each
;; queen. It suspends with `$choose` to request a column, and with `$fail` if the queen
;; would be attacked. The handler resumes a copy of the computation for each column, so
;; all choices are tried.
;;
;; The number of ways to place six and eight queens:
;;
;;   $ ropewalk run --invoke ways examples/clone-queens.wat 6
;;   4
;;   $ ropewalk run --invoke ways examples/clone-queens.wat 8
;;   92
;;
;; The same without copies, by a recursion with backtracking:
;;
;;   $ ropewalk run --invoke recursive examples/clone-queens.wat 8
;;   92

(module
  (type $search (func (result i32)))
  (type $rest (cont $search))
  (type $choice (func (param i32) (result i32)))
  (type $chosen (cont $choice))
  ;; Chooses one of this many alternatives.
  (tag $choose (param i32) (result i32))
  (tag $fail)
  (global $n (mut i32) (i32.const 0))
  (elem declare func $place)

  ;; The attacked columns and diagonals, a bit for each.
  (func $place (result i32)
    (local $row i32) (local $column i32)
    (local $columns i32) (local $left i32) (local $right i32)
    (local $bit i32)
    (loop $next
      (local.set $column (suspend $choose (global.get $n)))
      (local.set $bit (i32.shl (i32.const 1) (local.get $column)))
      (if (i32.and (local.get $bit)
            (i32.or (local.get $columns) (i32.or (local.get $left) (local.get $right))))
        (then (suspend $fail)))
      (local.set $columns (i32.or (local.get $columns) (local.get $bit)))
      (local.set $left
        (i32.shl (i32.or (local.get $left) (local.get $bit)) (i32.const 1)))
      (local.set $right
        (i32.shr_u (i32.or (local.get $right) (local.get $bit)) (i32.const 1)))
      (local.set $row (i32.add (local.get $row) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $row) (global.get $n))))
    (i32.const 1))

  ;; Counts the ways in which a computation succeeds; resumes one step of it.
  (func $all (param $rest (ref null $chosen)) (param $choices i32) (result i32)
    (local $i i32) (local $ways i32)
    (loop $next
      (local.set $ways
        (i32.add (local.get $ways)
          (call $try (cont.clone $chosen (local.get $rest)) (local.get $i))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $choices))))
    (local.get $ways))
  (func $try (param $rest (ref null $chosen)) (param $choice i32) (result i32)
    (local $choices i32)
    (block $failed (result (ref $rest))
      (block $chosen (result i32 (ref $chosen))
        (return
          (resume $chosen (on $choose $chosen) (on $fail $failed)
            (local.get $choice) (local.get $rest))))
      (local.set $rest)
      (local.set $choices)
      (return (call $all (local.get $rest) (local.get $choices))))
    (drop)
    (i32.const 0))

  (func $ways (export "ways") (param $n i32) (result i32)
    (local $rest (ref null $chosen)) (local $choices i32)
    (global.set $n (local.get $n))
    (block $chosen (result i32 (ref $chosen))
      (return (resume $rest (on $choose $chosen) (cont.new $rest (ref.func $place)))))
    (local.set $rest)
    (local.set $choices)
    (call $all (local.get $rest) (local.get $choices)))

  (func $recursive (param $row i32) (param $columns i32) (param $left i32) (param $right i32)
      (result i32)
    (local $column i32) (local $bit i32) (local $ways i32)
    (if (i32.eq (local.get $row) (global.get $n)) (then (return (i32.const 1))))
    (loop $next
      (local.set $bit (i32.shl (i32.const 1) (local.get $column)))
      (if (i32.eqz (i32.and (local.get $bit)
            (i32.or (local.get $columns) (i32.or (local.get $left) (local.get $right)))))
        (then
          (local.set $ways
            (i32.add (local.get $ways)
              (call $recursive
                (i32.add (local.get $row) (i32.const 1))
                (i32.or (local.get $columns) (local.get $bit))
                (i32.shl (i32.or (local.get $left) (local.get $bit)) (i32.const 1))
                (i32.shr_u (i32.or (local.get $right) (local.get $bit)) (i32.const 1)))))))
      (local.set $column (i32.add (local.get $column) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $column) (global.get $n))))
    (local.get $ways))
  (func $placed (export "recursive") (param $n i32) (result i32)
    (global.set $n (local.get $n))
    (call $recursive (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0))))
