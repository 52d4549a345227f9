;; A generator on its own stack, in the bag-of-stacks design. It walks over an
;; array and switches to its consumer with each element. Neither is the parent of
;; the other: every switch passes the stack to switch back to.
;;
;; The sum of the elements of 3 1 4 1 5 9 2 6 5 3, between two indices:
;;
;;   $ ropewalk run --invoke sum examples/bag-generator.wat 0 10
;;   39
;;   $ ropewalk run --invoke sum examples/bag-generator.wat 2 5
;;   10
;;   $ ropewalk run --invoke sum examples/bag-generator.wat 5 5
;;   0
;;
;; The largest of them:
;;
;;   $ ropewalk run --invoke largest examples/bag-generator.wat 0 10
;;   9

(module
  ;; The messages between a generator of numbers and its consumer. The
  ;; consumer receives null instead of the generator after the last element.
  (rec
    (type $to-consumer (stack (param $value i32) (ref null $to-generator)))
    (type $to-generator (stack (ref $to-consumer))))

  ;; The first message to the array generator: its arguments, and the stack that
  ;; waits for it to receive them.
  (type $initialized (stack (ref $to-generator)))
  (type $new-array-generator
    (stack (param $from i32) (param $to i32) (param $elements i32) (ref $initialized)))

  (memory 1)
  (data (i32.const 64)
    "\03\00\00\00" "\01\00\00\00" "\04\00\00\00" "\01\00\00\00" "\05\00\00\00"
    "\09\00\00\00" "\02\00\00\00" "\06\00\00\00" "\05\00\00\00" "\03\00\00\00")

  (func $array-generator
    (param $from i32) (param $to i32) (param $elements i32) (param $starter (ref $initialized))
    (local $consumer (ref null $to-consumer))
    ;; The generator has its arguments. Switch back to the sender. The next stack that
    ;; switches here is the consumer.
    (local.set $consumer (switch $initialized (local.get $starter)))
    (block $end
      (loop $next
        (br_if $end (i32.ge_u (local.get $from) (local.get $to)))
        (local.set $consumer
          (switch $to-consumer
            (i32.load
              (i32.add (local.get $elements) (i32.mul (local.get $from) (i32.const 4))))
            (local.get $consumer)))
        (local.set $from (i32.add (local.get $from) (i32.const 1)))
        (br $next)))
    ;; The generator ends. The consumer receives null and an unused value.
    (switch_retire $to-consumer (i32.const 0) (local.get $consumer)))

  (func $new (param $from i32) (param $to i32) (result (ref $to-generator))
    (switch $new-array-generator
      (local.get $from) (local.get $to) (i32.const 64)
      (stack.new $new-array-generator $array-generator)))

  (func (export "sum") (param $from i32) (param $to i32) (result i32)
    (local $generator (ref null $to-generator))
    (local $total i32)
    (local.set $generator (call $new (local.get $from) (local.get $to)))
    (block $end
      (loop $next
        (switch $to-generator (local.get $generator))
        (br_on_null $end)
        (local.set $generator)
        (local.set $total (i32.add (local.get $total)))
        (br $next)))
    (local.get $total))

  (func (export "largest") (param $from i32) (param $to i32) (result i32)
    (local $generator (ref null $to-generator))
    (local $element i32)
    (local $largest i32)
    (local.set $generator (call $new (local.get $from) (local.get $to)))
    (block $end
      (loop $next
        (switch $to-generator (local.get $generator))
        (br_on_null $end)
        (local.set $generator)
        (local.set $element)
        (local.set $largest
          (select (local.get $element) (local.get $largest)
            (i32.gt_u (local.get $element) (local.get $largest))))
        (br $next)))
    (local.get $largest)))
