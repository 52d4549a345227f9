;; Integer mixing over memory: run(n) passes n blocks of 64 bytes through a compression function
;; with the structure of SHA-256 (a schedule of 64 words, 64 rounds on eight variables) and other
;; round constants.
;; One operation is one block.
(module
  ;; Constants at 0, the schedule at 256, the chaining state at 512: 64, 64 and 8 words.
  (memory 1)

  (func $prepare
    (local $i i32)
    (local $seed i32)
    (local.set $seed (i32.const 0x2545f491))
    (loop $next
      (local.set $seed (i32.xor (local.get $seed) (i32.shl (local.get $seed) (i32.const 13))))
      (local.set $seed (i32.xor (local.get $seed) (i32.shr_u (local.get $seed) (i32.const 17))))
      (local.set $seed (i32.xor (local.get $seed) (i32.shl (local.get $seed) (i32.const 5))))
      (i32.store (local.get $i) (local.get $seed))
      ;; This also fills the first block and the initial state.
      (i32.store offset=256 (local.get $i) (i32.mul (local.get $seed) (i32.const 5)))
      (local.set $i (i32.add (local.get $i) (i32.const 4)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 256))))
    (memory.copy (i32.const 512) (i32.const 64) (i32.const 32)))

  ;; Words 16 to 63 of the schedule, from the block in words 0 to 15.
  (func $expand
    (local $i i32)
    (local $early i32)
    (local $late i32)
    (loop $next
      (local.set $early (i32.load offset=260 (local.get $i)))
      (local.set $late (i32.load offset=312 (local.get $i)))
      (i32.store offset=320 (local.get $i)
        (i32.add
          (i32.add
            (i32.load offset=256 (local.get $i))
            (i32.xor
              (i32.xor (i32.rotr (local.get $early) (i32.const 7)) (i32.rotr (local.get $early) (i32.const 18)))
              (i32.shr_u (local.get $early) (i32.const 3))))
          (i32.add
            (i32.load offset=292 (local.get $i))
            (i32.xor
              (i32.xor (i32.rotr (local.get $late) (i32.const 17)) (i32.rotr (local.get $late) (i32.const 19)))
              (i32.shr_u (local.get $late) (i32.const 10))))))
      (local.set $i (i32.add (local.get $i) (i32.const 4)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 192)))))

  (func $accumulate (param $at i32) (param $word i32)
    (i32.store offset=512 (local.get $at)
      (i32.add (i32.load offset=512 (local.get $at)) (local.get $word))))

  (func $compress
    (local $i i32)
    (local $a i32) (local $b i32) (local $c i32) (local $d i32)
    (local $e i32) (local $f i32) (local $g i32) (local $h i32)
    (local $first i32) (local $second i32)
    (local.set $a (i32.load offset=512 (i32.const 0)))
    (local.set $b (i32.load offset=516 (i32.const 0)))
    (local.set $c (i32.load offset=520 (i32.const 0)))
    (local.set $d (i32.load offset=524 (i32.const 0)))
    (local.set $e (i32.load offset=528 (i32.const 0)))
    (local.set $f (i32.load offset=532 (i32.const 0)))
    (local.set $g (i32.load offset=536 (i32.const 0)))
    (local.set $h (i32.load offset=540 (i32.const 0)))
    (loop $round
      (local.set $first
        (i32.add
          (i32.add
            (local.get $h)
            (i32.xor
              (i32.rotr (local.get $e) (i32.const 6))
              (i32.xor (i32.rotr (local.get $e) (i32.const 11)) (i32.rotr (local.get $e) (i32.const 25)))))
          (i32.add
            ;; Each bit of e chooses between f and g.
            (i32.xor
              (local.get $g)
              (i32.and (local.get $e) (i32.xor (local.get $f) (local.get $g))))
            (i32.add (i32.load (local.get $i)) (i32.load offset=256 (local.get $i))))))
      (local.set $second
        (i32.add
          (i32.xor
            (i32.rotr (local.get $a) (i32.const 2))
            (i32.xor (i32.rotr (local.get $a) (i32.const 13)) (i32.rotr (local.get $a) (i32.const 22))))
          ;; The majority of a, b and c, bit by bit.
          (i32.or
            (i32.and (local.get $a) (local.get $b))
            (i32.and (local.get $c) (i32.or (local.get $a) (local.get $b))))))
      (local.set $h (local.get $g))
      (local.set $g (local.get $f))
      (local.set $f (local.get $e))
      (local.set $e (i32.add (local.get $d) (local.get $first)))
      (local.set $d (local.get $c))
      (local.set $c (local.get $b))
      (local.set $b (local.get $a))
      (local.set $a (i32.add (local.get $first) (local.get $second)))
      (local.set $i (i32.add (local.get $i) (i32.const 4)))
      (br_if $round (i32.lt_u (local.get $i) (i32.const 256))))
    (call $accumulate (i32.const 0) (local.get $a))
    (call $accumulate (i32.const 4) (local.get $b))
    (call $accumulate (i32.const 8) (local.get $c))
    (call $accumulate (i32.const 12) (local.get $d))
    (call $accumulate (i32.const 16) (local.get $e))
    (call $accumulate (i32.const 20) (local.get $f))
    (call $accumulate (i32.const 24) (local.get $g))
    (call $accumulate (i32.const 28) (local.get $h)))

  ;; The next block is the tail of the schedule of this one.
  (func $next_block
    (memory.copy (i32.const 256) (i32.const 448) (i32.const 64)))

  (func (export "run") (param $n i64) (result i64)
    (call $prepare)
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (call $expand)
        (call $compress)
        (call $next_block)
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (i64.xor
      (i64.xor (i64.load offset=512 (i32.const 0)) (i64.load offset=520 (i32.const 0)))
      (i64.xor (i64.load offset=528 (i32.const 0)) (i64.load offset=536 (i32.const 0))))))
