;; A function with two results: quotient and remainder.
;;
;;   $ ropewalk run --invoke divide examples/divide.wat 17 5
;;   3
;;   2
;;   $ ropewalk run --invoke divide examples/divide.wat -17 5
;;   -3
;;   -2
;;
;; A block can have parameters and several results as well: the greatest common
;; divisor, by a loop with two of each.
;;
;;   $ ropewalk run --invoke gcd examples/divide.wat 1071 462
;;   21

(module
  (func $divide (export "divide") (param $a i32) (param $b i32) (result i32 i32)
    (i32.div_s (local.get $a) (local.get $b))
    (i32.rem_s (local.get $a) (local.get $b)))

  (func (export "gcd") (param $a i32) (param $b i32) (result i32)
    (local $remainder i32)
    local.get $a
    local.get $b
    loop $next (param i32 i32) (result i32 i32)
      local.tee $b
      call $divide
      local.set $remainder
      drop
      local.get $b
      local.get $remainder
      local.get $remainder
      br_if $next
    end
    drop))
