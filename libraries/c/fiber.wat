;; The part of the fiber library that switches stacks, by standard typed
;; continuations. The other part is fiber.c.
;;
;; Linear memory cannot hold a continuation, so C refers to a fiber by the number of a
;; slot in a table. A fiber is in its slot while it does not run.
(module
  ;; A fiber is resumed with a value, and with the fiber that switched to it or null.
  ;; It returns a value.
  (rec
    (type $function (func (param i32 (ref null $fiber)) (result i32)))
    (type $fiber (cont $function)))
  (type $start (func (param i32) (result i32)))

  (tag $yield (param i32 i32) (result i32 (ref null $fiber)))  ;; the slot, the value
  (tag $switch (result i32))

  (table $fibers 0 (ref null $fiber))
  (global $start (mut (ref null $start)) (ref.null $start))
  (global $left (mut i32) (i32.const 0))  ;; the slot of the fiber that switches

  ;; Sets the C function in which each stack starts.
  (func (export "start") (param $start funcref)
    (global.set $start (ref.cast (ref $start) (local.get $start))))

  ;; Adds slots; returns the first of them, or -1.
  (func (export "grow") (param $count i32) (result i32)
    (table.grow $fibers (ref.null $fiber) (local.get $count)))

  (func (export "create") (param $slot i32)
    (table.set $fibers (local.get $slot) (cont.new $fiber (ref.func $begin))))

  (func (export "drop") (param $slot i32)
    (table.set $fibers (local.get $slot) (ref.null $fiber)))

  (func (export "resume") (param $slot i32) (param $value i32) (result i32)
    (local $rest (ref null $fiber))
    (block $yielded (result i32 i32 (ref $fiber))
      (return
        (resume $fiber (on $yield $yielded) (on $switch switch)
          (local.get $value) (ref.null $fiber) (table.get $fibers (local.get $slot)))))
    (local.set $rest)
    (local.set $value)
    (local.set $slot)
    (table.set $fibers (local.get $slot) (local.get $rest))
    (local.get $value))

  (func (export "yield") (param $slot i32) (param $value i32) (result i32)
    (call $arrive (suspend $yield (local.get $slot) (local.get $value))))

  (func (export "switch") (param $slot i32) (param $target i32) (param $value i32) (result i32)
    (global.set $left (local.get $slot))
    (call $arrive
      (switch $fiber $switch (local.get $value) (table.get $fibers (local.get $target)))))

  ;; After a switch: puts the fiber that switched here into its slot.
  (func $arrive (param $value i32) (param $switched (ref null $fiber)) (result i32)
    (if (i32.eqz (ref.is_null (local.get $switched)))
      (then (table.set $fibers (global.get $left) (local.get $switched))))
    (local.get $value))

  ;; The start of a stack. The first value is the fiber.
  (elem declare func $begin)
  (func $begin (type $function) (param $fiber i32) (param $switched (ref null $fiber)) (result i32)
    (call_ref $start
      (call $arrive (local.get $fiber) (local.get $switched))
      (global.get $start))))
