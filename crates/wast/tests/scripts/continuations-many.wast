;; 100,000 continuations one after another, and 10,000 at once, exhaust neither memory nor stacks.
;; They return, are suspended, are abandoned new or suspended, or end by an exception.

(module
  (type $f (func))
  (type $k (cont $f))
  (type $s (struct (field i32)))
  (tag $yield)
  (tag $x)
  (elem declare func $counts $yields $chain)
  (global $count (mut i32) (i32.const 0))
  (func (export "count") (result i32) (global.get $count) (global.set $count (i32.const 0)))
  (func $counts (global.set $count (i32.add (global.get $count) (i32.const 1))))
  (func $yields (call $counts) (suspend $yield) (call $counts))

  (func $suspended (result (ref $k))
    (block $h (result (ref $k))
      (resume $k (on $yield $h) (cont.new $k (ref.func $yields)))
      (unreachable)))

  (func (export "finished") (param $n i32)
    (loop $next
      (resume $k (cont.new $k (ref.func $counts)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func (export "suspended once") (param $n i32)
    (loop $next
      (resume $k (call $suspended))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func (export "abandoned new") (param $n i32)
    (loop $next
      (drop (cont.new $k (ref.func $counts)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func (export "abandoned suspended") (param $n i32)
    (loop $next
      (drop (call $suspended))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))
  (func (export "thrown at") (param $n i32)
    (loop $next
      (block $h
        (try_table (catch $x $h) (resume_throw $k $x (call $suspended)))
        (unreachable))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))

  ;; Chains of three stacks are abandoned as a whole.
  (tag $out)
  (type $n (func (param i32)))
  (type $kn (cont $n))
  (func $chain (param i32)
    (if (local.get 0)
      (then (resume $kn (i32.sub (local.get 0) (i32.const 1)) (cont.new $kn (ref.func $chain))))
      (else (suspend $out))))
  (func (export "abandoned chains") (param $n i32)
    (loop $next
      (block $h (result (ref $k))
        (resume $kn (on $out $h) (i32.const 2) (cont.new $kn (ref.func $chain)))
        (unreachable))
      (drop)
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n))))

  ;; All continuations are live at the same time.
  (table $t 10000 (ref null $k))
  (func (export "at a time") (param $n i32)
    (local $i i32)
    (loop $next
      (table.set $t (local.get $i) (call $suspended))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $n))))
    (local.set $i (i32.const 0))
    (loop $next
      (resume $k (table.get $t (local.get $i)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $n))))))

(assert_return (invoke "finished" (i32.const 100000)))
(assert_return (invoke "count") (i32.const 100000))
(assert_return (invoke "suspended once" (i32.const 100000)))
(assert_return (invoke "count") (i32.const 200000))
(assert_return (invoke "abandoned new" (i32.const 100000)))
(assert_return (invoke "count") (i32.const 0))
(assert_return (invoke "abandoned suspended" (i32.const 100000)))
(assert_return (invoke "count") (i32.const 100000))
(assert_return (invoke "thrown at" (i32.const 2000)))
(assert_return (invoke "count") (i32.const 2000))
(assert_return (invoke "abandoned chains" (i32.const 30000)))
(assert_return (invoke "at a time" (i32.const 10000)))
(assert_return (invoke "count") (i32.const 20000))
