;; Mounting and dismounting a fiber: the generator of round_trip.wat.
;; In `one`, each side has one clause. In `first` and `fourth`, each has four clauses, and the first
;; or the fourth matches. In `refused`, the fiber has no clause for the event.
;; One operation is one mount and one dismount that carries an i64, and in `refused` one mount that
;; falls through.
(module
  (rec
    (type $fiber (cont $fiber.func))
    (type $fiber.func (func (param (ref null $fiber)))))
  (type $body (func (param (ref null $fiber))))
  (import "ropewalk:fiber" "new" (func $new (param (ref $body)) (result (ref $fiber))))
  (import "ropewalk:fiber" "mount" (func $mount (param (ref null $fiber))))
  (import "ropewalk:fiber" "dismount" (func $dismount (param i64 (ref null $fiber))))
  (tag $next)
  (tag $yield (param i64))
  (tag $other)
  (tag $a)
  (tag $b)
  (tag $c)
  (elem declare func $one $first $fourth)

  (func $one (type $body) (param $self (ref null $fiber))
    (local $i i64)
    (loop $next
      (block $continue
        (local.get $i)
        (local.get $self)
        (block $sent (param i64 (ref null $fiber)) (result i64)
          (try_table (param i64 (ref null $fiber))
            (catch $yield $sent) (catch $next $continue)
            (call $dismount))
          (unreachable))
        (unreachable))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))

  (func $first (type $body) (param $self (ref null $fiber))
    (local $i i64)
    (block $never
      (loop $next
        (block $continue
          (local.get $i)
          (local.get $self)
          (block $sent (param i64 (ref null $fiber)) (result i64)
            (try_table (param i64 (ref null $fiber))
              (catch $yield $sent)
              (catch $next $continue) (catch $a $never) (catch $b $never) (catch $c $never)
              (call $dismount))
            (unreachable))
          (unreachable))
        (local.set $i (i64.add (local.get $i) (i64.const 1)))
        (br $next)))
    (unreachable))

  (func $fourth (type $body) (param $self (ref null $fiber))
    (local $i i64)
    (block $never
      (loop $next
        (block $continue
          (local.get $i)
          (local.get $self)
          (block $sent (param i64 (ref null $fiber)) (result i64)
            (try_table (param i64 (ref null $fiber))
              (catch $yield $sent)
              (catch $a $never) (catch $b $never) (catch $c $never) (catch $next $continue)
              (call $dismount))
            (unreachable))
          (unreachable))
        (local.set $i (i64.add (local.get $i) (i64.const 1)))
        (br $next)))
    (unreachable))

  (func (export "one") (param $n i64) (result i64)
    (local $generator (ref null $fiber))
    (local $sum i64)
    (block $never
      (try_table (result (ref $fiber)) (catch $next $never) (ref.func $one) (call $new))
      (local.set $generator))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (block $yielded (result i64)
          (local.get $generator)
          (block $sent (param (ref null $fiber))
            (try_table (param (ref null $fiber))
              (catch $next $sent) (catch $yield $yielded)
              (call $mount))
            (unreachable))
          (unreachable))
        (local.set $sum (i64.add (local.get $sum)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum))

  (func (export "first") (param $n i64) (result i64)
    (local $generator (ref null $fiber))
    (local $sum i64)
    (block $never
      (try_table (result (ref $fiber)) (catch $next $never) (ref.func $first) (call $new))
      (local.set $generator))
    (block $never
      (block $done
        (loop $next
          (br_if $done (i64.eqz (local.get $n)))
          (block $yielded (result i64)
            (local.get $generator)
            (block $sent (param (ref null $fiber))
              (try_table (param (ref null $fiber))
                (catch $next $sent)
                (catch $yield $yielded) (catch $a $never) (catch $b $never) (catch $c $never)
                (call $mount))
              (unreachable))
            (unreachable))
          (local.set $sum (i64.add (local.get $sum)))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (br $next)))
      (return (local.get $sum)))
    (unreachable))

  (func (export "fourth") (param $n i64) (result i64)
    (local $generator (ref null $fiber))
    (local $sum i64)
    (block $never
      (try_table (result (ref $fiber)) (catch $next $never) (ref.func $fourth) (call $new))
      (local.set $generator))
    (block $never
      (block $done
        (loop $next
          (br_if $done (i64.eqz (local.get $n)))
          (block $yielded (result i64)
            (local.get $generator)
            (block $sent (param (ref null $fiber))
              (try_table (param (ref null $fiber))
                (catch $next $sent)
                (catch $a $never) (catch $b $never) (catch $c $never) (catch $yield $yielded)
                (call $mount))
              (unreachable))
            (unreachable))
          (local.set $sum (i64.add (local.get $sum)))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (br $next)))
      (return (local.get $sum)))
    (unreachable))

  (func (export "refused") (param $n i64) (result i64)
    (local $generator (ref null $fiber))
    (local $i i64)
    (local $sum i64)
    (block $never
      (try_table (result (ref $fiber)) (catch $next $never) (ref.func $one) (call $new))
      (local.set $generator))
    (block $yielded (result i64)
      (local.get $generator)
      (block $sent (param (ref null $fiber))
        (try_table (param (ref null $fiber))
          (catch $next $sent) (catch $yield $yielded)
          (call $mount))
        (unreachable))
      (unreachable))
    (local.set $i)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (block $refused
          (block $yielded (result i64)
            (local.get $generator)
            (block $sent (param (ref null $fiber))
              (try_table (param (ref null $fiber))
                (catch $other $sent) (catch $yield $yielded)
                (call $mount))
              (br $refused))
            (unreachable))
          (unreachable))
        (local.set $sum (i64.add (local.get $sum) (local.get $i)))
        (local.set $i (i64.add (local.get $i) (i64.const 1)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum)))
