;; Short-lived structs: run(n) allocates n pairs, each from the fields of its predecessor, which is
;; then garbage.
;; One operation is one allocation and two reads.
(module
  (type $pair (struct (field $a i64) (field $b i64)))

  (func $successor (param $last (ref $pair)) (param $i i64) (result (ref $pair))
    (struct.new $pair
      (i64.add (struct.get $pair $b (local.get $last)) (local.get $i))
      (i64.xor (struct.get $pair $a (local.get $last)) (i64.const 0x5bd1e995))))

  (func (export "run") (param $n i64) (result i64)
    (local $last (ref $pair))
    (local.set $last (struct.new $pair (i64.const 1) (i64.const 2)))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $last (call $successor (local.get $last) (local.get $n)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (i64.add
      (struct.get $pair $a (local.get $last))
      (struct.get $pair $b (local.get $last)))))
