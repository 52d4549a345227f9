;; Text that the standard grammar rejects is malformed in dialect modules too.

;; Unbalanced blocks.
(assert_malformed (module quote "(type $t (task)) (func block $l)") "unexpected end")
(assert_malformed (module quote "(type $t (task)) (func end)") "unexpected token")
(assert_malformed (module quote "(type $t (task)) (func (block end))") "unexpected token")
(assert_malformed (module quote "(type $t (task)) (func else)") "unexpected token")
(assert_malformed (module quote "(type $t (task)) (func (catch_all))") "unexpected token")
(assert_malformed (module quote "(event $e) (func block $l)") "unexpected end")
(assert_malformed (module quote "(event $e) (func end)") "unexpected token")
(assert_malformed (module quote "(event $e) (func else)") "unexpected token")
(assert_malformed
  (module quote "(global $g fiberref (ref.null fiber) end)")
  "unexpected token")

;; A second start function.
(assert_malformed
  (module quote "(type $t (task)) (func $f) (start $f) (start $f)")
  "multiple start sections")

;; An import after a definition.
(assert_malformed
  (module quote "(tag $a) (tag $b (import \"m\" \"x\"))")
  "import after tag")
(assert_malformed
  (module quote "(tag $a) (import \"m\" \"x\" (func $b))")
  "import after tag")
(assert_malformed
  (module quote "(type $f (func)) (type $k (cont $f)) (tag $a) (tag $b (import \"m\" \"x\"))")
  "import after tag")
(assert_malformed
  (module quote "(type $c (stack (ref null $c))) (tag $a) (tag $b (import \"m\" \"x\"))")
  "import after tag")
(assert_malformed
  (module quote "(type $c (stack (ref null $c))) (func $a) (tag $b (import \"m\" \"x\"))")
  "import after function")
(assert_malformed
  (module quote "(type $t (task)) (tag $a) (memory $b (import \"m\" \"x\") 1)")
  "import after tag")
(assert_malformed
  (module quote "(type $t (task)) (table $a 1 funcref) (tag $b (import \"m\" \"x\"))")
  "import after table")
(assert_malformed
  (module quote "(global (import \"m\" \"g\") fiberref) (tag $a) (global $b (import \"m\" \"x\") i32)")
  "import after tag")
(assert_malformed
  (module quote "(global (import \"m\" \"g\") fiberref) (memory $a 1) (tag $b (import \"m\" \"x\"))")
  "import after memory")
(assert_malformed
  (module quote "(event $a) (event $b (import \"m\" \"x\"))")
  "import after tag")
(assert_malformed
  (module quote "(event $a) (import \"m\" \"x\" (event $b))")
  "import after tag")
(assert_malformed
  (module quote "(event $a) (table $b (import \"m\" \"x\") 1 funcref)")
  "import after tag")
(assert_malformed
  (module quote "(event $e (import \"m\" \"e\")) (global $a i32 (i32.const 0)) (event $b (import \"m\" \"x\"))")
  "import after global")
(assert_malformed
  (module quote "(call_tag $a) (call_tag $b (import \"m\" \"x\"))")
  "import after tag")
(assert_malformed
  (module quote "(call_tag $a) (event $b (import \"m\" \"x\"))")
  "import after tag")
