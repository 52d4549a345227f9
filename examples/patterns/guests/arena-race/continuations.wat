;; An arena whose children race, with typed continuations: when the first child returns, the arena
;; cancels the others by an exception. A canceled child returns how far it came.
(module
  (type $body (func (result i64)))
  (type $child (cont $body))
  (type $limited (func (param i64) (result i64)))
  (type $new (cont $limited))
  (tag $pause)
  (tag $cancel)
  (table $children 4 (ref null $child))

  (func $child (param $limit i64) (result i64)
    (local $pauses i64)
    (block $cancelled
      (try_table (catch $cancel $cancelled)
        (loop $next
          (if (i64.lt_u (local.get $pauses) (local.get $limit))
            (then
              (local.set $pauses (i64.add (local.get $pauses) (i64.const 1)))
              (suspend $pause)
              (br $next))))))
    (local.get $pauses))
  (elem declare func $child)

  (func $race (result i64)
    (local $i i32) (local $result i64) (local $child (ref null $child))
    (block $ended (result i64)
      (loop $next
        (block $paused (result (ref $child))
          (resume $child (on $pause $paused) (table.get $children (local.get $i)))
          (br $ended))
        (local.set $child)
        (table.set $children (local.get $i) (local.get $child))
        (local.set $i (i32.and (i32.add (local.get $i) (i32.const 1)) (i32.const 3)))
        (br $next))
      (unreachable))
    (local.set $result (i64.mul (i64.const 1000)))
    (table.set $children (local.get $i) (ref.null $child))
    (local.set $i (i32.const 0))
    (loop $next
      (block $over
        (resume_throw $child $cancel (br_on_null $over (table.get $children (local.get $i))))
        (local.set $result (i64.add (local.get $result))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (local.get $result))

  (func (export "run") (param $n i64) (result i64)
    (local $i i32)
    (loop $next
      (table.set $children (local.get $i)
        (cont.bind $new $child
          (i64.mul
            (i64.extend_i32_u (i32.sub (i32.const 4) (local.get $i))) (local.get $n))
          (cont.new $new (ref.func $child))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (call $race)))
