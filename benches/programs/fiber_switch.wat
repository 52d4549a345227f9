;; Switching between fibers: the players of symmetric.wat. Each has the other's reference from the
;; start, and the one that reaches zero returns.
;; One operation is one fiber.switch.
(module
  (rec
    (type $fiber (cont $fiber.func))
    (type $fiber.func (func (param (ref null $fiber)))))
  (type $first (func (param (ref null $fiber) i64 i64 (ref null $fiber)) (result i64)))
  (type $second (func (param (ref null $fiber) (ref null $fiber) i64 i64) (result i64)))
  (import "ropewalk:fiber" "new_returning"
    (func $new_first (param (ref $first)) (result (ref $fiber))))
  (import "ropewalk:fiber" "new_returning"
    (func $new_second (param (ref null $fiber) (ref $second)) (result (ref $fiber))))
  (import "ropewalk:fiber" "mount"
    (func $mount (param i64 i64 (ref null $fiber) (ref null $fiber))))
  (import "ropewalk:fiber" "switch"
    (func $switch (param i64 i64 (ref null $fiber) (ref null $fiber))))
  (tag $begin (param i64 i64 (ref null $fiber)))
  (tag $pass (param i64 i64))
  (tag $done (param i64))
  (elem declare func $begin $second)

  (func $begin (type $first)
    (param $self (ref null $fiber)) (param $n i64) (param $mixed i64) (param $other (ref null $fiber))
    (result i64)
    (return_call $play
      (local.get $self) (local.get $other) (local.get $n) (local.get $mixed)))

  (func $second (type $second)
    (param $other (ref null $fiber)) (param $self (ref null $fiber)) (param $n i64) (param $mixed i64)
    (result i64)
    (return_call $play
      (local.get $self) (local.get $other) (local.get $n) (local.get $mixed)))

  (func $play
    (param $self (ref null $fiber)) (param $other (ref null $fiber)) (param $n i64) (param $mixed i64)
    (result i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (block $passed (result i64 i64)
          (i64.sub (local.get $n) (i64.const 1))
          (i64.add (i64.rotl (local.get $mixed) (i64.const 1)) (local.get $n))
          (local.get $self)
          (local.get $other)
          (block $sent
            (param i64 i64 (ref null $fiber) (ref null $fiber)) (result i64 i64)
            (try_table (param i64 i64 (ref null $fiber) (ref null $fiber))
              (catch $pass $sent) (catch $pass $passed)
              (call $switch))
            (unreachable))
          (unreachable))
        (local.set $mixed)
        (local.set $n)
        (br $next)))
    (local.get $mixed))

  (func (export "run") (param $n i64) (result i64)
    (local $first (ref null $fiber))
    (block $never
      (block $events (result i64 i64 (ref null $fiber))
        (block $returns (result i64)
          (try_table (result (ref $fiber))
            (catch $done $returns) (catch $begin $events)
            (ref.func $begin) (call $new_first))
          (local.set $first)
          (br $never))
        (unreachable))
      (unreachable))
    (block $done (result i64)
      (local.get $n)
      (i64.const 1)
      (block $new (result (ref $fiber))
        (block $events (result i64 i64)
          (block $returns (result i64)
            (local.get $first)
            (try_table (param (ref null $fiber)) (result (ref $fiber))
              (catch $done $returns) (catch $pass $events)
              (ref.func $second) (call $new_second))
            (br $new))
          (unreachable))
        (unreachable))
      (local.get $first)
      (block $sent
        (param i64 i64 (ref null $fiber) (ref null $fiber)) (result i64 i64 (ref null $fiber))
        (try_table (param i64 i64 (ref null $fiber) (ref null $fiber))
          (catch $begin $sent) (catch $done $done)
          (call $mount))
        (unreachable))
      (unreachable))))
