;; A stack that has found a handler beyond its parent may find it again at once,
;; but not after a stack in between was resumed with clauses of its own.

(module
  (type $f (func)) (type $c (cont $f))
  (tag $w) (tag $t2) (tag $t3) (tag $t9)
  (global $log (mut i32) (i32.const 0))
  (func $add (param i32) (global.set $log (i32.add (i32.mul (global.get $log) (i32.const 10)) (local.get 0))))
  (func $b (suspend $w) (suspend $t2) (suspend $t3) (suspend $w))
  (elem declare func $a $b)
  (func $a (local $k (ref null $c))
    (block $h (result (ref $c))
      (resume $c (on $t2 $h) (cont.new $c (ref.func $b)))
      (return))
    (local.set $k)
    (call $add (i32.const 2))
    ;; now the same stack is resumed with a second clause for $w
    (block $h9 (result (ref $c))
      (block $hw (result (ref $c))
        (resume $c (on $t9 $h9) (on $w $hw) (local.get $k))
        (return))
      (drop) (call $add (i32.const 7)) (return))
    (drop))
  (func (export "go") (result i32) (local $k (ref null $c)) (local $n i32)
    (local.set $k (cont.new $c (ref.func $a)))
    (loop $l
      (block $done
      (block $h3 (result (ref $c))
        (block $hw (result (ref $c))
          (resume $c (on $w $hw) (on $t3 $h3) (local.get $k))
          (br $done))
        (local.set $k) (call $add (i32.const 1)) (br $l))
      (local.set $k) (call $add (i32.const 3)) (br $l)))
    (global.get $log)))
;; 1: $w at $go; 2: $t2 at $a; 3: $t3 at $go; 7: $w at $a.
(assert_return (invoke "go") (i32.const 1237))

;; The same when the stack has resumed another in between, which makes it forget
;; by way of which it was continued.
(module
  (type $f (func)) (type $c (cont $f))
  (tag $w) (tag $t2) (tag $t3) (tag $t9)
  (global $log (mut i32) (i32.const 0))
  (func $add (param i32)
    (global.set $log (i32.add (i32.mul (global.get $log) (i32.const 10)) (local.get 0))))
  (func $nothing)
  (func $b
    (suspend $w)
    (resume $c (cont.new $c (ref.func $nothing)))
    (suspend $t2)
    (suspend $t3)
    (suspend $w))
  (elem declare func $a $b $nothing)
  (func $a (local $k (ref null $c))
    (block $h (result (ref $c))
      (resume $c (on $t2 $h) (cont.new $c (ref.func $b)))
      (return))
    (local.set $k)
    (call $add (i32.const 2))
    (block $h9 (result (ref $c))
      (block $hw (result (ref $c))
        (resume $c (on $t9 $h9) (on $w $hw) (local.get $k))
        (return))
      (drop) (call $add (i32.const 7)) (return))
    (drop))
  (func (export "go") (result i32) (local $k (ref null $c))
    (local.set $k (cont.new $c (ref.func $a)))
    (loop $l
      (block $done
        (block $h3 (result (ref $c))
          (block $hw (result (ref $c))
            (resume $c (on $w $hw) (on $t3 $h3) (local.get $k))
            (br $done))
          (local.set $k) (call $add (i32.const 1)) (br $l))
        (local.set $k) (call $add (i32.const 3)) (br $l)))
    (global.get $log)))
(assert_return (invoke "go") (i32.const 1237))
