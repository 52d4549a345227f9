;; Lives of fibers: creates n fibers that return at once.
;; `entered` creates and mounts each by the lowered form of fiber.mount_new. `mounted` uses
;; fiber.new and fiber.mount, which sends the number. `called` only calls the function.
;; One operation is one fiber.
(module
  (rec
    (type $fiber (cont $fiber.func))
    (type $fiber.func (func (param (ref null $fiber)))))
  (type $entered (func (param i64 (ref null $fiber)) (result i64)))
  (type $mounted (func (param (ref null $fiber) i64) (result i64)))
  (import "ropewalk:fiber" "new_returning"
    (func $new_entered (param i64 (ref $entered)) (result (ref $fiber))))
  (import "ropewalk:fiber" "new_returning"
    (func $new_mounted (param (ref $mounted)) (result (ref $fiber))))
  (import "ropewalk:fiber" "mount" (func $enter (param (ref null $fiber))))
  (import "ropewalk:fiber" "mount" (func $mount (param i64 (ref null $fiber))))
  (tag $start)
  (tag $begin (param i64))
  (tag $return (param i64))
  (elem declare func $increment_first $increment_last)

  (func $increment_first (type $entered) (i64.add (local.get 0) (i64.const 1)))

  (func $increment_last (type $mounted) (i64.add (local.get 1) (i64.const 1)))

  (func (export "entered") (param $n i64) (result i64)
    (local $new (ref null $fiber))
    (local $sum i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (block $made
          (block $events
            (block $returns (result i64)
              (local.get $n)
              (try_table (param i64) (result (ref $fiber))
                (catch $return $returns) (catch $start $events)
                (ref.func $increment_first) (call $new_entered))
              (local.set $new)
              (br $made))
            (unreachable))
          (unreachable))
        (block $returned (result i64)
          (local.get $new)
          (block $sent (param (ref null $fiber))
            (try_table (param (ref null $fiber))
              (catch $start $sent) (catch $return $returned)
              (call $enter))
            (unreachable))
          (unreachable))
        (local.set $sum (i64.add (local.get $sum)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum))

  (func (export "mounted") (param $n i64) (result i64)
    (local $new (ref null $fiber))
    (local $sum i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (block $made
          (block $events (result i64)
            (block $returns (result i64)
              (try_table (result (ref $fiber))
                (catch $return $returns) (catch $begin $events)
                (ref.func $increment_last) (call $new_mounted))
              (local.set $new)
              (br $made))
            (unreachable))
          (unreachable))
        (block $returned (result i64)
          (local.get $n)
          (local.get $new)
          (block $sent (param i64 (ref null $fiber)) (result i64)
            (try_table (param i64 (ref null $fiber))
              (catch $begin $sent) (catch $return $returned)
              (call $mount))
            (unreachable))
          (unreachable))
        (local.set $sum (i64.add (local.get $sum)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum))

  (func (export "called") (param $n i64) (result i64)
    (local $sum i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $sum
          (i64.add
            (local.get $sum)
            (call $increment_first (local.get $n) (ref.null $fiber))))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum)))
