;; Dismounts a fiber from inside nested resumes, and mounts it: the chain up to the fiber is
;; suspended as one.
;; One operation is one mount and one dismount that carries an i64.
(module
  (rec
    (type $fiber (cont $fiber.func))
    (type $fiber.func (func (param (ref null $fiber)))))
  (type $begin (func (param i32 (ref null $fiber))))
  (type $body (func (param i32)))
  (type $nested (cont $body))
  (import "ropewalk:fiber" "new" (func $new (param i32 (ref $begin)) (result (ref $fiber))))
  (import "ropewalk:fiber" "mount" (func $mount (param (ref null $fiber))))
  (import "ropewalk:fiber" "dismount" (func $dismount (param i64 (ref null $fiber))))
  (tag $next)
  (tag $yield (param i64))
  (global $self (mut (ref null $fiber)) (ref.null $fiber))
  (elem declare func $inside $count)

  ;; Does the work inside of nested resumes.
  (func $inside (type $body) (param $depth i32)
    (if (i32.eqz (local.get $depth)) (then (return_call $work)))
    (resume $nested
      (i32.sub (local.get $depth) (i32.const 1))
      (cont.new $nested (ref.func $inside))))

  (func $count (type $begin) (param $depth i32) (param $self (ref null $fiber))
    (global.set $self (local.get $self))
    (call $inside (local.get $depth))
    (unreachable))

  (func $work
    (local $i i64)
    (local $self (ref null $fiber))
    (local.set $self (global.get $self))
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

  (func $times (param $n i64) (param $depth i32) (result i64)
    (local $generator (ref null $fiber))
    (local $sum i64)
    (block $never
      (local.get $depth)
      (try_table (param i32) (result (ref $fiber)) (catch $next $never)
        (ref.func $count) (call $new))
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

  (func (export "depth_0") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 0)))

  (func (export "depth_1") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 1)))

  (func (export "depth_10") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 10)))

  (func (export "depth_100") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 100)))

  (func (export "depth_1000") (param $n i64) (result i64)
    (call $times (local.get $n) (i32.const 1000))))
