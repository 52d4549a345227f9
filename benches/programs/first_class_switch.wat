;; Switching between first-class stacks: the players of symmetric.wat. The one that reaches zero
;; switches to the initial stack.
;; In `caught`, a try around the switch catches the event. In `called`, the event carries the
;; results of a function that runs on the other stack. In `thrown`, the caller of the switching
;; function catches it.
;; One operation is one stack.switch or stack.switch_call.
(module
  (rec
    (type $stack (cont $stack.func))
    (type $stack.func (func (param (ref null $stack) (ref null $stack)))))
  (type $player (func (param i64 i64 (ref null $stack))))
  (type $step (func (param i64 i64 (ref null $stack)) (result i64 i64 (ref null $stack))))
  (import "host" "new_stack" (func $new_stack (result (ref null $stack))))
  (import "ropewalk:first-class" "check_cleared"
    (func $check_cleared (param (ref null $stack))))
  (import "ropewalk:first-class" "switch" (func $switch (param i64 i64 (ref null $stack))))
  (import "ropewalk:first-class" "switch_call"
    (func $switch_call (param i64 i64 (ref null $stack) (ref $step))))
  (import "ropewalk:first-class" "switch_call_trap"
    (func $switch_call_trap (param i64 i64 (ref null $stack) (ref $player))))
  (import "ropewalk:first-class" "switch_drop"
    (func $switch_drop (param i64 (ref null $stack))))
  (tag $pass (param i64 i64 (ref null $stack)))
  (tag $done (param i64))
  (global $home (mut (ref null $stack)) (ref.null $stack))
  (elem declare func
    $begin_caught $play_caught $begin_called $play_called $begin_thrown $play_thrown $keep)

  (func (export "caught") (param $n i64) (result i64)
    (block $done (result i64)
      (try_table (catch $done $done)
        (call $switch_call_trap
          (local.get $n) (i64.const 1) (call $new_stack) (ref.func $begin_caught)))
      (unreachable)))

  (func (export "called") (param $n i64) (result i64)
    (block $done (result i64)
      (try_table (catch $done $done)
        (call $switch_call_trap
          (local.get $n) (i64.const 1) (call $new_stack) (ref.func $begin_called)))
      (unreachable)))

  (func (export "thrown") (param $n i64) (result i64)
    (block $done (result i64)
      (try_table (catch $done $done)
        (call $switch_call_trap
          (local.get $n) (i64.const 1) (call $new_stack) (ref.func $begin_thrown)))
      (unreachable)))

  ;; The first player creates the stack of the second, and starts it with the number.

  (func $begin_caught (type $player)
    (param $n i64) (param $mixed i64) (param $home (ref null $stack))
    (global.set $home (local.get $home))
    (local.set $home (ref.null $stack))
    (block $passed (result i64 i64 (ref null $stack))
      (try_table (catch $pass $passed)
        (call $switch_call_trap
          (i64.sub (local.get $n) (i64.const 1))
          (i64.add (i64.rotl (local.get $mixed) (i64.const 1)) (local.get $n))
          (call $new_stack)
          (ref.func $play_caught)))
      (unreachable))
    (return_call $play_caught))

  (func $begin_called (type $player)
    (param $n i64) (param $mixed i64) (param $home (ref null $stack))
    (global.set $home (local.get $home))
    (local.set $home (ref.null $stack))
    (block $passed (result i64 i64 (ref null $stack))
      (try_table (catch $pass $passed)
        (call $switch_call_trap
          (i64.sub (local.get $n) (i64.const 1))
          (i64.add (i64.rotl (local.get $mixed) (i64.const 1)) (local.get $n))
          (call $new_stack)
          (ref.func $play_called)))
      (unreachable))
    (return_call $play_called))

  (func $begin_thrown (type $player)
    (param $n i64) (param $mixed i64) (param $home (ref null $stack))
    (global.set $home (local.get $home))
    (local.set $home (ref.null $stack))
    (block $passed (result i64 i64 (ref null $stack))
      (try_table (catch $pass $passed)
        (call $switch_call_trap
          (i64.sub (local.get $n) (i64.const 1))
          (i64.add (i64.rotl (local.get $mixed) (i64.const 1)) (local.get $n))
          (call $new_stack)
          (ref.func $play_thrown)))
      (unreachable))
    (return_call $play_thrown))

  ;; Every loop contains the lowered forms of local.get_clear and local.set_cleared.

  (func $play_caught (type $player)
    (param $n i64) (param $mixed i64) (param $other (ref null $stack))
    (block $finished
      (loop $next
        (br_if $finished (i64.eqz (local.get $n)))
        (block $passed (result i64 i64 (ref null $stack))
          (try_table (catch $pass $passed)
            (i64.sub (local.get $n) (i64.const 1))
            (i64.add (i64.rotl (local.get $mixed) (i64.const 1)) (local.get $n))
            (local.get $other)
            (local.set $other (ref.null $stack))
            (block $sent
              (param i64 i64 (ref null $stack)) (result i64 i64 (ref null $stack))
              (try_table (param i64 i64 (ref null $stack)) (catch $pass $sent) (call $switch))
              (unreachable))
            (unreachable))
          (unreachable))
        (call $check_cleared (local.get $other))
        (local.set $other)
        (local.set $mixed)
        (local.set $n)
        (br $next)))
    (return_call $finish (local.get $mixed) (local.get $other)))

  (func $play_called (type $player)
    (param $n i64) (param $mixed i64) (param $other (ref null $stack))
    (block $finished
      (loop $next
        (br_if $finished (i64.eqz (local.get $n)))
        (block $passed (result i64 i64 (ref null $stack))
          (try_table (catch $pass $passed)
            (i64.sub (local.get $n) (i64.const 1))
            (i64.add (i64.rotl (local.get $mixed) (i64.const 1)) (local.get $n))
            (local.get $other)
            (local.set $other (ref.null $stack))
            (block $sent
              (param i64 i64 (ref null $stack)) (result i64 i64 (ref null $stack))
              (try_table (param i64 i64 (ref null $stack))
                (catch $pass $sent)
                (ref.func $keep) (call $switch_call))
              (unreachable))
            (unreachable))
          (unreachable))
        (call $check_cleared (local.get $other))
        (local.set $other)
        (local.set $mixed)
        (local.set $n)
        (br $next)))
    (return_call $finish (local.get $mixed) (local.get $other)))

  (func $play_thrown (type $player)
    (param $n i64) (param $mixed i64) (param $other (ref null $stack))
    (block $finished
      (loop $next
        (br_if $finished (i64.eqz (local.get $n)))
        (block $passed (result i64 i64 (ref null $stack))
          (try_table (catch $pass $passed)
            (i64.sub (local.get $n) (i64.const 1))
            (i64.add (i64.rotl (local.get $mixed) (i64.const 1)) (local.get $n))
            (local.get $other)
            (local.set $other (ref.null $stack))
            (call $pass))
          (unreachable))
        (call $check_cleared (local.get $other))
        (local.set $other)
        (local.set $mixed)
        (local.set $n)
        (br $next)))
    (return_call $finish (local.get $mixed) (local.get $other)))

  (func $pass (type $player)
    (param $n i64) (param $mixed i64) (param $other (ref null $stack))
    (block $sent (result i64 i64 (ref null $stack))
      (local.get $n)
      (local.get $mixed)
      (local.get $other)
      (local.set $other (ref.null $stack))
      (try_table (param i64 i64 (ref null $stack)) (catch $pass $sent) (call $switch))
      (unreachable))
    (unreachable))

  (func $keep (type $step)
    (local.get 0)
    (local.get 1)
    (local.get 2))

  (func $finish (param $mixed i64) (param $other (ref null $stack))
    (drop (local.get $other))
    (block $sent (result i64)
      (local.get $mixed)
      (global.get $home)
      (global.set $home (ref.null $stack))
      (try_table (param i64 (ref null $stack)) (catch $done $sent) (call $switch_drop))
      (unreachable))
    (unreachable)))
