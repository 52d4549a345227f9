;; An arena that joins its children, with typed continuations: it runs them in turn until all have
;; returned.
(module
  (type $body (func (result i64)))
  (type $child (cont $body))
  (type $limited (func (param i64) (result i64)))
  (type $new (cont $limited))
  (tag $pause)
  (table $children 4 (ref null $child))

  (func $child (param $limit i64) (result i64)
    (local $pauses i64)
    (loop $next
      (if (i64.lt_u (local.get $pauses) (local.get $limit))
        (then
          (local.set $pauses (i64.add (local.get $pauses) (i64.const 1)))
          (suspend $pause)
          (br $next))))
    (local.get $pauses))
  (elem declare func $child)

  (func $join (result i64)
    (local $i i32) (local $running i32) (local $total i64) (local $child (ref null $child))
    (local.set $running (i32.const 4))
    (loop $next
      (block $over
        (block $ended (result i64)
          (block $paused (result (ref $child))
            (resume $child (on $pause $paused)
              (br_on_null $over (table.get $children (local.get $i))))
            (br $ended))
          (local.set $child)
          (table.set $children (local.get $i) (local.get $child))
          (br $over))
        (local.set $total (i64.add (i64.mul (local.get $total) (i64.const 3))))
        (table.set $children (local.get $i) (ref.null $child))
        (local.set $running (i32.sub (local.get $running) (i32.const 1))))
      (local.set $i (i32.and (i32.add (local.get $i) (i32.const 1)) (i32.const 3)))
      (br_if $next (local.get $running)))
    (local.get $total))

  (func (export "run") (param $n i64) (result i64)
    (local $i i32)
    (loop $next
      (table.set $children (local.get $i)
        (cont.bind $new $child
          (i64.mul
            (i64.extend_i32_u (i32.add (local.get $i) (i32.const 1))) (local.get $n))
          (cont.new $new (ref.func $child))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (call $join)))
