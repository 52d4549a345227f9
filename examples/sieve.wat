;; The sieve of Eratosthenes: the number of primes below a number. Each number is a
;; byte of memory, which becomes 1 when the number is known to be composite.
;;
;;   $ ropewalk run --invoke primes examples/sieve.wat 100
;;   25
;;   $ ropewalk run --invoke primes examples/sieve.wat 1000000
;;   78498

(module
  (memory 1)

  (func (export "primes") (param $limit i32) (result i32)
    (local $n i32)
    (local $count i32)
    (call $reserve (local.get $limit))
    (local.set $n (i32.const 2))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $n) (local.get $limit)))
        (if (i32.eqz (i32.load8_u (local.get $n)))
          (then
            (local.set $count (i32.add (local.get $count) (i32.const 1)))
            (call $strike (local.get $n) (local.get $limit))))
        (local.set $n (i32.add (local.get $n) (i32.const 1)))
        (br $next)))
    (local.get $count))

  ;; Makes room for this many bytes, all zero.
  (func $reserve (param $size i32)
    (local $pages i32)
    (local.set $pages
      (i32.sub
        (i32.shr_u (i32.add (local.get $size) (i32.const 0xffff)) (i32.const 16))
        (memory.size)))
    (if (i32.gt_s (local.get $pages) (i32.const 0))
      (then
        (if (i32.lt_s (memory.grow (local.get $pages)) (i32.const 0))
          (then (unreachable)))))
    (memory.fill (i32.const 0) (i32.const 0) (local.get $size)))

  ;; Marks the multiples of a prime.
  (func $strike (param $prime i32) (param $limit i32)
    (local $multiple i32)
    (local.set $multiple (i32.shl (local.get $prime) (i32.const 1)))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $multiple) (local.get $limit)))
        (i32.store8 (local.get $multiple) (i32.const 1))
        (local.set $multiple (i32.add (local.get $multiple) (local.get $prime)))
        (br $next)))))
