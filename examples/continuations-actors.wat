;; Actors: each has a mailbox, and waits in `receive` until there is a message.
;; Here they form a ring. The first one receives a number. An actor that receives a
;; number other than zero sends one less to its neighbor. Zero stops all actors.
;; The number of messages:
;;
;;   $ ropewalk run --invoke ring examples/continuations-actors.wat 3 10
;;   11
;;   $ ropewalk run --invoke ring examples/continuations-actors.wat 1000 100000
;;   100001
;;
;; An actor that adds up messages and returns the sum:
;;
;;   $ ropewalk run --invoke sum examples/continuations-actors.wat 100
;;   5050

(module
  (type $body (func))
  (type $ready (cont $body))
  (type $got (func (param i32)))
  (type $waiting (cont $got))
  (type $numbered (func (param i32)))
  (type $new (cont $numbered))

  ;; The requests of an actor: wait for the next message, send a message to another
  ;; actor, and stop all actors.
  (tag $receive (result i32))
  (tag $send (param i32 i32))
  (tag $stop)

  ;; ---- the actors

  (elem declare func $member $adder)
  (global $messages (mut i32) (i32.const 0))
  (global $size (mut i32) (i32.const 0))

  (func $member (param $me i32)
    (local $n i32)
    (loop $next
      (local.set $n (suspend $receive))
      (global.set $messages (i32.add (global.get $messages) (i32.const 1)))
      (if (i32.eqz (local.get $n)) (then (suspend $stop)))
      (suspend $send
        (i32.rem_u (i32.add (local.get $me) (i32.const 1)) (global.get $size))
        (i32.sub (local.get $n) (i32.const 1)))
      (br $next)))

  ;; Adds up its messages until one is zero.
  (global $sum (mut i32) (i32.const 0))
  (func $adder (param $me i32)
    (local $n i32)
    (loop $next
      (local.set $n (suspend $receive))
      (global.set $sum (i32.add (global.get $sum) (local.get $n)))
      (br_if $next (local.get $n))))

  ;; ---- their world

  (type $message (struct (field $value i32) (field $next (mut (ref null $message)))))
  (type $mailbox (struct
    (field $first (mut (ref null $message))) (field $last (mut (ref null $message)))))
  (table $mailboxes 1024 (ref null $mailbox))
  (table $actors 1024 (ref null $waiting))
  ;; A ring of the actors that have messages.
  (memory 1)
  (global $first (mut i32) (i32.const 0))
  (global $last (mut i32) (i32.const 0))

  (func $post (param $to i32) (param $value i32)
    (local $mailbox (ref $mailbox))
    (local $message (ref $message))
    (local.set $mailbox (ref.as_non_null (table.get $mailboxes (local.get $to))))
    (local.set $message (struct.new $message (local.get $value) (ref.null $message)))
    (if (ref.is_null (struct.get $mailbox $first (local.get $mailbox)))
      (then (struct.set $mailbox $first (local.get $mailbox) (local.get $message)))
      (else
        (struct.set $message $next (struct.get $mailbox $last (local.get $mailbox))
          (local.get $message))))
    (struct.set $mailbox $last (local.get $mailbox) (local.get $message))
    (i32.store (global.get $last) (local.get $to))
    (global.set $last (i32.and (i32.add (global.get $last) (i32.const 4)) (i32.const 0xffff))))

  (func $take (param $mailbox (ref null $mailbox)) (result i32)
    (local $message (ref null $message))
    (local.set $message (struct.get $mailbox $first (local.get $mailbox)))
    (struct.set $mailbox $first (local.get $mailbox)
      (struct.get $message $next (local.get $message)))
    (struct.get $message $value (local.get $message)))

  ;; Creates an actor and runs it until it first waits for a message.
  (func $spawn (param $body (ref $numbered)) (param $number i32)
    (table.set $mailboxes (local.get $number)
      (struct.new $mailbox (ref.null $message) (ref.null $message)))
    (table.set $actors (local.get $number)
      (block $receives (result (ref $waiting))
        (resume $new (on $receive $receives) (local.get $number)
          (cont.new $new (local.get $body)))
        (return))))

  ;; Delivers messages until there are none, or an actor stops all.
  (func $run
    (local $number i32)
    (loop $next
      (if (i32.eq (global.get $first) (global.get $last)) (then (return)))
      (local.set $number (i32.load (global.get $first)))
      (global.set $first
        (i32.and (i32.add (global.get $first) (i32.const 4)) (i32.const 0xffff)))
      (br_if $next (call $deliver (local.get $number)))))

  ;; Runs an actor with its next message until it waits for another. Returns
  ;; whether the others continue.
  (func $deliver (param $number i32) (result i32)
    (local $actor (ref $ready))
    (block $stops (result (ref $ready))
      (block $receives (result (ref $waiting))
        (block $sends (result i32 i32 (ref $ready))
          (resume $waiting (on $receive $receives) (on $send $sends) (on $stop $stops)
            (call $take (table.get $mailboxes (local.get $number)))
            (table.get $actors (local.get $number)))
          (return (i32.const 1)))
        (loop $sent (param i32 i32 (ref $ready)) (result (ref $waiting))
          (local.set $actor)
          (call $post)
          (resume $ready (on $receive $receives) (on $send $sent) (on $stop $stops)
            (local.get $actor))
          (return (i32.const 1))))
      (call $wait (local.get $number))
      (return (i32.const 1)))
    (drop)
    (i32.const 0))
  (func $wait (param $actor (ref $waiting)) (param $number i32)
    (table.set $actors (local.get $number) (local.get $actor)))

  (func (export "ring") (param $size i32) (param $n i32) (result i32)
    (local $i i32)
    (global.set $size (local.get $size))
    (loop $next
      (call $spawn (ref.func $member) (local.get $i))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (local.get $size))))
    (call $post (i32.const 0) (local.get $n))
    (call $run)
    (global.get $messages))

  (func (export "sum") (param $n i32) (result i32)
    (call $spawn (ref.func $adder) (i32.const 7))
    (loop $next
      (call $post (i32.const 7) (local.get $n))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (i32.ge_s (local.get $n) (i32.const 0))))
    (call $run)
    (global.get $sum)))
