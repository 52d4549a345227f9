;; An event finds its clause at any position in a long list.
;; Of several clauses for one tag, the first counts. The receiver is a suspended fiber, a mounting
;; parent or a fresh fiber. Imports decide whether two clauses have the same tag.

(module $tags
  (tag (export "a")) (tag (export "b")) (tag (export "c")) (tag (export "d"))
  (tag (export "e")) (tag (export "f")) (tag (export "g")) (tag (export "x")))
(register "tags" $tags)

(module
  (import "tags" "a" (tag $a)) (import "tags" "b" (tag $b)) (import "tags" "c" (tag $c))
  (import "tags" "d" (tag $d)) (import "tags" "e" (tag $e)) (import "tags" "f" (tag $f))
  (import "tags" "g" (tag $g)) (import "tags" "x" (tag $x))
  (import "tags" "a" (tag $a2)) (import "tags" "b" (tag $b2)) (import "tags" "c" (tag $c2))
  (tag $begin)
  (tag $came (param i32))

  ;; Reports which clause received the event.
  (func $waits (param $self fiberref) (local $n i32)
    (loop $again
      (block $l10
      (block $l9
      (block $l8
      (block $l7
      (block $l6
      (block $l5
      (block $l4
      (block $l3
      (block $l2
      (block $l1
      (fiber.dismount $came
        (on $b $l1) (on $a $l2) (on $a2 $l3) (on $c $l4) (on $d $l5)
        (on $b2 $l6) (on $e $l7) (on $f $l8) (on $c2 $l9) (on $g $l10)
        (local.get $n) (local.get $self))
      (local.set $n (i32.const -1)) (br $again))
      (local.set $n (i32.const 1)) (br $again))
      (local.set $n (i32.const 2)) (br $again))
      (local.set $n (i32.const 3)) (br $again))
      (local.set $n (i32.const 4)) (br $again))
      (local.set $n (i32.const 5)) (br $again))
      (local.set $n (i32.const 6)) (br $again))
      (local.set $n (i32.const 7)) (br $again))
      (local.set $n (i32.const 8)) (br $again))
      (local.set $n (i32.const 9)) (br $again))
      (local.set $n (i32.const 10)) (br $again))
    (unreachable))
  (global $f (mut fiberref) (ref.null fiber))
  (func (export "begin") (result i32)
    (global.set $f (fiber.new (on $begin $waits)))
    (block $l (result i32) (fiber.mount $begin (on $came $l) (global.get $f)) (i32.const -2)))
  (func (export "send a") (result i32)
    (block $l (result i32) (fiber.mount $a (on $came $l) (global.get $f)) (i32.const -2)))
  (func (export "send b") (result i32)
    (block $l (result i32) (fiber.mount $b (on $came $l) (global.get $f)) (i32.const -2)))
  (func (export "send c") (result i32)
    (block $l (result i32) (fiber.mount $c (on $came $l) (global.get $f)) (i32.const -2)))
  (func (export "send d") (result i32)
    (block $l (result i32) (fiber.mount $d (on $came $l) (global.get $f)) (i32.const -2)))
  (func (export "send e") (result i32)
    (block $l (result i32) (fiber.mount $e (on $came $l) (global.get $f)) (i32.const -2)))
  (func (export "send f") (result i32)
    (block $l (result i32) (fiber.mount $f (on $came $l) (global.get $f)) (i32.const -2)))
  (func (export "send g") (result i32)
    (block $l (result i32) (fiber.mount $g (on $came $l) (global.get $f)) (i32.const -2)))
  (func (export "send x") (result i32)
    (block $l (result i32) (fiber.mount $x (on $came $l) (global.get $f)) (i32.const -2)))

  ;; Reports which clause of the mount received the event.
  (func $give-a (param $self fiberref) (fiber.dismount $a (local.get $self)))
  (func $give-b (param $self fiberref) (fiber.dismount $b (local.get $self)))
  (func $give-c (param $self fiberref) (fiber.dismount $c (local.get $self)))
  (func $give-d (param $self fiberref) (fiber.dismount $d (local.get $self)))
  (func $give-e (param $self fiberref) (fiber.dismount $e (local.get $self)))
  (func $give-f (param $self fiberref) (fiber.dismount $f (local.get $self)))
  (func $give-g (param $self fiberref) (fiber.dismount $g (local.get $self)))
  (func $give-x (param $self fiberref) (local $n i32)
    ;; The mount has no clause for this event.
    (fiber.dismount $x (local.get $self))
    (call $give-d (local.get $self)))
  (func $mounts (param $f fiberref) (result i32)
    (block $l10
    (block $l9
    (block $l8
    (block $l7
    (block $l6
    (block $l5
    (block $l4
    (block $l3
    (block $l2
    (block $l1
      (fiber.mount $begin
        (on $b $l1) (on $a $l2) (on $a2 $l3) (on $c $l4) (on $d $l5)
        (on $b2 $l6) (on $e $l7) (on $f $l8) (on $c2 $l9) (on $g $l10)
        (local.get $f))
      (return (i32.const -2)))
    (return (i32.const 1)))
    (return (i32.const 2)))
    (return (i32.const 3)))
    (return (i32.const 4)))
    (return (i32.const 5)))
    (return (i32.const 6)))
    (return (i32.const 7)))
    (return (i32.const 8)))
    (return (i32.const 9)))
    (return (i32.const 10)))
  (func (export "give a") (result i32) (call $mounts (fiber.new (on $begin $give-a))))
  (func (export "give b") (result i32) (call $mounts (fiber.new (on $begin $give-b))))
  (func (export "give c") (result i32) (call $mounts (fiber.new (on $begin $give-c))))
  (func (export "give d") (result i32) (call $mounts (fiber.new (on $begin $give-d))))
  (func (export "give e") (result i32) (call $mounts (fiber.new (on $begin $give-e))))
  (func (export "give f") (result i32) (call $mounts (fiber.new (on $begin $give-f))))
  (func (export "give g") (result i32) (call $mounts (fiber.new (on $begin $give-g))))
  (func (export "give x") (result i32) (call $mounts (fiber.new (on $begin $give-x))))

  ;; A fresh fiber has a function for each event. The return event is looked up in the same way.
  (func $f1 (param fiberref) (result i32) (i32.const 1))
  (func $f2 (param fiberref) (result i32) (i32.const 2))
  (func $f3 (param fiberref) (result i32) (i32.const 3))
  (func $f4 (param fiberref) (result i32) (i32.const 4))
  (func $f5 (param fiberref) (result i32) (i32.const 5))
  (func $f6 (param fiberref) (result i32) (i32.const 6))
  (func $f7 (param fiberref) (result i32) (i32.const 7))
  (func $f8 (param fiberref) (result i32) (i32.const 8))
  (func $f9 (param fiberref) (result i32) (i32.const 9))
  (func $f10 (param fiberref) (result i32) (i32.const 10))
  (func $new (result fiberref)
    (fiber.new $came
      (on $b $f1) (on $a $f2) (on $a2 $f3) (on $c $f4) (on $d $f5)
      (on $b2 $f6) (on $e $f7) (on $f $f8) (on $c2 $f9) (on $g $f10)))
  (func (export "enter a") (result i32)
    (block $no
      (block $l (result i32)
        (fiber.mount $a (on $a $no) (on $b $no) (on $c $no) (on $d $no) (on $x $no) (on $came $l)
          (call $new))
        (return (i32.const -2)))
      (return))
    (i32.const -3))
  (func (export "enter b") (result i32)
    (block $no
      (block $l (result i32)
        (fiber.mount $b (on $a $no) (on $b $no) (on $c $no) (on $d $no) (on $x $no) (on $came $l)
          (call $new))
        (return (i32.const -2)))
      (return))
    (i32.const -3))
  (func (export "enter c") (result i32)
    (block $no
      (block $l (result i32)
        (fiber.mount $c (on $a $no) (on $b $no) (on $c $no) (on $d $no) (on $x $no) (on $came $l)
          (call $new))
        (return (i32.const -2)))
      (return))
    (i32.const -3))
  (func (export "enter d") (result i32)
    (block $no
      (block $l (result i32)
        (fiber.mount $d (on $a $no) (on $b $no) (on $c $no) (on $d $no) (on $x $no) (on $came $l)
          (call $new))
        (return (i32.const -2)))
      (return))
    (i32.const -3))
  (func (export "enter e") (result i32)
    (block $no
      (block $l (result i32)
        (fiber.mount $e (on $a $no) (on $b $no) (on $c $no) (on $d $no) (on $x $no) (on $came $l)
          (call $new))
        (return (i32.const -2)))
      (return))
    (i32.const -3))
  (func (export "enter f") (result i32)
    (block $no
      (block $l (result i32)
        (fiber.mount $f (on $a $no) (on $b $no) (on $c $no) (on $d $no) (on $x $no) (on $came $l)
          (call $new))
        (return (i32.const -2)))
      (return))
    (i32.const -3))
  (func (export "enter g") (result i32)
    (block $no
      (block $l (result i32)
        (fiber.mount $g (on $a $no) (on $b $no) (on $c $no) (on $d $no) (on $x $no) (on $came $l)
          (call $new))
        (return (i32.const -2)))
      (return))
    (i32.const -3))
  (func (export "enter x") (result i32)
    (block $no
      (block $l (result i32)
        (fiber.mount $x (on $a $no) (on $b $no) (on $c $no) (on $d $no) (on $x $no) (on $came $l)
          (call $new))
        (return (i32.const -2)))
      (return))
    (i32.const -3)))

