;; Bag of stacks: generators, `return_switch`, and exceptions sent to a stack.

(module
  (rec
    (type $toConsumer (stack (param $val i32) (param (ref null $toGenerator))))
    (type $toGenerator (stack (ref $toConsumer))))
  (type $init (stack (param i32 i32) (ref $toConsumer)))
  (tag $x (param i32 (ref null stack)))
  (func $gen (param $from i32) (param $to i32) (param $k (ref $toConsumer))
    (block $on-end
      (loop $l
        (br_if $on-end (i32.ge_s (local.get $from) (local.get $to)))
        (switch $toConsumer (local.get $from) (local.get $k))
        (local.set $k)
        (local.set $from (i32.add (local.get $from) (i32.const 1)))
        (br $l)))
    (switch_retire $toConsumer (i32.const 0) (local.get $k)))
  (func (export "sum") (param $from i32) (param $to i32) (result i32)
    (local $total i32) (local $v i32) (local $g (ref null $toGenerator))
    (stack.bind $init $toGenerator (local.get $from) (local.get $to) (stack.new $init $gen))
    local.set $g
    (block $end (loop $l
        (switch $toGenerator (local.get $g))
        local.set $g local.set $v
        (br_if $end (ref.is_null (local.get $g)))
        (local.set $total (i32.add (local.get $total) (local.get $v)))
        (br $l)))
    (local.get $total))
  (func $next (param i32 (ref null $toGenerator)) (result i32) (local.get 0))
  (func $body (param (ref $toConsumer)) (return_switch $toConsumer $body2 (i32.const 7) (local.get 0)))
  (func $body2 (param (ref $toConsumer)) (switch_retire $toConsumer (i32.const 9) (local.get 0)))
  (func (export "rs") (result i32) (local $g (ref null $toGenerator)) (local $a i32)
    (switch $toGenerator (stack.new $toGenerator $body)) local.set $g local.set $a
    (drop (switch $toGenerator (local.get $g))) (i32.add (i32.mul (i32.const 10) (local.get $a))))
  (func $thrower (param $k (ref $toConsumer)) (local $v i32)
    (block $h (result i32 (ref null stack))
      (try_table (catch $x $h) (drop (switch $toConsumer (i32.const 5) (local.get $k))))
      unreachable)
    (drop) (local.set $v) unreachable)
  (func (export "throw") (result i32) (local $g (ref null $toGenerator))
    (switch $toGenerator (stack.new $toGenerator $thrower)) local.set $g drop
    (drop (switch_throw $toGenerator $x (i32.const 3) (local.get $g))))
  (func (export "rst") (result i32)
    (return_switch_throw $toGenerator $x $next (i32.const 3) (stack.new $toGenerator $body)))
)
(assert_return (invoke "sum" (i32.const 1) (i32.const 5)) (i32.const 10))
(assert_return (invoke "rs") (i32.const 79))
(assert_trap (invoke "throw") "unreachable")
(assert_trap (invoke "rst") "exception escaped a coroutine")
