//! Programs that run long or forever.

macro_rules! program {
    ($name:literal) => {
        include_str!(concat!("../../../../../benches/programs/", $name, ".wat"))
    };
}

/// Programs with an export that takes a number of steps, and a number that is quick.
pub const PROGRAMS: &[(&str, &str, &str, i64)] = &[
    ("fib", "run", program!("fib"), 12),
    ("orbits", "run", program!("orbits"), 10),
    ("gc_structs", "run", program!("gc_structs"), 20),
    ("round_trip", "run", program!("round_trip"), 50),
    ("create", "finish", program!("create"), 20),
    ("symmetric", "run", program!("symmetric"), 50),
    ("bag_switch", "run", program!("bag_switch"), 50),
    ("task_round_trip", "run", program!("task_round_trip"), 50),
    ("fiber_switch", "run", program!("fiber_switch"), 50),
    ("first_class_switch", "caught", program!("first_class_switch"), 50),
    ("first_class_switch", "called", program!("first_class_switch"), 50),
    ("first_class_switch", "thrown", program!("first_class_switch"), 50),
];

/// Functions that never return.
pub const ENDLESS: &[(&str, &str)] = &[
    ("a loop", "(func (export \"run\") (loop (br 0)))"),
    (
        "a loop with a value",
        "(func (export \"run\") (local i64)
           (loop (local.set 0 (i64.add (local.get 0) (i64.const 1))) (br 0)))",
    ),
    (
        "recursion",
        "(func $fib (param i64) (result i64)
           (if (result i64) (i64.lt_u (local.get 0) (i64.const 2))
             (then (local.get 0))
             (else (i64.add
               (call $fib (i64.sub (local.get 0) (i64.const 1)))
               (call $fib (i64.sub (local.get 0) (i64.const 2)))))))
         (func (export \"run\") (drop (call $fib (i64.const 90))))",
    ),
    ("a tail call", "(func $run (export \"run\") (return_call $run))"),
    (
        "tail calls through a table",
        "(type $f (func)) (table funcref (elem $a $b))
         (func $a (export \"run\") (return_call_indirect (type $f) (i32.const 1)))
         (func $b (return_call_indirect (type $f) (i32.const 0)))",
    ),
    (
        "a loop that catches what it throws",
        "(tag $t)
         (func (export \"run\")
           (loop (block (try_table (catch $t 0) (throw $t))) (br 0)))",
    ),
    (
        "continuations that switch to new ones",
        "(rec (type $f (func (param (ref null $k)))) (type $k (cont $f)))
         (tag $pass) (elem declare func $hop)
         (func $hop (type $f)
           (drop (switch $k $pass (cont.new $k (ref.func $hop)))))
         (func (export \"run\")
           (resume $k (on $pass switch) (ref.null $k) (cont.new $k (ref.func $hop))))",
    ),
    (
        "a generator that suspends for ever",
        "(type $f (func)) (type $k (cont $f)) (tag $t) (elem declare func $spin)
         (func $spin (suspend $t) (return_call $spin))
         (func $handle (param $k (ref $k))
           (block (result (ref $k)) (resume $k (on $t 0) (local.get $k)) (return))
           (return_call $handle))
         (func (export \"run\") (call $handle (cont.new $k (ref.func $spin))))",
    ),
    (
        "stacks of the bag that switch to new ones and retire",
        "(rec (type $f (func (param (ref null $k)))) (type $k (cont $f)))
         (import \"ropewalk:stack\" \"new\" (func $new (param (ref null $f)) (result (ref $k))))
         (import \"ropewalk:stack\" \"switch\"
           (func $switch (param (ref null $k)) (result (ref null $k))))
         (import \"ropewalk:stack\" \"switch_retire\" (func $retire (param (ref null $k))))
         (elem declare func $hop)
         (func $hop (type $f) (call $retire (call $new (ref.func $hop))))
         (func (export \"run\") (drop (call $switch (call $new (ref.func $hop)))))",
    ),
    (
        "two state machines that return_switch to each other",
        "(rec (type $to-a (stack (ref null $to-b))) (type $to-b (stack (ref null $to-a))))
         (func $odd (param $b (ref null $to-b)) (return_switch $to-b $even (local.get $b)))
         (func $even (param $b (ref null $to-b)) (return_switch $to-b $odd (local.get $b)))
         (func $b (param $a (ref null $to-a)) (return_switch $to-a $b (local.get $a)))
         (func (export \"run\") (return_switch $to-b $odd (stack.new $to-b $b)))",
    ),
    (
        "first-class stacks that call on new ones",
        "(rec
           (type $stack (cont $stack.func))
           (type $stack.func (func (param (ref null $stack) (ref null $stack)))))
         (type $f (func (param (ref null $stack))))
         (import \"host\" \"new_stack\" (func $new (result (ref null $stack))))
         (import \"ropewalk:first-class\" \"switch_call_trap\"
           (func $call (param (ref null $stack) (ref $f))))
         (elem declare func $hop $first)
         (func $first (type $f)
           (call $call (call $new) (ref.func $hop)))
         (func $hop (type $f)
           (drop (local.get 0)) (local.set 0 (ref.null $stack))
           (call $call (call $new) (ref.func $hop)))
         (func (export \"run\") (call $call (call $new) (ref.func $first)))",
    ),
    (
        "a heap that grows",
        "(type $list (struct (field (ref null $list)) (field i64 i64 i64 i64)))
         (func (export \"run\") (local $l (ref null $list))
           (loop
             (local.set $l
               (struct.new $list (local.get $l) (i64.const 1) (i64.const 2) (i64.const 3)
                 (i64.const 4)))
             (br 0)))",
    ),
    (
        "large arrays",
        "(type $a (array (mut i64)))
         (func (export \"run\")
           (loop (drop (array.new $a (i64.const 7) (i32.const 3000000))) (br 0)))",
    ),
];
