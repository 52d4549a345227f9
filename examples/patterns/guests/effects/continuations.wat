;; Nested effect handlers with typed continuations: `suspend` finds the handler of its tag, at any
;; distance. The inner handler answers `$get`, and the outer one adds up what is passed to `$log`.
(module
  (type $with-value (func (param i64)))
  (type $waiting (cont $with-value))
  (type $body (func))
  (type $rest (cont $body))
  (tag $get (result i64))
  (tag $log (param i64))

  (func $program (param $n i64)
    (local $i i64)
    (loop $next
      (if (i64.lt_u (local.get $i) (local.get $n))
        (then
          (local.set $i (i64.add (local.get $i) (i64.const 1)))
          (suspend $log (i64.mul (local.get $i) (suspend $get)))
          (br $next)))))

  (func $handle-get (param $value i64)
    (local $program (ref null $waiting)) (local $number i64)
    (local.set $program (cont.new $waiting (ref.func $program)))
    (loop $next
      (block $asked (result (ref $waiting))
        (resume $waiting (on $get $asked) (local.get $value) (local.get $program))
        (return))
      (local.set $program)
      (local.set $value (local.tee $number (i64.add (local.get $number) (i64.const 1))))
      (br $next)))
  (elem declare func $program $handle-get)

  (func (export "run") (param $n i64) (result i64)
    (local $rest (ref null $rest)) (local $total i64)
    (local.set $rest
      (cont.bind $waiting $rest (local.get $n) (cont.new $waiting (ref.func $handle-get))))
    (loop $next
      (block $logged (result i64 (ref $rest))
        (resume $rest (on $log $logged) (local.get $rest))
        (return (local.get $total)))
      (local.set $rest)
      (local.set $total (i64.add (local.get $total)))
      (br $next))
    (unreachable)))
