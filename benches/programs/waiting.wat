;; One operation is a call of a host function: `sync` is synchronous, the future of `ready` is ready
;; at once, and that of `waits` on its second poll.
(module
  (import "host" "sync" (func $sync (param i64) (result i64)))
  (import "host" "ready" (func $ready (param i64) (result i64)))
  (import "host" "waits" (func $waits (param i64) (result i64)))

  (func (export "identity") (param i64) (result i64)
    (local.get 0))

  (func (export "sync") (param $n i64) (result i64) (local $sum i64)
    (loop $more
      (local.set $sum (i64.add (local.get $sum) (call $sync (local.get $n))))
      (br_if $more (i64.ne (i64.const 0)
        (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $sum))

  (func (export "ready") (param $n i64) (result i64) (local $sum i64)
    (loop $more
      (local.set $sum (i64.add (local.get $sum) (call $ready (local.get $n))))
      (br_if $more (i64.ne (i64.const 0)
        (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $sum))

  (func (export "waits") (param $n i64) (result i64) (local $sum i64)
    (loop $more
      (local.set $sum (i64.add (local.get $sum) (call $waits (local.get $n))))
      (br_if $more (i64.ne (i64.const 0)
        (local.tee $n (i64.sub (local.get $n) (i64.const 1))))))
    (local.get $sum)))
