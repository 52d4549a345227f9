;; `body` recurs to the depth of its argument, and suspends there.
(module
  (tag $wait)
  (func $body (export "body") (param $depth i32) (result i32)
    (if (result i32) (local.get $depth)
      (then
        (i32.add (local.get $depth)
          (call $body (i32.sub (local.get $depth) (i32.const 1)))))
      (else (suspend $wait) (i32.const 0)))))
