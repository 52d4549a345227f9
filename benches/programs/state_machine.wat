;; Branches and globals: run(n) feeds n bytes of generated program text to a scanner that counts
;; words, numbers, comments, lines and other bytes.
;; Its state and counters are globals. One br_table dispatches on the class of each byte, and
;; another on the state.
;; One operation is one byte.
(module
  ;; The class of each byte at 0, and 512 bytes of text at 4 KiB.
  (memory 1)
  (global $state (mut i32) (i32.const 0))
  (global $words (mut i64) (i64.const 0))
  (global $numbers (mut i64) (i64.const 0))
  (global $comments (mut i64) (i64.const 0))
  (global $lines (mut i64) (i64.const 0))
  (global $others (mut i64) (i64.const 0))

  ;; Classes: 0 other, 1 letter, 2 digit, 3 space, 4 end of line, 5 '#'.
  (func $classify (param $from i32) (param $to i32) (param $class i32)
    (loop $next
      (i32.store8 (local.get $from) (local.get $class))
      (local.set $from (i32.add (local.get $from) (i32.const 1)))
      (br_if $next (i32.le_u (local.get $from) (local.get $to)))))

  (func $classify_all
    (call $classify (i32.const 97) (i32.const 122) (i32.const 1))
    (call $classify (i32.const 48) (i32.const 57) (i32.const 2))
    (call $classify (i32.const 32) (i32.const 32) (i32.const 3))
    (call $classify (i32.const 10) (i32.const 10) (i32.const 4))
    (call $classify (i32.const 35) (i32.const 35) (i32.const 5)))

  (data (i32.const 32768) "the rope 42 is 7 walked; # twist\0apull 1999 (strands) and 64 turn\0a lay = 3\0a")

  ;; Text: parts of the sentence above, from pseudorandom positions.
  (func $write_text
    (local $at i32)
    (local $seed i32)
    (loop $next
      (local.set $seed
        (i32.add (i32.mul (local.get $seed) (i32.const 1664525)) (i32.const 1013904223)))
      (i64.store offset=4096 (local.get $at)
        (i64.load offset=32768 (i32.rem_u (i32.shr_u (local.get $seed) (i32.const 8)) (i32.const 68))))
      (local.set $at (i32.add (local.get $at) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $at) (i32.const 512)))))

  ;; States: 0 between, 1 in a word, 2 in a number, 3 in a comment.
  (func $letter
    (block $comment (block $number (block $word (block $between
      (br_table $between $word $number $comment (global.get $state)))
      ;; between
      (global.set $words (i64.add (global.get $words) (i64.const 1)))
      (global.set $state (i32.const 1))
      (return))
      ;; word: one more letter
      (return))
      ;; number: a letter makes it a malformed word
      (global.set $others (i64.add (global.get $others) (i64.const 1)))
      (global.set $state (i32.const 1))
      (return)))

  (func $digit
    (block $comment (block $number (block $word (block $between
      (br_table $between $word $number $comment (global.get $state)))
      (global.set $numbers (i64.add (global.get $numbers) (i64.const 1)))
      (global.set $state (i32.const 2))
      (return))
      ;; word: digits may be part of it
      (return))
      (return)))

  (func $space
    (block $comment (block $ends
      (br_table $ends $ends $ends $comment (global.get $state)))
      (global.set $state (i32.const 0))))

  (func $end_of_line
    (global.set $lines (i64.add (global.get $lines) (i64.const 1)))
    (global.set $state (i32.const 0)))

  (func $hash
    (if (i32.ne (global.get $state) (i32.const 3))
      (then
        (global.set $comments (i64.add (global.get $comments) (i64.const 1)))
        (global.set $state (i32.const 3)))))

  (func $other
    (if (i32.ne (global.get $state) (i32.const 3))
      (then
        (global.set $others (i64.add (global.get $others) (i64.const 1)))
        (global.set $state (i32.const 0)))))

  (func $scan (param $byte i32)
    (block $hash (block $end_of_line (block $space (block $digit (block $letter (block $other
      (br_table $other $letter $digit $space $end_of_line $hash
        (i32.load8_u (local.get $byte))))
      (call $other) (return))
      (call $letter) (return))
      (call $digit) (return))
      (call $space) (return))
      (call $end_of_line) (return))
    (call $hash))

  (func $digest (result i64)
    (i64.xor
      (i64.xor
        (i64.rotl (global.get $words) (i64.const 40))
        (i64.rotl (global.get $numbers) (i64.const 30)))
      (i64.xor
        (i64.rotl (global.get $comments) (i64.const 20))
        (i64.xor (i64.rotl (global.get $lines) (i64.const 10)) (global.get $others)))))

  (func (export "run") (param $n i64) (result i64)
    (local $at i64)
    (call $classify_all)
    (call $write_text)
    (block $done
      (loop $next
        (br_if $done (i64.ge_u (local.get $at) (local.get $n)))
        (call $scan
          (i32.load8_u offset=4096
            (i32.and (i32.wrap_i64 (local.get $at)) (i32.const 511))))
        (local.set $at (i64.add (local.get $at) (i64.const 1)))
        (br $next)))
    (call $digest)))
