;; A library of generators, which are tasks. It knows nothing of threads.
(module $generators
  (type $generator (task (result i32 i32)))
  (type $body (func (param (ref null $generator) i32)))

  (func $enter
    (param $me (ref null $generator)) (param $body (ref $body)) (param $argument i32)
    (result i32 i32)
    (call_ref $body (local.get $me) (local.get $argument) (local.get $body))
    (i32.const 0)
    (i32.const 1))

  ;; A generator that runs a function with this argument.
  (func (export "new") (param $body (ref $body)) (param $argument i32)
    (result (ref $generator))
    (task.new $generator $enter (local.get $body) (local.get $argument)))

  ;; The next element, and whether the generator has ended instead.
  (func (export "next") (param $generator (ref null $generator)) (result i32 i32)
    (task.resume $generator (local.get $generator)))

  ;; Yields an element from the function of a generator, or a function that it calls.
  (func (export "yield") (param $generator (ref null $generator)) (param $element i32)
    (task.suspend $generator (local.get $generator) (local.get $element) (i32.const 0))))
