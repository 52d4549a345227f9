;; A sieve of chained generators: a generator counts up from two, followed by a filter for each
;; prime. A filter passes on the numbers that its prime does not divide. run(n) adds up the first n
;; primes.
;; One operation is one prime.
(module
  (type $rest (func))
  (type $paused (cont $rest))
  (type $filter (func (param i64 (ref null $paused))))
  (type $fresh (cont $filter))
  (tag $yield (param i64))
  (elem declare func $count $filter)

  (func $count (type $rest)
    (local $i i64)
    (local.set $i (i64.const 2))
    (loop $next
      (suspend $yield (local.get $i))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))

  (func $filter (type $filter) (param $prime i64) (param $source (ref null $paused))
    (local $number i64)
    (loop $next
      (block $yielded (result i64 (ref $paused))
        (resume $paused (on $yield $yielded) (local.get $source))
        (unreachable))
      (local.set $source)
      (local.set $number)
      (br_if $next (i64.eqz (i64.rem_u (local.get $number) (local.get $prime))))
      (suspend $yield (local.get $number))
      (br $next)))

  (func (export "run") (param $n i64) (result i64)
    (local $source (ref $paused))
    (local $prime i64)
    (local $sum i64)
    (local.set $source (cont.new $paused (ref.func $count)))
    (loop $next
      (block $yielded (result i64 (ref $paused))
        (resume $paused (on $yield $yielded) (local.get $source))
        (unreachable))
      (local.set $source)
      (local.set $prime)
      (local.set $sum (i64.add (local.get $sum) (local.get $prime)))
      (local.set $source
        (cont.bind $fresh $paused
          (local.get $prime)
          (local.get $source)
          (cont.new $fresh (ref.func $filter))))
      (local.set $n (i64.sub (local.get $n) (i64.const 1)))
      (br_if $next (i64.ne (local.get $n) (i64.const 0))))
    (local.get $sum)))
