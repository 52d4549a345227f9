;; Calls of the host: run(n) counts to n with a host function.
;; One operation is one call of a typed Rust closure and its return.
(module
  (import "host" "inc" (func $inc (param i64) (result i64)))

  (func (export "run") (param $n i64) (result i64)
    (local $x i64)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $x (call $inc (local.get $x)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $x)))
