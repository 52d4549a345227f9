;; An order, from its receipt to its delivery: plain code that sleeps, sends requests and asks
;; questions as if these calls returned immediately. It is unaware of processes and snapshots.

(module
  (import "durable" "sleep" (func $sleep (param $milliseconds i64)))
  (import "durable" "http" (func $http (param $at i32) (param $length i32) (result i32)))
  (import "durable" "approve" (func $approve (param $at i32) (param $length i32) (result i32)))
  (import "durable" "log" (func $log (param $at i32) (param $length i32)))
  (memory (export "memory") 1)
  (data (i32.const 0x000) "received")
  (data (i32.const 0x010) "reserve")
  (data (i32.const 0x020) "charge")
  (data (i32.const 0x030) "ship")
  (data (i32.const 0x040) "refund")
  (data (i32.const 0x050) "sold out")
  (data (i32.const 0x060) "refused")
  (data (i32.const 0x070) "shipped")

  ;; A message is a word, the number of the order, and another number. It is stored at $message.
  (global $message i32 (i32.const 0x1000))
  ;; The total charged so far. It is in memory, to show that snapshots contain it.
  (global $charged i32 (i32.const 0x2000))

  ;; Returns 0 if the order was shipped, 1 if it was sold out, and 2 if it was not approved.
  (func (export "run") (param $order i64) (result i32)
    (local $part i64)
    (call $log (call $write (i32.const 0x000) (i32.const 8) (local.get $order) (i64.const 0)))
    (if (i32.ne (i32.const 200)
          (call $http (call $write (i32.const 0x010) (i32.const 7) (local.get $order) (i64.const 0))))
      (then
        (call $log (call $write (i32.const 0x050) (i32.const 8) (local.get $order) (i64.const 0)))
        (return (i32.const 1))))
    ;; It is paid in three parts, with delays.
    (loop $parts
      (local.set $part (i64.add (local.get $part) (i64.const 1)))
      (call $sleep (i64.mul (local.get $part) (i64.const 5)))
      (i32.store (global.get $charged)
        (i32.add (i32.load (global.get $charged))
          (call $http
            (call $write (i32.const 0x020) (i32.const 6) (local.get $order) (local.get $part)))))
      (br_if $parts (i64.lt_s (local.get $part) (i64.const 3))))
    (if (i32.eqz
          (call $approve (call $write (i32.const 0x030) (i32.const 4) (local.get $order)
            (i64.extend_i32_u (i32.load (global.get $charged))))))
      (then
        (drop (call $http (call $write (i32.const 0x040) (i32.const 6) (local.get $order)
          (i64.extend_i32_u (i32.load (global.get $charged))))))
        (call $log (call $write (i32.const 0x060) (i32.const 7) (local.get $order) (i64.const 0)))
        (return (i32.const 2))))
    (call $sleep (i64.const 10))
    (call $log (call $write (i32.const 0x070) (i32.const 7) (local.get $order)
      (i64.extend_i32_u (i32.load (global.get $charged)))))
    (i32.const 0))

  ;; Writes a message; returns its address and length.
  (func $write (param $word i32) (param $length i32) (param $a i64) (param $b i64)
    (result i32 i32)
    (local $to i32)
    (memory.copy (global.get $message) (local.get $word) (local.get $length))
    (local.set $to (i32.add (global.get $message) (local.get $length)))
    (local.set $to (call $decimal (local.get $to) (local.get $a)))
    (local.set $to (call $decimal (local.get $to) (local.get $b)))
    (global.get $message)
    (i32.sub (local.get $to) (global.get $message)))

  ;; Writes a space and a number; returns the end address.
  (func $decimal (param $to i32) (param $number i64) (result i32)
    (local $end i32) (local $rest i64)
    (i32.store8 (local.get $to) (i32.const 32))
    (local.set $end (i32.add (local.get $to) (i32.const 1)))
    (local.set $rest (local.get $number))
    (loop $digits
      (local.set $end (i32.add (local.get $end) (i32.const 1)))
      (local.set $rest (i64.div_u (local.get $rest) (i64.const 10)))
      (br_if $digits (i64.ne (local.get $rest) (i64.const 0))))
    (local.set $to (local.get $end))
    (loop $digits
      (local.set $to (i32.sub (local.get $to) (i32.const 1)))
      (i32.store8 (local.get $to)
        (i32.add (i32.const 48) (i32.wrap_i64 (i64.rem_u (local.get $number) (i64.const 10)))))
      (local.set $number (i64.div_u (local.get $number) (i64.const 10)))
      (br_if $digits (i64.ne (local.get $number) (i64.const 0))))
    (local.get $end)))
