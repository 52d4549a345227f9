;; Distant handlers: a generator suspends to a handler several resumes away; the resumes in between
;; have handlers for another tag.
;; One operation is one suspend and one resume.
(module
  (type $generator (func (param i32)))
  (type $fresh (cont $generator))
  (type $rest (func))
  (type $paused (cont $rest))
  (tag $yield (param i64))
  (tag $other (param i64))
  (elem declare func $nested)

  (func $nested (type $generator) (param $between i32)
    (local $i i64)
    (if (i32.eqz (local.get $between))
      (then
        (loop $next
          (suspend $yield (local.get $i))
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (br $next))))
    (block $never (result i64 (ref $paused))
      (resume $fresh (on $other $never)
        (i32.sub (local.get $between) (i32.const 1))
        (cont.new $fresh (ref.func $nested)))
      (unreachable))
    (unreachable))

  (func $times (param $n i64) (param $between i32) (result i64)
    (local $generator (ref $paused))
    (local $sum i64)
    (local.set $generator
      (cont.bind $fresh $paused (local.get $between) (cont.new $fresh (ref.func $nested))))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (block $yielded (result i64 (ref $paused))
          (resume $paused (on $yield $yielded) (local.get $generator))
          (unreachable))
        (local.set $generator)
        (local.set $sum (i64.add (local.get $sum)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum))

  (func (export "the_1st") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 0)))

  (func (export "the_10th") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 9)))

  (func (export "the_100th") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 99))))
