;; Two handlers of requests. They call the host as if its functions blocked.
;;
;; A handler receives the path after its name in the request's memory block of 4 KiB. It replaces
;; the path by the body, and returns the length.
(module
  (import "http" "sleep" (func $sleep (param $milliseconds i32)))
  ;; Requests the path at an address, and replaces it by the body, which must fit into the block.
  ;; Returns the length of the body.
  (import "http" "get" (func $get (param $at i32) (param $length i32) (param $room i32)
    (result i32)))
  (memory (export "memory") 1)
  (data $waited "waited ")
  (data $milliseconds " ms\n")
  (data $wait "/native/wait/")

  ;; `wait/250`: waits 250 milliseconds.
  (func (export "wait") (param $at i32) (param $length i32) (result i32)
    (call $sleep (call $number (local.get $at) (local.get $length)))
    (memory.copy (i32.add (local.get $at) (i32.const 7)) (local.get $at) (local.get $length))
    (memory.init $waited (local.get $at) (i32.const 0) (i32.const 7))
    (memory.init $milliseconds
      (i32.add (i32.add (local.get $at) (i32.const 7)) (local.get $length))
      (i32.const 0) (i32.const 4))
    (i32.add (local.get $length) (i32.const 11)))

  ;; `page/250`: a page of three parts, each from another request that waits 250 milliseconds.
  (func (export "page") (param $at i32) (param $length i32) (result i32)
    (local $part i32) (local $parts i32) (local $end i32) (local $received i32)
    ;; The argument is kept in the second half of the block.
    (local.set $part (i32.add (local.get $at) (i32.const 2048)))
    (memory.copy (local.get $part) (local.get $at) (local.get $length))
    (local.set $end (local.get $at))
    (loop $more
      (memory.init $wait (local.get $end) (i32.const 0) (i32.const 13))
      (memory.copy (i32.add (local.get $end) (i32.const 13)) (local.get $part)
        (local.get $length))
      (local.set $received
        (call $get (local.get $end) (i32.add (local.get $length) (i32.const 13))
          (i32.const 600)))
      (local.set $end (i32.add (local.get $end) (local.get $received)))
      (local.set $parts (i32.add (local.get $parts) (i32.const 1)))
      (br_if $more (i32.lt_u (local.get $parts) (i32.const 3))))
    (i32.sub (local.get $end) (local.get $at)))

  ;; Parses a number.
  (func $number (param $at i32) (param $length i32) (result i32) (local $number i32)
    (block $done
      (loop $more
        (br_if $done (i32.eqz (local.get $length)))
        (local.set $number
          (i32.add (i32.mul (local.get $number) (i32.const 10))
            (i32.sub (i32.load8_u (local.get $at)) (i32.const 48))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $length (i32.sub (local.get $length) (i32.const 1)))
        (br $more)))
    (local.get $number)))
