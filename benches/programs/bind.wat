;; Binding arguments: each pair of exports does the same work with and without a `cont.bind` before
;; each `resume`.
;; One operation is one continuation that is created, maybe bound, and returns. For `partly` and
;; `resumed`, it is one resume and one suspend.
(module
  (type $box (struct (field i64)))
  (type $unary (func (param i64) (result i64)))
  (type $fresh (cont $unary))
  (type $of_box (func (param (ref $box) i64) (result i64)))
  (type $fresh_of_box (cont $of_box))
  (type $none (func (result i64)))
  (type $ready (cont $none))
  (type $pair (func (param i64 i64) (result i64)))
  (type $of_pair (cont $pair))
  (tag $more (param i64) (result i64 i64))
  (elem declare func $increment $unbox $add)

  (func $increment (type $unary) (i64.add (local.get 0) (i64.const 1)))

  (func $unbox (type $of_box) (i64.add (struct.get $box 0 (local.get 0)) (local.get 1)))

  (func $add (type $pair)
    (local.get 0)
    (local.get 1)
    (loop $next (param i64 i64) (result i64)
      (suspend $more (i64.add))
      (br $next)))

  (func (export "plain") (param $n i64) (result i64)
    (local $sum i64)
    (loop $next
      (local.set $sum (i64.add (local.get $sum)
        (resume $fresh (local.get $n) (cont.new $fresh (ref.func $increment)))))
      (br_if $next (i64.ne (i64.const 0)
        (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $sum))

  (func (export "bound") (param $n i64) (result i64)
    (local $sum i64)
    (loop $next
      (local.set $sum (i64.add (local.get $sum)
        (resume $ready
          (cont.bind $fresh $ready (local.get $n) (cont.new $fresh (ref.func $increment))))))
      (br_if $next (i64.ne (i64.const 0)
        (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $sum))

  (func (export "plain_references") (param $n i64) (result i64)
    (local $sum i64) (local $box (ref $box))
    (local.set $box (struct.new $box (i64.const 1)))
    (loop $next
      (local.set $sum (i64.add (local.get $sum)
        (resume $fresh_of_box (local.get $box) (local.get $n)
          (cont.new $fresh_of_box (ref.func $unbox)))))
      (br_if $next (i64.ne (i64.const 0)
        (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $sum))

  (func (export "bound_references") (param $n i64) (result i64)
    (local $sum i64) (local $box (ref $box))
    (local.set $box (struct.new $box (i64.const 1)))
    (loop $next
      (local.set $sum (i64.add (local.get $sum)
        (resume $fresh (local.get $n)
          (cont.bind $fresh_of_box $fresh (local.get $box)
            (cont.new $fresh_of_box (ref.func $unbox))))))
      (br_if $next (i64.ne (i64.const 0)
        (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $sum))

  (func (export "resumed") (param $n i64) (result i64)
    (local $sum i64) (local $paused (ref $of_pair))
    (local.set $paused (cont.new $of_pair (ref.func $add)))
    (loop $next
      (block $asks (result i64 (ref $of_pair))
        (return (resume $of_pair (on $more $asks)
          (local.get $sum) (local.get $n) (local.get $paused))))
      (local.set $paused)
      (local.set $sum)
      (br_if $next (i64.ne (i64.const 0)
        (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $sum))

  (func (export "partly") (param $n i64) (result i64)
    (local $sum i64) (local $paused (ref $of_pair))
    (local.set $paused (cont.new $of_pair (ref.func $add)))
    (loop $next
      (block $asks (result i64 (ref $of_pair))
        (return (resume $fresh (on $more $asks) (local.get $n)
          (cont.bind $of_pair $fresh (local.get $sum) (local.get $paused)))))
      (local.set $paused)
      (local.set $sum)
      (br_if $next (i64.ne (i64.const 0)
        (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $sum)))
