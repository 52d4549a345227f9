;; A pipeline of generators: the first yields 2, 3, 4 and so on. For each prime at
;; the end of the pipeline, a filter is added that drops its multiples. The n-th
;; prime has passed n - 1 filters, each on its own stack.
;;
;;   $ ropewalk run --invoke prime examples/continuations-primes.wat 1
;;   2
;;   $ ropewalk run --invoke prime examples/continuations-primes.wat 300
;;   1987

(module
  (type $generator (func))
  (type $pipe (cont $generator))
  (type $filter (func (param i32 (ref $pipe))))
  (type $new-filter (cont $filter))
  (tag $yield (param i32))
  (elem declare func $numbers $filter)

  (func $numbers
    (local $n i32)
    (local.set $n (i32.const 2))
    (loop $next
      (suspend $yield (local.get $n))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br $next)))

  ;; Passes on the values of a pipeline, without the multiples of a prime.
  (func $filter (param $prime i32) (param $pipe (ref $pipe))
    (local $n i32)
    (loop $next
      (block $yielded (result i32 (ref $pipe))
        (resume $pipe (on $yield $yielded) (local.get $pipe))
        (return))
      (local.set $pipe)
      (local.set $n)
      (br_if $next (i32.eqz (i32.rem_u (local.get $n) (local.get $prime))))
      (suspend $yield (local.get $n))
      (br $next)))

  (func (export "prime") (param $count i32) (result i32)
    (local $pipe (ref $pipe))
    (local $prime i32)
    (local.set $pipe (cont.new $pipe (ref.func $numbers)))
    (loop $next
      (block $yielded (result i32 (ref $pipe))
        (resume $pipe (on $yield $yielded) (local.get $pipe))
        (unreachable))
      (local.set $pipe)
      (local.set $prime)
      (local.set $pipe
        (cont.bind $new-filter $pipe (local.get $prime) (local.get $pipe)
          (cont.new $new-filter (ref.func $filter))))
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (br_if $next (local.get $count)))
    (local.get $prime)))
