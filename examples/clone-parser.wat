;; A parser for an ambiguous grammar: `s = s s | 'a'` divides a row of letters into
;; pairs in several ways. The parser is written for a single reading. It suspends with
;; `$divide` to ask where to divide a row, and the handler resumes a copy for each place.
;; The results are all readings.
;;
;; A row of 2, 4 and 8 letters (the Catalan numbers):
;;
;;   $ ropewalk run --invoke readings examples/clone-parser.wat 2
;;   1
;;   $ ropewalk run --invoke readings examples/clone-parser.wat 4
;;   5
;;   $ ropewalk run --invoke readings examples/clone-parser.wat 8
;;   429
;;
;; The depth of the deepest tree among all readings:
;;
;;   $ ropewalk run --invoke deepest examples/clone-parser.wat 8
;;   7
;;
;; The readings without copies, by counting the readings of each part:
;;
;;   $ ropewalk run --invoke counted examples/clone-parser.wat 8
;;   429

(module
  (type $parse (func (result i32)))
  (type $begin (cont $parse))
  (type $divided (func (param i32) (result i32)))
  (type $rest (cont $divided))
  ;; Returns where to divide a row, among this many places.
  (tag $divide (param i32) (result i32))
  (global $letters (mut i32) (i32.const 0))
  (global $readings (mut i32) (i32.const 0))
  (global $deepest (mut i32) (i32.const 0))
  (elem declare func $parse)

  ;; A reading of this many letters; returns the depth of its tree.
  (func $row (param $letters i32) (result i32)
    (local $first i32) (local $a i32) (local $b i32)
    (if (i32.eq (local.get $letters) (i32.const 1)) (then (return (i32.const 0))))
    (local.set $first
      (i32.add (suspend $divide (i32.sub (local.get $letters) (i32.const 1))) (i32.const 1)))
    (local.set $a (call $row (local.get $first)))
    (local.set $b (call $row (i32.sub (local.get $letters) (local.get $first))))
    (i32.add (i32.const 1)
      (select (local.get $a) (local.get $b) (i32.gt_u (local.get $a) (local.get $b)))))
  (func $parse (result i32) (call $row (global.get $letters)))

  (func $read (param $deep i32)
    (global.set $readings (i32.add (global.get $readings) (i32.const 1)))
    (if (i32.gt_u (local.get $deep) (global.get $deepest))
      (then (global.set $deepest (local.get $deep)))))
  (func $each (param $places i32) (param $rest (ref null $rest))
    (loop $next
      (local.set $places (i32.sub (local.get $places) (i32.const 1)))
      ;; The last place needs no copy.
      (if (local.get $places)
        (then
          (call $continue (local.get $places) (cont.clone $rest (local.get $rest)))
          (br $next))))
    (call $continue (i32.const 0) (local.get $rest)))
  (func $continue (param $place i32) (param $rest (ref null $rest))
    (block $divide (result i32 (ref $rest))
      (call $read
        (resume $rest (on $divide $divide) (local.get $place) (local.get $rest)))
      (return))
    (call $each))
  (func $all (param $letters i32)
    (global.set $letters (local.get $letters))
    (global.set $readings (i32.const 0))
    (global.set $deepest (i32.const 0))
    (block $divide (result i32 (ref $rest))
      (call $read (resume $begin (on $divide $divide) (cont.new $begin (ref.func $parse))))
      (return))
    (call $each))
  (func $readings (export "readings") (param i32) (result i32)
    (call $all (local.get 0))
    (global.get $readings))
  (func (export "deepest") (param i32) (result i32)
    (call $all (local.get 0))
    (global.get $deepest))

  (func $counted (export "counted") (param $letters i32) (result i32)
    (local $first i32) (local $sum i32)
    (if (i32.eq (local.get $letters) (i32.const 1)) (then (return (i32.const 1))))
    (loop $next
      (local.set $first (i32.add (local.get $first) (i32.const 1)))
      (if (i32.lt_u (local.get $first) (local.get $letters))
        (then
          (local.set $sum
            (i32.add (local.get $sum)
              (i32.mul
                (call $counted (local.get $first))
                (call $counted (i32.sub (local.get $letters) (local.get $first))))))
          (br $next))))
    (local.get $sum)))
