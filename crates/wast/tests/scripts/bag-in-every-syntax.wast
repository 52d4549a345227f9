;; The instructions are accepted in every syntactic position.
;; They are plain and folded, in all blocks, next to comments and strings.

(module $stack.new
  (; stack.new $nothing (; switch $neither ;) ;)
  (type $switch (stack (param i32) (ref null $switch))) ;; switch $c
  (type $block-type (func (param i32 (ref null $switch)) (result i32 (ref null $switch))))
  (func $stack.bind (param $switch_retire i32) (param $stack.new (ref null $switch))
    loop $switch (param) (result)
      local.get $switch_retire
      i32.const 1
      i32.add
      local.get $stack.new
      switch $switch
      local.set $stack.new
      local.set $switch_retire
      br $switch
    end)
  (memory (export "switch $switch") (data "(stack.new $a $b)" "\"switch" ";;"))

  ;; In blocks with parameters, with and without a named type.
  (func (export "block") (result i32)
    i32.const 1
    stack.new $switch $stack.bind
    block $b (type $block-type)
      switch $switch
      br $b
    end
    block (param i32 (ref null $switch)) (result i32)
      drop
    end)
  (func (export "if") (param i32) (result i32)
    local.get 0
    if $l (result i32)
      i32.const 2
      stack.new $switch $stack.bind
      switch $switch
      drop
    else $l
      i32.const 3 stack.new $switch $stack.bind switch $switch drop
      i32.const 100
      i32.add
    end $l)
  (func (export "folded if") (param i32) (result i32)
    (if (result i32) (i32.eqz (local.get 0))
      (then (i32.const 4) (switch $switch (stack.new $switch $stack.bind)) (drop))
      (else (switch $switch (i32.const 5) (stack.new $switch $stack.bind)) drop)))
  (func (export "condition") (result i32)
    (local $s (ref null $switch))
    (if (result i32)
      (switch $switch (i32.const -1) (stack.new $switch $stack.bind)) (local.set $s)
      (then (i32.const 6))
      (else (i32.const 7))))
  (tag $e (param i32) (param (ref null $switch)))
  (func (export "try_table") (result i32)
    block $h (result i32 (ref null $switch))
      i32.const 8
      stack.new $switch $stack.bind
      try_table (type $block-type) (catch $e $h)
        switch $switch
      end
    end
    drop)
  ;; In unreachable code.
  (func (export "unreachable") (param i32) (result i32)
    (block $b (result i32)
      (br_if $b (i32.const 9) (i32.eqz (local.get 0)))
      (drop)
      (return (i32.const 10))
      (switch $switch)
      (drop)
      (drop)
      (stack.bind $switch $bound)
      (drop)
      (switch_throw $switch $e)
      (drop)
      (drop)
      (stack.new_ref $switch $body)
      (drop)
      (switch_retire $switch)))
  (type $bound (stack (ref null $switch)))
  (type $body (func (param i32) (param (ref null $switch))))
  ;; Operands on one line or several, with values below them.
  (func (export "below") (result i32)
    (i32.const 1000)
    (i32.const 11) (stack.new $switch $stack.bind) (switch $switch) (drop)
    (i32.add))
  (func (export "nested") (result i32)
    (switch $switch
      (switch $switch
        (switch $switch (i32.const 12) (stack.new $switch $stack.bind))
        (drop)
        (stack.new
          $switch
          ;; a comment in between
          $stack.bind))
      (drop)
      (stack.new $switch (; and here ;) $stack.bind))
    (drop))
  ;; Next to abbreviations.
  (global $kept (export "kept") (mut (ref null $switch)) (ref.null $switch))
  (table $table (export "table") (ref null $switch) (elem (ref.null $switch) (ref.null $switch)))
  (func $exported (export "one") (export "two") (param $n i32) (result i32)
    (local $s (ref null $switch)) (local i32 i64)
    (table.set $table (i32.const 1) (stack.new $switch $stack.bind))
    (switch $switch (local.get $n) (table.get $table (i32.const 1)))
    (local.set $s)
    (table.set $table (i32.const 1) (local.get $s))
    (block (param i32) (result i32)))
  (func $with-type (type $of) (switch $switch (local.get 0) (stack.new $switch $stack.bind)) (drop))
  (type $of (func (param i32) (result i32)))
  (export "with a type" (func $with-type)))

(assert_return (invoke "block") (i32.const 2))
(assert_return (invoke "if" (i32.const 1)) (i32.const 3))
(assert_return (invoke "if" (i32.const 0)) (i32.const 104))
(assert_return (invoke "folded if" (i32.const 0)) (i32.const 5))
(assert_return (invoke "folded if" (i32.const 1)) (i32.const 6))
(assert_return (invoke "condition") (i32.const 7))
(assert_return (invoke "try_table") (i32.const 9))
(assert_return (invoke "unreachable" (i32.const 0)) (i32.const 9))
(assert_return (invoke "unreachable" (i32.const 1)) (i32.const 10))
(assert_return (invoke "below") (i32.const 1012))
(assert_return (invoke "nested") (i32.const 15))
(assert_return (invoke "one" (i32.const 20)) (i32.const 21))
(assert_return (invoke "two" (i32.const 21)) (i32.const 22))
(assert_return (invoke "with a type" (i32.const 22)) (i32.const 23))