(assert_return (invoke "begin") (i32.const 0))
(assert_return (invoke "send a") (i32.const 2))
(assert_return (invoke "send b") (i32.const 1))
(assert_return (invoke "send c") (i32.const 4))
(assert_return (invoke "send d") (i32.const 5))
(assert_return (invoke "send e") (i32.const 7))
(assert_return (invoke "send f") (i32.const 8))
(assert_return (invoke "send g") (i32.const 10))
(assert_return (invoke "send a") (i32.const 2))
(assert_return (invoke "send b") (i32.const 1))
(assert_return (invoke "send c") (i32.const 4))
(assert_return (invoke "send d") (i32.const 5))
(assert_return (invoke "send e") (i32.const 7))
(assert_return (invoke "send f") (i32.const 8))
(assert_return (invoke "send g") (i32.const 10))
(assert_return (invoke "send x") (i32.const -2))
(assert_return (invoke "give a") (i32.const 2))
(assert_return (invoke "give b") (i32.const 1))
(assert_return (invoke "give c") (i32.const 4))
(assert_return (invoke "give d") (i32.const 5))
(assert_return (invoke "give e") (i32.const 7))
(assert_return (invoke "give f") (i32.const 8))
(assert_return (invoke "give g") (i32.const 10))
(assert_return (invoke "give x") (i32.const 5))
(assert_return (invoke "enter a") (i32.const 2))
(assert_return (invoke "enter b") (i32.const 1))
(assert_return (invoke "enter c") (i32.const 4))
(assert_return (invoke "enter d") (i32.const 5))
(assert_return (invoke "enter e") (i32.const 7))
(assert_return (invoke "enter f") (i32.const 8))
(assert_return (invoke "enter g") (i32.const 10))
(assert_return (invoke "enter x") (i32.const -2))
