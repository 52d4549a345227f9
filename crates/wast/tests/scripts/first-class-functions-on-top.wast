;; Functions on top of other stacks: short ones, which are compiled again for that,
;; long ones, and those of other modules. All behave the same.

(module $functions
  (event $five (param i32 i64 f32 f64 i32))
  (export "five" (event $five))
  (type $box (struct (field i32)))
  (event $boxed (param (ref $box)))
  (tag $thrown (param i32))
  (export "boxed" (event $boxed))
  (export "thrown" (tag $thrown))
  (func (export "values") (param i32 i64 f32 f64 i32) (param $s stackref)
      (result i32 i64 f32 f64 i32)
    (drop (local.get_clear $s))
    (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4))
  (func (export "throws") (param i32) (param $s stackref)
    (drop (local.get_clear $s))
    (throw $thrown (local.get 0)))
  (func (export "divides") (param i32) (param $s stackref) (result i32)
    (drop (local.get_clear $s))
    (i32.div_u (i32.const 7) (local.get 0)))
  (func (export "nothing") (param $s stackref)
    (drop (local.get_clear $s))))
(register "functions" $functions)

;; Short functions.

(module
  (import "host" "new_stack" (func $new (result stackref)))
  (import "functions" "five" (event $five (param i32 i64 f32 f64 i32)))
  (type $box (struct (field i32)))
  (import "functions" "boxed" (event $boxed (param (ref $box))))
  (import "functions" "thrown" (tag $thrown (param i32)))
  (event $number (param i32))
  (event $none)
  (event $away (param stackref))
  (event $back (param stackref))
  (func $values (param i32 i64 f32 f64 i32) (param $s stackref) (result i32 i64 f32 f64 i32)
    (drop (local.get_clear $s))
    (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4))
  (func $throws (param i32) (param $s stackref)
    (drop (local.get_clear $s)) (throw $thrown (local.get 0)))
  (func $divides (param i32) (param $s stackref) (result i32)
    (drop (local.get_clear $s)) (i32.div_u (i32.const 7) (local.get 0)))
  (func $nothing (param $s stackref)
    (drop (local.get_clear $s)))

  ;; It allocates, in a loop that it leaves by a return.
  (func $allocates (param $n i32) (param $s stackref) (result (ref $box))
    (local $b (ref null $box))
    (drop (local.get_clear $s))
    (loop $more
      (local.set $b (struct.new $box (local.get $n)))
      (if (i32.eqz (local.get $n)) (then (return (ref.as_non_null (local.get $b)))))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br $more))
    (unreachable))
  (func (export "allocates") (param $n i32) (result i32)
    (block $boxed (result (ref $box))
      (try (stack.switch_call $waits (call $new)) catch $boxed $boxed)
      (unreachable))
    (struct.get $box 0))

  ;; It calls another in its place.
  (func $goes_on (param $n i32) (param $s stackref) (result i32)
    (return_call $divides (local.get $n) (local.get_clear $s)))
  (func (export "goes on") (param $n i32) (result i32)
    (block $number (result i32)
      (try (stack.switch_call $sends_number (local.get $n) (call $new)) catch $number $number)
      (unreachable)))
  (func $sends_number (param $n i32) (param $s stackref)
    (stack.switch_call $goes_on $number (local.get $n) (local.get_clear $s)))

  ;; It goes away and comes back before it returns.
  (func $goes_away (param $n i32) (param $s stackref) (result i32)
    (block $back (result stackref)
      (try (stack.switch $away (local.get_clear $s)) catch $back $back)
      (unreachable))
    (drop)
    (i32.mul (local.get $n) (local.get $n)))
  (func $sends_square (param $n i32) (param $s stackref)
    (block $away (result stackref)
      (try (stack.switch_call $goes_away $number (local.get $n) (local.get_clear $s)) catch $away $away)
      (unreachable))
    (local.set_cleared $s)
    (stack.switch $back (local.get_clear $s)))
  (func (export "goes away") (param $n i32) (result i32)
    (block $number (result i32)
      (try (stack.switch_call $sends_square (local.get $n) (call $new)) catch $number $number)
      (unreachable)))
  (func $waits (param $s stackref)
    (stack.switch_call $allocates $boxed (i32.const 5000) (local.get_clear $s)))

  ;; Its results are the values of an event, which is caught around the instruction
  ;; below.
  (func $sends_five (param $s stackref)
    (stack.switch_call $values $five
      (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (i32.const 5) (local.get_clear $s)))
  (func (export "values") (result i32 i64 f32 f64 i32)
    (block $five (result i32 i64 f32 f64 i32)
      (try (stack.switch_call $sends_five (call $new)) catch $five $five)
      (unreachable)))

  ;; The event is caught by the caller of the function with that instruction, as
  ;; an exception.
  (func $waits_for_none
    (block $none
      (try (stack.switch_call $sends_five (call $new)) catch $none $none)
      (unreachable)))
  (func (export "values from afar") (result i32 i64 f32 f64 i32)
    (block $five (result i32 i64 f32 f64 i32)
      (try (call $waits_for_none) catch $five $five)
      (unreachable)))

  ;; An exception leaves it for the instruction below.
  (func $makes_throw (param $s stackref)
    (stack.switch_call $throws $none (i32.const 42) (local.get_clear $s)))
  (func (export "throws") (result i32)
    (block $thrown (result i32)
      (try (stack.switch_call $makes_throw (call $new)) catch $thrown $thrown)
      (unreachable)))

  (func $makes_divide (param $n i32) (param $s stackref)
    (stack.switch_call $divides $number (local.get $n) (local.get_clear $s)))
  (func (export "divides") (param $n i32) (result i32)
    (block $number (result i32)
      (try (stack.switch_call $makes_divide (local.get $n) (call $new)) catch $number $number)
      (unreachable)))

  ;; Without an event it must not return.
  (func $lets_return (param $s stackref)
    (stack.switch_call $nothing (local.get_clear $s)))
  (func (export "returns") (stack.switch_call $lets_return (call $new))))
