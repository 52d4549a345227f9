;; Unknown words and names are malformed, and so are most numeric indices.

(assert_malformed (module quote "(type $t (task (param (ref null $u))))") "unknown type")
(assert_malformed (module quote "(type $t (task (result i32) (param i32)))") "")
(assert_malformed (module quote "(type $t (task i32))") "")
(assert_malformed (module quote "(type $t (taskref))") "")
(assert_malformed (module quote "(type $t (taskref (i32)))") "")
(assert_malformed (module quote "(type $t (taskref (i32) (i32) (i32)))") "")
(assert_malformed (module quote "(type $t (taskref (i33) ()))") "")
(assert_malformed (module quote "(type $t (task))" "(func (drop (task.new $t $f)))") "unknown func")
(assert_malformed (module quote "(type $t (task))" "(func (drop (task.new $t)))") "")
(assert_malformed (module quote "(type $t (task))" "(func (task.end $t))") "unknown operator")
(assert_malformed (module quote "(type $t (task))" "(func (task.yield $t (ref.null $t)))") "unknown operator")
(assert_malformed
  (module quote "(type $t (task))" "(func (param (ref null $t)) (task.resume $u (local.get 0)))")
  "unknown type")
(assert_malformed
  (module quote "(type $t (task))" "(func (param (ref null $t)) (task.resume (local.get 0)))")
  "")
(assert_malformed
  (module quote "(type $t (task))"
    "(func (param (ref null $t)) (task.switchto $t (local.get 0) (local.get 0)))")
  "")

;; ---- Indices.

(assert_malformed
  (module quote "(type $t (task))" "(func (param (ref null $t)) (task.resume 0 (local.get 0)))")
  "")
(assert_malformed
  (module quote "(type $t (task))" "(func $f (param (ref null $t)))"
    "(func (drop (task.new $t 0)))")
  "")
(assert_malformed
  (module quote "(type $t (task))"
    "(func (param (ref null $t)) (task.switchto $t 0 (local.get 0) (local.get 0)))")
  "")
(assert_malformed (module quote "(type $t (task))" "(func $f)" "(func (call 0))") "")
(assert_malformed (module quote "(type $t (task))" "(func (loop $l (br 0)))") "")
(assert_malformed (module quote "(type $t (task))" "(tag $e)" "(func (throw 0))") "")
(assert_malformed (module quote "(type $t (task))" "(func (param (ref null 0)))") "")
(assert_malformed (module quote "(type $t (task (param (ref null 0))))") "")

;; ---- The notation of the document on tasks.

(assert_malformed
  (module quote "(type $generatorTask (taskref (i32) (i32 i32)))"
    "(func $arrayGenerator (param $thisTask $generatorTask))")
  "a reference to a type is written `(ref null $generatorTask)`")
(assert_malformed
  (module quote "(type $generatorTask (taskref () ()))" "(func (local $generator $generatorTask))")
  "a reference to a type is written `(ref null $generatorTask)`")
(assert_malformed
  (module quote "(type $generatorTask (taskref () ()))"
    "(func $arrayGenerator (param $thisTask (ref null $generatorTask)))"
    "(func (drop (task.new $arrayGenerator)))")
  "write `task.new $generatorTask $arrayGenerator`")
