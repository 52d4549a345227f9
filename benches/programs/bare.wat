;; A module without a memory or a table. `empty` does nothing and `identity`
;; returns its argument; entering them from Rust is one operation.
(module
  (func (export "empty"))
  (func (export "identity") (param i64) (result i64) (local.get 0)))