(assert_return (invoke "values") (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (i32.const 5))
(assert_return (invoke "values from afar")
  (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (i32.const 5))
(assert_return (invoke "throws") (i32.const 42))
(assert_return (invoke "divides" (i32.const 2)) (i32.const 3))
(assert_trap (invoke "divides" (i32.const 0)) "integer divide by zero")
(assert_trap (invoke "returns") "function returned to a suspended stack")
(assert_return (invoke "divides" (i32.const 1)) (i32.const 7))
(assert_return (invoke "allocates" (i32.const 1)) (i32.const 0))
(assert_return (invoke "goes on" (i32.const 3)) (i32.const 2))
(assert_trap (invoke "goes on" (i32.const 0)) "integer divide by zero")
(assert_return (invoke "goes away" (i32.const 9)) (i32.const 81))

;; The same, made long.

(module
  (import "host" "new_stack" (func $new (result stackref)))
  (import "functions" "five" (event $five (param i32 i64 f32 f64 i32)))
  (type $box (struct (field i32)))
  (import "functions" "boxed" (event $boxed (param (ref $box))))
  (import "functions" "thrown" (tag $thrown (param i32)))
  (event $number (param i32))
  (event $none)
  (event $away (param stackref))
  (event $back (param stackref))
  (func $values (param i32 i64 f32 f64 i32) (param $s stackref) (result i32 i64 f32 f64 i32)
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (local.get_clear $s))
    (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4))
  (func $throws (param i32) (param $s stackref)
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (local.get_clear $s)) (throw $thrown (local.get 0)))
  (func $divides (param i32) (param $s stackref) (result i32)
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (local.get_clear $s)) (i32.div_u (i32.const 7) (local.get 0)))
  (func $nothing (param $s stackref)
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (local.get_clear $s)))

  ;; It allocates, in a loop that it leaves by a return.
  (func $allocates (param $n i32) (param $s stackref) (result (ref $box))
    (local $b (ref null $box))
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (local.get_clear $s))
    (loop $more
      (local.set $b (struct.new $box (local.get $n)))
      (if (i32.eqz (local.get $n)) (then (return (ref.as_non_null (local.get $b)))))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br $more))
    (unreachable))
  (func (export "allocates") (param $n i32) (result i32)
    (block $boxed (result (ref $box))
      (try (stack.switch_call $waits (call $new)) catch $boxed $boxed)
      (unreachable))
    (struct.get $box 0))

  ;; It calls another in its place.
  (func $goes_on (param $n i32) (param $s stackref) (result i32)
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (return_call $divides (local.get $n) (local.get_clear $s)))
  (func (export "goes on") (param $n i32) (result i32)
    (block $number (result i32)
      (try (stack.switch_call $sends_number (local.get $n) (call $new)) catch $number $number)
      (unreachable)))
  (func $sends_number (param $n i32) (param $s stackref)
    (stack.switch_call $goes_on $number (local.get $n) (local.get_clear $s)))

  ;; It goes away and comes back before it returns.
  (func $goes_away (param $n i32) (param $s stackref) (result i32)
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (drop (i64.const -9223372036854775808)) (drop (i64.const -9223372036854775808))
    (block $back (result stackref)
      (try (stack.switch $away (local.get_clear $s)) catch $back $back)
      (unreachable))
    (drop)
    (i32.mul (local.get $n) (local.get $n)))
  (func $sends_square (param $n i32) (param $s stackref)
    (block $away (result stackref)
      (try (stack.switch_call $goes_away $number (local.get $n) (local.get_clear $s)) catch $away $away)
      (unreachable))
    (local.set_cleared $s)
    (stack.switch $back (local.get_clear $s)))
  (func (export "goes away") (param $n i32) (result i32)
    (block $number (result i32)
      (try (stack.switch_call $sends_square (local.get $n) (call $new)) catch $number $number)
      (unreachable)))
  (func $waits (param $s stackref)
    (stack.switch_call $allocates $boxed (i32.const 5000) (local.get_clear $s)))

  ;; Its results are the values of an event, which is caught around the instruction
  ;; below.
  (func $sends_five (param $s stackref)
    (stack.switch_call $values $five
      (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (i32.const 5) (local.get_clear $s)))
  (func (export "values") (result i32 i64 f32 f64 i32)
    (block $five (result i32 i64 f32 f64 i32)
      (try (stack.switch_call $sends_five (call $new)) catch $five $five)
      (unreachable)))

  ;; The event is caught by the caller of the function with that instruction, as
  ;; an exception.
  (func $waits_for_none
    (block $none
      (try (stack.switch_call $sends_five (call $new)) catch $none $none)
      (unreachable)))
  (func (export "values from afar") (result i32 i64 f32 f64 i32)
    (block $five (result i32 i64 f32 f64 i32)
      (try (call $waits_for_none) catch $five $five)
      (unreachable)))

  ;; An exception leaves it for the instruction below.
  (func $makes_throw (param $s stackref)
    (stack.switch_call $throws $none (i32.const 42) (local.get_clear $s)))
  (func (export "throws") (result i32)
    (block $thrown (result i32)
      (try (stack.switch_call $makes_throw (call $new)) catch $thrown $thrown)
      (unreachable)))

  (func $makes_divide (param $n i32) (param $s stackref)
    (stack.switch_call $divides $number (local.get $n) (local.get_clear $s)))
  (func (export "divides") (param $n i32) (result i32)
    (block $number (result i32)
      (try (stack.switch_call $makes_divide (local.get $n) (call $new)) catch $number $number)
      (unreachable)))

  ;; Without an event it must not return.
  (func $lets_return (param $s stackref)
    (stack.switch_call $nothing (local.get_clear $s)))
  (func (export "returns") (stack.switch_call $lets_return (call $new))))
