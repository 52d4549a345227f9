;; Indirect calls: run(n) passes a value through n calls through a table of eight functions.
;; The calls take the functions in turn, so the branch predictor learns them. The remaining cost is
;; that of the bounds, null and signature checks.
;; One operation is one call.
(module
  (type $unary (func (param i64) (result i64)))
  (table funcref
    (elem $increment $rotate $scramble $invert $shift $multiply $subtract $fold))

  (func $increment (type $unary) (i64.add (local.get 0) (i64.const 1)))
  (func $rotate (type $unary) (i64.rotl (local.get 0) (i64.const 13)))
  (func $scramble (type $unary) (i64.xor (local.get 0) (i64.const 0x5bd1e995)))
  (func $invert (type $unary) (i64.xor (local.get 0) (i64.const -1)))
  (func $shift (type $unary) (i64.xor (local.get 0) (i64.shr_u (local.get 0) (i64.const 3))))
  (func $multiply (type $unary) (i64.mul (local.get 0) (i64.const 25)))
  (func $subtract (type $unary) (i64.sub (local.get 0) (i64.const 977)))
  (func $fold (type $unary) (i64.add (local.get 0) (i64.shl (local.get 0) (i64.const 5))))

  (func (export "run") (param $n i64) (result i64)
    (local $x i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (local.set $x
          (call_indirect (type $unary)
            (local.get $x)
            (i32.and (i32.wrap_i64 (local.get $n)) (i32.const 7))))
        (br $next)))
    (local.get $x)))
