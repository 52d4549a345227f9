;; Multi-shot choice with typed continuations: the handler resumes a copy of the continuation with
;; 0, and the continuation itself with 1.
(module
  (type $chooses (func (param i64) (result i64)))
  (type $rest (cont $chooses))
  (tag $choose (result i64))

  ;; A number of three chosen bits.
  (func $body (param $number i64) (result i64)
    (local $bits i32)
    (loop $next
      (local.set $number
        (i64.add (i64.mul (local.get $number) (i64.const 2)) (suspend $choose)))
      (local.set $bits (i32.add (local.get $bits) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $bits) (i32.const 3))))
    (local.get $number))
  (elem declare func $body)

  ;; The sum of all numbers.
  (func $explore (param $choice i64) (param $rest (ref null $rest)) (result i64)
    (block $choose (result (ref $rest))
      (return
        (resume $rest (on $choose $choose) (local.get $choice) (local.get $rest))))
    (local.set $rest)
    (i64.add
      (call $explore (i64.const 0) (cont.clone $rest (local.get $rest)))
      (call $explore (i64.const 1) (local.get $rest))))

  (func (export "run") (param $n i64) (result i64)
    (local $sum i64)
    (loop $next
      (if (i64.ne (local.get $n) (i64.const 0))
        (then
          (local.set $sum
            (i64.add (local.get $sum)
              (call $explore (i64.const 0) (cont.new $rest (ref.func $body)))))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (br $next))))
    (local.get $sum)))