(assert_return (invoke "values") (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (i32.const 5))
(assert_return (invoke "values from afar")
  (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (i32.const 5))
(assert_return (invoke "throws") (i32.const 42))
(assert_return (invoke "divides" (i32.const 2)) (i32.const 3))
(assert_trap (invoke "divides" (i32.const 0)) "integer divide by zero")
(assert_trap (invoke "returns") "function returned to a suspended stack")
(assert_return (invoke "divides" (i32.const 1)) (i32.const 7))
(assert_return (invoke "allocates" (i32.const 1)) (i32.const 0))
(assert_return (invoke "goes on" (i32.const 3)) (i32.const 2))
(assert_trap (invoke "goes on" (i32.const 0)) "integer divide by zero")
(assert_return (invoke "goes away" (i32.const 9)) (i32.const 81))

;; Functions of another module.

(module
  (import "host" "new_stack" (func $new (result stackref)))
  (import "functions" "five" (event $five (param i32 i64 f32 f64 i32)))
  (type $box (struct (field i32)))
  (import "functions" "boxed" (event $boxed (param (ref $box))))
  (import "functions" "thrown" (tag $thrown (param i32)))
  (import "functions" "values" (func $values (param i32 i64 f32 f64 i32) (param $s stackref) (result i32 i64 f32 f64 i32)))
  (import "functions" "throws" (func $throws (param i32) (param $s stackref)))
  (import "functions" "divides" (func $divides (param i32) (param $s stackref) (result i32)))
  (import "functions" "nothing" (func $nothing (param $s stackref)))
  (event $number (param i32))
  (event $none)
  (event $away (param stackref))
  (event $back (param stackref))

  ;; Its results are the values of an event, which is caught around the instruction
  ;; below.
  (func $sends_five (param $s stackref)
    (stack.switch_call $values $five
      (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (i32.const 5) (local.get_clear $s)))
  (func (export "values") (result i32 i64 f32 f64 i32)
    (block $five (result i32 i64 f32 f64 i32)
      (try (stack.switch_call $sends_five (call $new)) catch $five $five)
      (unreachable)))

  ;; The event is caught by the caller of the function with that instruction, as
  ;; an exception.
  (func $waits_for_none
    (block $none
      (try (stack.switch_call $sends_five (call $new)) catch $none $none)
      (unreachable)))
  (func (export "values from afar") (result i32 i64 f32 f64 i32)
    (block $five (result i32 i64 f32 f64 i32)
      (try (call $waits_for_none) catch $five $five)
      (unreachable)))

  ;; An exception leaves it for the instruction below.
  (func $makes_throw (param $s stackref)
    (stack.switch_call $throws $none (i32.const 42) (local.get_clear $s)))
  (func (export "throws") (result i32)
    (block $thrown (result i32)
      (try (stack.switch_call $makes_throw (call $new)) catch $thrown $thrown)
      (unreachable)))

  (func $makes_divide (param $n i32) (param $s stackref)
    (stack.switch_call $divides $number (local.get $n) (local.get_clear $s)))
  (func (export "divides") (param $n i32) (result i32)
    (block $number (result i32)
      (try (stack.switch_call $makes_divide (local.get $n) (call $new)) catch $number $number)
      (unreachable)))

  ;; Without an event it must not return.
  (func $lets_return (param $s stackref)
    (stack.switch_call $nothing (local.get_clear $s)))
  (func (export "returns") (stack.switch_call $lets_return (call $new))))
(assert_return (invoke "values") (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (i32.const 5))
(assert_return (invoke "values from afar")
  (i32.const 1) (i64.const 2) (f32.const 3) (f64.const 4) (i32.const 5))
(assert_return (invoke "throws") (i32.const 42))
(assert_return (invoke "divides" (i32.const 2)) (i32.const 3))
(assert_trap (invoke "divides" (i32.const 0)) "integer divide by zero")
(assert_trap (invoke "returns") "function returned to a suspended stack")
(assert_return (invoke "divides" (i32.const 1)) (i32.const 7))
