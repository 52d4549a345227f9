;; What the grammar of the text refuses is malformed, also in a module that
;; uses a dialect.

;; blocks that are not balanced
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

;; a second start
(assert_malformed
  (module quote "(type $t (task)) (func $f) (start $f) (start $f)")
  "multiple start sections")
