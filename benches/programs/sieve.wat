;; Byte accesses with strides: run(n) counts the primes below 2^18 with the sieve of Eratosthenes n
;; times, and adds up the counts.
;; One operation is one sieve.
(module
  (memory 4)

  (func $clear
    (memory.fill (i32.const 0) (i32.const 0) (i32.const 262144)))

  (func $cross_out (param $multiple i32) (param $prime i32)
    (loop $next
      (i32.store8 (local.get $multiple) (i32.const 1))
      (local.set $multiple (i32.add (local.get $multiple) (local.get $prime)))
      (br_if $next (i32.lt_u (local.get $multiple) (i32.const 262144)))))

  (func $sieve (result i64)
    (local $candidate i32)
    (local $count i64)
    (call $clear)
    (local.set $candidate (i32.const 2))
    (loop $next
      (if (i32.eqz (i32.load8_u (local.get $candidate)))
        (then
          (local.set $count (i64.add (local.get $count) (i64.const 1)))
          ;; Below 2^9 the square is below 2^18.
          (if (i32.lt_u (local.get $candidate) (i32.const 512))
            (then
              (call $cross_out
                (i32.mul (local.get $candidate) (local.get $candidate))
                (local.get $candidate))))))
      (local.set $candidate (i32.add (local.get $candidate) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $candidate) (i32.const 262144))))
    (local.get $count))

  (func (export "run") (param $n i64) (result i64)
    (local $total i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $total (i64.add (local.get $total) (call $sieve)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $total)))
