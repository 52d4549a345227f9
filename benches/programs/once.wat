;; Loops of switches, with and without one uncommon event before them. A past event must not slow
;; down later switches.
;; One operation is a round trip.
(module
  (type $body (func))
  (type $k (cont $body))
  (type $start (func (param i32)))
  (type $ks (cont $start))
  (type $ft (func (param i64)))
  (type $kf (cont $ft))
  (tag $yield (param i64))
  (tag $far)
  (tag $e)
  (elem declare func $gen $outer)
  (global $n (mut i64) (i64.const 0))
  (global $sum (mut i64) (i64.const 0))
  (global $once (mut i32) (i32.const 0))

  ;; Yields forever. Depending on $once, it is first suspended together with its parent, or resumed
  ;; with an exception.
  (func $gen (param $once i32)
    (local $i i64)
    (if (i32.eq (local.get $once) (i32.const 1)) (then (suspend $far)))
    (if (i32.eq (local.get $once) (i32.const 2))
      (then
        (block $caught
          (try_table (catch $e $caught) (suspend $yield (i64.const 0)))
          (unreachable))))
    (loop $next
      (suspend $yield (local.get $i))
      (local.set $i (i64.add (local.get $i) (i64.const 1)))
      (br $next)))

  ;; Resumes a generator repeatedly.
  (func $outer
    (local $k (ref null $k))
    (local $n i64)
    (local $sum i64)
    (local.set $n (global.get $n))
    (block $on (result i64 (ref $k))
      (resume $ks (on $yield $on) (global.get $once) (cont.new $ks (ref.func $gen)))
      (unreachable))
    (local.set $k)
    (drop)
    (if (i32.eq (global.get $once) (i32.const 2))
      (then
        (block $on (result i64 (ref $k))
          (resume_throw $k $e (on $yield $on) (local.get $k))
          (unreachable))
        (local.set $k)
        (drop)))
    (loop $next
      (block $on (result i64 (ref $k))
        (resume $k (on $yield $on) (local.get $k))
        (unreachable))
      (local.set $k)
      (local.set $sum (i64.add (local.get $sum)))
      (br_if $next (i64.ne (i64.const 0) (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (global.set $sum (local.get $sum)))

  (func $run (param $n i64) (param $once i32) (result i64)
    (local $k (ref null $k))
    (global.set $n (local.get $n))
    (global.set $once (local.get $once))
    (local.set $k (cont.new $k (ref.func $outer)))
    (block $end
      (loop $again
        (block $far (result (ref $k))
          (resume $k (on $far $far) (local.get $k))
          (br $end))
        (local.set $k)
        (br $again)))
    (global.get $sum))

  (func (export "plain") (param $n i64) (result i64) (call $run (local.get $n) (i32.const 0)))
  (func (export "suspended_with_others") (param $n i64) (result i64)
    (call $run (local.get $n) (i32.const 1)))
  (func (export "thrown_into") (param $n i64) (result i64)
    (call $run (local.get $n) (i32.const 2))))
