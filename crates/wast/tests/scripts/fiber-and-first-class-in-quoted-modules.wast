;; Quoted modules and module definitions may use the designs.

(module quote
  "(tag $e)"
  "(tag $done (param i32))"
  "(func $body (param $self fiberref) (result i32) (i32.const 5))"
  "(func (export \"run\") (result i32)"
  "  (block $l (result i32)"
  "    (fiber.mount $e (on $done $l) (fiber.new $done (on $e $body)))"
  "    (unreachable)))")
(assert_return (invoke "run") (i32.const 5))

(module quote
  "(import \"host\" \"new_stack\" (func $new (result stackref)))"
  "(event $done (param i32))"
  "(func $body (param $main stackref)"
  "  (stack.switch_drop $done (i32.const 6) (local.get_clear $main)))"
  "(func (export \"run\") (result i32)"
  "  (block $l (result i32)"
  "    (try (stack.switch_call $body (call $new)) catch $done $l)"
  "    (unreachable)))")
(assert_return (invoke "run") (i32.const 6))

(assert_malformed
  (module quote "(tag $e) (func (fiber.mount $unknown (fiber.new)))")
  "unknown tag")
(assert_malformed
  (module quote "(event $e) (func (stack.switch_drop $e")
  "unexpected end")
(assert_invalid
  (module quote "(tag $e) (func (fiber.mount $e))")
  "type mismatch")
(assert_invalid
  (module quote "(func (param $s stackref) (drop (local.get $s)))")
  "linear")

(module definition $counter
  (tag $go)
  (tag $give (param i32))
  (global $f (mut fiberref) (ref.null fiber))
  (func $body (param $self fiberref)
    (local $n i32)
    (loop $next
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (fiber.dismount $give (on $go $next) (local.get $n) (local.get $self))
      (unreachable)))
  (func $start (global.set $f (fiber.new (on $go $body))))
  (start $start)
  (func (export "next") (result i32)
    (block $give (result i32)
      (fiber.mount $go (on $give $give) (global.get $f))
      (unreachable))))
(module instance $one $counter)
(module instance $two $counter)
(assert_return (invoke $one "next") (i32.const 1))
(assert_return (invoke $one "next") (i32.const 2))
(assert_return (invoke $two "next") (i32.const 1))
(assert_return (invoke $one "next") (i32.const 3))
