;; Validation rejects wrong events, routs without an initial `stack.start`, and escaping answers.

;; These definitions are valid and shared by all modules below.
(module
  (import "host" "new_stack" (func $new (result stackref)))
  (event $e (param stackref)) (event $n (param i32)) (event $none)
  (event $ns (param i32 stackref))
  (call_tag $ask (param i32) (result i64)) (call_tag $ping)
  (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
  (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
  (func (stack.switch $e (call $new))))

;; stack.switch: the event's payload ends with the current stack.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.switch $n (i32.const 1) (call $new))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.switch $none (call $new))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.switch $e)))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.switch $ns (call $new))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.switch $ns (call $new) (i32.const 1))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.switch $e (i32.const 1))))
  "type mismatch")

;; stack.switch_drop: the payload does not end with a stack.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.switch_drop $e (call $new))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.switch_drop $n (call $new))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.switch_drop $none)))
  "type mismatch")

;; stack.switch_call: the function takes the stack as its last argument, and its results are the
;; event's payload.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func $h (param i32)) (func (stack.switch_call $h (i32.const 1) (call $new))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func $h (param stackref i32)) (func (stack.switch_call $h (call $new) (i32.const 1))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func $h) (func (stack.switch_call $h (call $new))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.switch_call $g $none (i32.const 1) (call $new))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.switch_call $f $n (call $new))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.switch_call $g $n (call $new))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.switch_call $f)))
  "type mismatch")

;; stack.extend.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (drop (stack.extend $s (call $new)))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (drop (stack.extend $s (i64.const 1) (call $new)))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (drop (stack.extend $s $none (i32.const 1) (call $new)))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (drop (stack.extend $r $n (call $new)))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (drop (stack.extend $r))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.extend $r (call $new))))
  "type mismatch")

;; A rout is not a function, and a function is not a rout.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (drop (stack.extend $f (call $new)))))
  "unknown rout")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (call $r)))
  "unknown func")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (return_call $r)))
  "unknown func")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (drop (ref.func $r))))
  "unknown func")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (elem declare func $r))
  "unknown func")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (export "r" (func $r)))
  "unknown func")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (start $r))
  "unknown func")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.switch_call $r (call $new))))
  "unknown func")

;; stack.start occurs exactly once, at the beginning of a rout.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.start)))
  "stack.start")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (rout $q))
  "stack.start")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (rout $q (i32.const 1) (drop) (stack.start)))
  "stack.start")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (rout $q (nop) (stack.start)))
  "stack.start")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (rout $q (param i32) (if (local.get 0) (then (stack.start)))))
  "stack.start")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (rout $q (block $l (nop) (try (stack.start) catch $none $l))))
  "stack.start")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (rout $q (block $l (try (stack.start) catch $none $l) (unreachable)) (stack.start)))
  "stack.start")

;; A branch back over stack.start.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (rout $q
      (loop $back
        (block $l
          (try (stack.start) catch $none $l)
          (unreachable))
        (br $back))))
  "stack.start")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (rout $q
      (loop $back
        (try (stack.start) catch $none $back))))
  "stack.start")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (rout $q (param i32)
      (loop $back
        (block $l
          (try (stack.start) catch $none $l)
          (unreachable))
        (br_if $back (local.get 0)))))
  "stack.start")

;; stack.redirect.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (local $i i32) (stack.redirect $i)))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (local $s stackref) (stack.redirect $s (i32.const 1))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (local $s stackref) (drop (stack.redirect $s (result i32)))))
  "type mismatch")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (stack.redirect $unknown))")
  "unknown local")

;; stack.redirect_to.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.redirect_to (i32.const 1) then (drop) within)))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.redirect_to then (drop) within)))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.redirect_to (call $new) then within)))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.redirect_to (call $new) then (drop) (i32.const 1) within)))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.redirect_to (call $new) then (drop) within (i32.const 1))))
  "type mismatch")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (stack.redirect_to (call $new) within))")
  "then")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (stack.redirect_to (call $new) then (drop)))")
  "within")

;; answer: its code has the type of the call tag.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (answer $ask within)))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (answer $ask (i64.extend_i32_s) (drop) within)))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (answer $ping (i32.const 1) within)))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (answer $ping within (i32.const 1))))
  "type mismatch")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (answer $ping (nop)))")
  "within")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (answer $unknown within))")
  "unknown call_tag")

;; The code of an answer does not see the labels around it.
(assert_malformed
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (block $l (answer $ping (br $l) within))))
  "unknown label")
(assert_malformed
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (param i32) (block $l (answer $ping (br_if $l (local.get 0)) within))))
  "unknown label")
(assert_malformed
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (block $l (answer $ping (try_table (catch_all $l)) within))))
  "unknown label")

;; The code of an answer must not return.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (answer $ping (return) within)))
  "return")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func $h (answer $ping (return_call $h) within)))
  "return")

;; The same rules hold for both parts of stack.redirect_to.
(assert_malformed
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (block $l (stack.redirect_to (br $l) then (drop) within))))
  "unknown label")
(assert_malformed
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (block $l (stack.redirect_to (call $new) then (drop) (br $l) within))))
  "unknown label")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.redirect_to (return) then (drop) within)))
  "return")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.redirect_to (call $new) then (drop) (return) within)))
  "return")

;; call_stack.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (call_stack $ask (i32.const 1))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (drop (call_stack $ask))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (drop (call_stack $ask (i64.const 1)))))
  "type mismatch")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (call_stack $unknown))")
  "unknown call_tag")

;; A call tag is not an event, and an event is not a call tag.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (throw $ping)))
  "call_tag")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (stack.switch_drop $ping (call $new))))
  "call_tag")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (call_stack $none)))
  "event")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (answer $none within)))
  "event")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (block $l (try catch $ping $l))))
  "call_tag")

;; try: the labels take the event's payload.
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (block $l (try catch $n $l))))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (block $l (result i32) (try catch $none $l) (i32.const 1)) (drop)))
  "type mismatch")
(assert_invalid
  (module
    (import "host" "new_stack" (func $new (result stackref)))
    (event $e (param stackref)) (event $n (param i32)) (event $none)
    (event $ns (param i32 stackref))
    (call_tag $ask (param i32) (result i64)) (call_tag $ping)
    (func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))
    (rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))
    (func (try (i32.const 1))))
  "type mismatch")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (try catch $unknown $l))")
  "unknown tag")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (try catch $none $unknown))")
  "unknown label")

;; Unknown names.
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (stack.switch $unknown (call $new)))")
  "unknown tag")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (stack.switch_call $unknown (call $new)))")
  "unknown func")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (stack.switch_call $f $unknown (call $new)))")
  "unknown tag")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (drop (stack.extend $unknown (call $new))))")
  "unknown rout")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (stack.unknown))")
  "unknown operator")

;; Indices.
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (stack.switch 0 (call $new)))")
  "index")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (call_stack 0))")
  "index")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (drop (stack.extend 0 (call $new))))")
  "index")
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (block (try catch $none 0)))")
  "index")

;; Indices to other items of such a module.
(assert_malformed
  (module quote
    "(import \"host\" \"new_stack\" (func $new (result stackref)))"
    "(event $e (param stackref)) (event $n (param i32)) (event $none)"
    "(event $ns (param i32 stackref))"
    "(call_tag $ask (param i32) (result i64)) (call_tag $ping)"
    "(func $f (param stackref)) (func $g (param i32 stackref) (result i32) (i32.const 0))"
    "(rout $r (stack.start)) (rout $s (param i32) (result i32) (stack.start))"
    "(func (drop (call 0)))")
  "index")
