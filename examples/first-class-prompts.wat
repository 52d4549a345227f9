;; Delimited control with several prompts, built from first-class stacks. A
;; prompt runs its body on a new stack that redirects to its parent. To capture
;; up to a prompt, the running stack calls outwards by `call_stack`. Each other
;; prompt forwards the call, and the requested prompt switches to its own parent.
;; It passes the innermost stack with all redirections behind it. This stack is
;; the captured continuation, which can be resumed once.
;;
;; The body yields to an outer prompt, through an inner one. The handler adds up
;; the values, and resumes the body.
;;
;;   $ ropewalk run --invoke sum examples/first-class-prompts.wat 100
;;   5050
;;
;; The inner prompt provides a factor, and the outer one adds up the products:
;;
;;   $ ropewalk run --invoke products examples/first-class-prompts.wat 10
;;   550
;;
;; A handler that does not resume: the first number whose square is larger.
;;
;;   $ ropewalk run --invoke first-square-above examples/first-class-prompts.wat 50
;;   8

(module
  (import "host" "new_stack" (func $new-stack (result stackref)))

  (type $body (func (param i32) (result i32)))
  ;; Receives the captured continuation. Its result is the prompt's result.
  (type $handler (func (param stackref) (result i32)))

  (event $returned (param i32))
  (event $captured (param (ref $handler) stackref))
  (event $continue (param i32 stackref))
  (call_tag $control (param i32 (ref $handler)) (result i32))

  ;; ---- prompts

  (func $on-prompt (param $prompt i32) (param $body (ref $body)) (param $argument i32)
      (param $parent stackref)
    (local $wanted i32) (local $handler (ref null $handler)) (local $value i32)
    (stack.redirect $parent
      (answer $control
        (local.set $handler)
        (local.set $wanted)
        (if (result i32) (i32.ne (local.get $wanted) (local.get $prompt))
          (then
            (call_stack $control
              (local.get $wanted) (ref.as_non_null (local.get $handler))))
          (else
            (block $continued (result i32 stackref)
              (try
                (stack.switch $captured
                  (ref.as_non_null (local.get $handler)) (local.get_clear $parent))
                catch $continue $continued)
              (unreachable))
            ;; The code that continues it becomes its parent.
            (local.set_cleared $parent)))
       within
        (local.set $value (call_ref $body (local.get $argument) (local.get $body)))))
    (stack.switch_drop $returned (local.get $value) (local.get_clear $parent)))

  (func $prompt (param $prompt i32) (param $body (ref $body)) (param $argument i32) (result i32)
    (block $returned (result i32)
      (block $captured (result (ref $handler) stackref)
        (try
          (stack.switch_call $on-prompt
            (local.get $prompt) (local.get $body) (local.get $argument) (call $new-stack))
          catch $captured $captured
          catch $returned $returned)
        (unreachable))
      (return_call $handle)))

  ;; Resumes a captured continuation with a value.
  (func $continue (param $value i32) (param $captured stackref) (result i32)
    (block $returned (result i32)
      (block $captured (result (ref $handler) stackref)
        (try
          (stack.switch $continue (local.get $value) (local.get_clear $captured))
          catch $captured $captured
          catch $returned $returned)
        (unreachable))
      (return_call $handle)))

  (func $handle (param $handler (ref $handler)) (param $captured stackref) (result i32)
    (return_call_ref $handler (local.get_clear $captured) (local.get $handler)))

  ;; ---- effects

  (global $outer i32 (i32.const 1))
  (global $inner i32 (i32.const 2))
  (global $yielded (mut i32) (i32.const 0))
  (global $total (mut i32) (i32.const 0))
  (elem declare func $add-and-continue $answer-ten $give-up)

  (func $yield (param $value i32)
    (global.set $yielded (local.get $value))
    (drop (call_stack $control (global.get $outer) (ref.func $add-and-continue))))
  (func $add-and-continue (param $captured stackref) (result i32)
    (global.set $total (i32.add (global.get $total) (global.get $yielded)))
    (return_call $continue (i32.const 0) (local.get_clear $captured)))

  (func $ask (result i32) (call_stack $control (global.get $inner) (ref.func $answer-ten)))
  (func $answer-ten (param $captured stackref) (result i32)
    (return_call $continue (i32.const 10) (local.get_clear $captured)))

  (func $exit (param $value i32)
    (global.set $yielded (local.get $value))
    (drop (call_stack $control (global.get $outer) (ref.func $give-up))))
  ;; The captured continuation is dropped, and freed.
  (func $give-up (param $captured stackref) (result i32) (global.get $yielded))

  ;; ---- programs

  (elem declare func $yields $with-inner-yields $multiplies $with-inner-multiplies
    $searches $with-inner-searches)

  (func $yields (param $n i32) (result i32)
    (loop $next
      (call $yield (local.get $n))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n)))
    (i32.const 0))
  (func $with-inner-yields (param $n i32) (result i32)
    (call $prompt (global.get $inner) (ref.func $yields) (local.get $n)))
  (func (export "sum") (param $n i32) (result i32)
    (drop (call $prompt (global.get $outer) (ref.func $with-inner-yields) (local.get $n)))
    (global.get $total))

  (func $multiplies (param $n i32) (result i32)
    (loop $next
      (call $yield (i32.mul (call $ask) (local.get $n)))
      (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $next (local.get $n)))
    (i32.const 0))
  (func $with-inner-multiplies (param $n i32) (result i32)
    (call $prompt (global.get $inner) (ref.func $multiplies) (local.get $n)))
  (func (export "products") (param $n i32) (result i32)
    (drop (call $prompt (global.get $outer) (ref.func $with-inner-multiplies) (local.get $n)))
    (global.get $total))

  (func $searches (param $limit i32) (result i32)
    (local $i i32)
    (loop $next
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (if (i32.gt_u (i32.mul (local.get $i) (local.get $i)) (local.get $limit))
        (then (call $exit (local.get $i))))
      (br $next))
    (unreachable))
  (func $with-inner-searches (param $n i32) (result i32)
    (call $prompt (global.get $inner) (ref.func $searches) (local.get $n)))
  (func (export "first-square-above") (param $limit i32) (result i32)
    (call $prompt (global.get $outer) (ref.func $with-inner-searches) (local.get $limit))))
