;; A generator of the elements of an array, as a fiber that is mounted for each
;; element and dismounts with it. `fiber.mount_new` creates it and runs it to the
;; first element in one step.
;;
;; The sum of an array of squares:
;;
;;   $ ropewalk run --invoke sum examples/fiber-elements.wat 10
;;   385
;;   $ ropewalk run --invoke sum examples/fiber-elements.wat 0
;;   0
;;
;; The sum until it exceeds a limit. The generator then receives an event to stop,
;; so that it can clean up, and returns the number of remaining elements.
;;
;;   $ ropewalk run --invoke sum-to examples/fiber-elements.wat 10 100
;;   140
;;   3

(module
  (type $array (array (mut i32)))

  ;; The events of the generator; it returns after the last element.
  (tag $yield (param i32))
  (tag $end)
  ;; The events of the consumer.
  (tag $next)
  (tag $stop)

  (global $left (mut i32) (i32.const 0))

  (func $generate (param $array (ref $array)) (param $from i32) (param $to i32)
      (param $this fiberref)
    (block $stopped
      (loop $more
        (br_if $stopped (i32.ge_u (local.get $from) (local.get $to)))
        (block $continue
          (fiber.dismount $yield (on $next $continue) (on $stop $stopped)
            (array.get $array (local.get $array) (local.get $from)) (local.get $this))
          (unreachable))
        (local.set $from (i32.add (local.get $from) (i32.const 1)))
        (br $more)))
    ;; Here the generator would clean up.
    (if (i32.lt_u (local.get $from) (local.get $to))
      (then
        (global.set $left
          (i32.sub (i32.sub (local.get $to) (local.get $from)) (i32.const 1))))))

  (func $add-all (param $array (ref $array)) (param $from i32) (param $to i32)
      (param $limit i32) (result i32)
    (local $generator fiberref) (local $element i32) (local $total i32)
    (block $ended
      ;; The first element comes with the new fiber.
      (block $first (result (ref fiber) i32)
        (fiber.mount_new $end $generate (on $yield $first)
          (local.get $array) (local.get $from) (local.get $to))
        (drop)
        (br $ended))
      (local.set $element)
      (local.set $generator)
      (loop $more
        (local.set $total (i32.add (local.get $total) (local.get $element)))
        (if (i32.gt_u (local.get $total) (local.get $limit))
          (then
            (fiber.mount $stop (on $end $ended) (local.get $generator))
            (unreachable)))
        (block $yielded (result i32)
          (fiber.mount $next (on $yield $yielded) (on $end $ended) (local.get $generator))
          (unreachable))
        (local.set $element)
        (br $more)))
    (local.get $total))

  (func $squares (param $n i32) (result (ref $array))
    (local $array (ref $array)) (local $i i32)
    (local.set $array (array.new_default $array (local.get $n)))
    (loop $next
      (if (i32.lt_u (local.get $i) (local.get $n))
        (then
          (array.set $array (local.get $array) (local.get $i)
            (i32.mul
              (i32.add (local.get $i) (i32.const 1)) (i32.add (local.get $i) (i32.const 1))))
          (local.set $i (i32.add (local.get $i) (i32.const 1)))
          (br $next))))
    (local.get $array))

  (func (export "sum") (param $n i32) (result i32)
    (call $add-all
      (call $squares (local.get $n)) (i32.const 0) (local.get $n) (i32.const 0x7fffffff)))
  (func (export "sum-to") (param $n i32) (param $limit i32) (result i32 i32)
    (call $add-all
      (call $squares (local.get $n)) (i32.const 0) (local.get $n) (local.get $limit))
    (global.get $left)))
