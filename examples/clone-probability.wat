;; Probabilistic programming by enumeration. The program flips coins by `$flip` and
;; states observations by `$observe`, as if it ran once. The handler runs all
;; possibilities: a copy for each side of a coin, with half of the weight. A run that
;; contradicts an observation has weight zero.
;;
;; Three fair coins are flipped, and at least one shows heads. The probability that all
;; show heads, in thousandths, is one of seven:
;;
;;   $ ropewalk run --invoke exact examples/clone-probability.wat
;;   142
;;
;; The same without copies, by a loop over all outcomes:
;;
;;   $ ropewalk run --invoke loop examples/clone-probability.wat
;;   142
;;
;; The same by sampling: each of many copies of the program flips its coins at random.
;;
;;   $ ropewalk run --invoke sampled examples/clone-probability.wat 20000
;;   140

(module
  (type $model (func (result i32)))
  (type $run (cont $model))
  (type $after-flip (func (param i32) (result i32)))
  (type $flipped (cont $after-flip))
  (tag $flip (result i32))
  (tag $observe (param i32))
  (elem declare func $coins)
  ;; The weights: of all runs that agree with the observations, and of those that return
  ;; one.
  (global $seen (mut f64) (f64.const 0))
  (global $ones (mut f64) (f64.const 0))

  (func $coins (result i32)
    (local $a i32) (local $b i32) (local $c i32)
    (local.set $a (suspend $flip))
    (local.set $b (suspend $flip))
    (local.set $c (suspend $flip))
    (suspend $observe (i32.or (local.get $a) (i32.or (local.get $b) (local.get $c))))
    (i32.and (local.get $a) (i32.and (local.get $b) (local.get $c))))

  (func $ends (param $result i32) (param $weight f64)
    (global.set $seen (f64.add (global.get $seen) (local.get $weight)))
    (if (local.get $result)
      (then (global.set $ones (f64.add (global.get $ones) (local.get $weight))))))
  (func $share (result i32)
    (i32.trunc_f64_u
      (f64.div (f64.mul (global.get $ones) (f64.const 1000)) (global.get $seen))))

  ;; Continues after a flip with this result.
  (func $weigh (param $rest (ref null $flipped)) (param $side i32) (param $weight f64)
    (local $run (ref null $run)) (local $agrees i32)
    (block $flip (result (ref $flipped))
      (block $observe (result i32 (ref $run))
        (call $ends
          (resume $flipped (on $flip $flip) (on $observe $observe)
            (local.get $side) (local.get $rest))
          (local.get $weight))
        (return))
      (local.set $run)
      (local.set $agrees)
      (if (local.get $agrees) (then (call $weigh-run (local.get $run) (local.get $weight))))
      (return))
    (local.set $rest)
    (call $both (local.get $rest) (f64.mul (local.get $weight) (f64.const 0.5))))
  (func $weigh-run (param $run (ref null $run)) (param $weight f64)
    (local $agrees i32)
    (block $flip (result (ref $flipped))
      (block $observe (result i32 (ref $run))
        (call $ends
          (resume $run (on $flip $flip) (on $observe $observe) (local.get $run))
          (local.get $weight))
        (return))
      (local.set $run)
      (local.set $agrees)
      (if (local.get $agrees) (then (call $weigh-run (local.get $run) (local.get $weight))))
      (return))
    (call $both (f64.mul (local.get $weight) (f64.const 0.5))))
  (func $both (param $rest (ref null $flipped)) (param $weight f64)
    (call $weigh (cont.clone $flipped (local.get $rest)) (i32.const 0) (local.get $weight))
    (call $weigh (local.get $rest) (i32.const 1) (local.get $weight)))

  (func $exact (export "exact") (result i32)
    (call $weigh-run (cont.new $run (ref.func $coins)) (f64.const 1))
    (call $share))

  (func $loop (export "loop") (result i32)
    (local $throw i32)
    (loop $next
      (if (local.get $throw)
        (then (call $ends (i32.eq (local.get $throw) (i32.const 7)) (f64.const 0.125))))
      (local.set $throw (i32.add (local.get $throw) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $throw) (i32.const 8))))
    (call $share))

  ;; A pseudorandom number generator.
  (global $chance (mut i64) (i64.const 88172645463325252))
  (func $coin (result i32)
    (local $x i64)
    (local.set $x (global.get $chance))
    (local.set $x (i64.xor (local.get $x) (i64.shl (local.get $x) (i64.const 13))))
    (local.set $x (i64.xor (local.get $x) (i64.shr_u (local.get $x) (i64.const 7))))
    (local.set $x (i64.xor (local.get $x) (i64.shl (local.get $x) (i64.const 17))))
    (global.set $chance (local.get $x))
    (i32.and (i32.wrap_i64 (i64.shr_u (local.get $x) (i64.const 33))) (i32.const 1)))
  ;; One random run.
  (func $sample (param $rest (ref null $flipped))
    (local $run (ref null $run)) (local $agrees i32)
    (loop $next
      (block $flip (result (ref $flipped))
        (block $observe (result i32 (ref $run))
          (call $ends
            (resume $flipped (on $flip $flip) (on $observe $observe)
              (call $coin) (local.get $rest))
            (f64.const 1))
          (return))
        (local.set $run)
        (local.set $agrees)
        (if (local.get $agrees)
          (then (call $ends (resume $run (local.get $run)) (f64.const 1))))
        (return))
      (local.set $rest)
      (br $next)))
  (func (export "sampled") (param $n i32) (result i32)
    (local $first (ref null $flipped))
    (block $flip (result (ref $flipped))
      (drop (resume $run (on $flip $flip) (cont.new $run (ref.func $coins))))
      (unreachable))
    (local.set $first)
    (loop $next
      (call $sample (cont.clone $flipped (local.get $first)))
      (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (call $share)))
