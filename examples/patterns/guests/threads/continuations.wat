;; Lightweight threads with typed continuations: each suspends to the scheduler, which runs them in
;; turn.
(module
  (type $body (func))
  (type $thread (cont $body))
  (type $numbered (func (param i64 i64)))
  (type $new (cont $numbered))
  (tag $yield)
  (table $threads 4 (ref null $thread))
  (global $work (mut i64) (i64.const 0))

  (func $thread (param $number i64) (param $n i64)
    (loop $next
      (if (i64.ne (local.get $n) (i64.const 0))
        (then
          (global.set $work
            (i64.add (i64.mul (global.get $work) (i64.const 3)) (local.get $number)))
          (local.set $n (i64.sub (local.get $n) (i64.const 1)))
          (suspend $yield)
          (br $next)))))
  (elem declare func $thread)

  (func $schedule
    (local $i i32) (local $live i32) (local $thread (ref null $thread))
    (local.set $live (i32.const 4))
    (loop $next
      (block $gone
        (block $ended
          (block $yielded (result (ref $thread))
            (resume $thread (on $yield $yielded)
              (br_on_null $gone (table.get $threads (local.get $i))))
            (br $ended))
          (local.set $thread)
          (table.set $threads (local.get $i) (local.get $thread))
          (br $gone))
        (table.set $threads (local.get $i) (ref.null $thread))
        (local.set $live (i32.sub (local.get $live) (i32.const 1))))
      (local.set $i (i32.and (i32.add (local.get $i) (i32.const 1)) (i32.const 3)))
      (br_if $next (local.get $live))))

  (func (export "run") (param $n i64) (result i64)
    (local $i i32)
    (loop $next
      (table.set $threads (local.get $i)
        (cont.bind $new $thread
          (i64.extend_i32_u (i32.add (local.get $i) (i32.const 1))) (local.get $n)
          (cont.new $new (ref.func $thread))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 4))))
    (call $schedule)
    (global.get $work)))
