;; A module without a memory or a table. `empty` does nothing, and `identity` returns its argument.
;; One operation is one call from Rust.
(module
  (func (export "empty"))
  (func (export "identity") (param i64) (result i64) (local.get 0)))
