//! The collector: reachable objects survive any number of collections unchanged, and unreachable
//! ones are freed.

use crate::common::*;
use ropewalk::*;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const MIB: usize = 1 << 20;

/// Runs a program on every kind of engine, with large input, or with small input where every
/// allocation collects.
fn on_every_engine<N: Copy>(
    text: &str,
    large: N,
    small: N,
    program: impl Fn(&mut Store<()>, Instance, N),
) {
    let sizes = [(DEFAULT, large), (MOVE, large), (COLLECT, small), (COLLECT_AND_MOVE, small)];
    for (mode, size) in sizes {
        let (mut store, instance) = instantiate_in(&engine(mode), text);
        program(&mut store, instance, size);
    }
}

/// Calls a function with integers, for its `i64` result or none.
fn run(store: &mut Store<()>, instance: Instance, name: &str, arguments: &[i64]) -> i64 {
    let func = instance.get_func(&mut *store, name).expect("exported");
    let ty = func.ty(&*store).unwrap();
    let arguments: Vec<Val> = arguments
        .iter()
        .zip(ty.params())
        .map(|(&value, ty)| match ty {
            ValType::I32 => Val::I32(value as i32),
            _ => Val::I64(value),
        })
        .collect();
    let results = call(store, instance, name, &arguments);
    match results.unwrap_or_else(|error| panic!("{name}: {error:?}")).first() {
        Some(Val::I32(value)) => (*value).into(),
        Some(Val::I64(value)) => *value,
        None => 0,
        other => panic!("expected an integer, found {other:?}"),
    }
}

/// The random numbers of programs in Rust and in WebAssembly.
#[derive(Clone)]
struct Random(u32);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        self.0 >> 8
    }
}

/// The same in WebAssembly.
const RANDOM: &str = r#"
    (global $seed (mut i32) (i32.const 1))
    (func (export "seed") (param i32) (global.set $seed (local.get 0)))
    (func $random (result i32)
      (global.set $seed
        (i32.add (i32.mul (global.get $seed) (i32.const 1664525)) (i32.const 1013904223)))
      (i32.shr_u (global.get $seed) (i32.const 8)))"#;

// ---- programs

#[test]
fn a_list_of_a_million_nodes_is_collected_without_recursion() {
    let text = r#"(module
        (type $list (struct (field i64) (field (mut (ref null $list)))))
        (global $list (mut (ref null $list)) (ref.null $list))
        (func (export "build") (param $n i64)
          (loop $next
            (global.set $list (struct.new $list (local.get $n) (global.get $list)))
            (br_if $next (i64.ne (local.tee $n (i64.sub (local.get $n) (i64.const 1))) (i64.const 0)))))
        (func (export "sum") (result i64) (local $at (ref null $list)) (local $sum i64)
          (local.set $at (global.get $list))
          (block $end
            (loop $next
              (br_on_null $end (local.get $at))
              (local.set $sum
                (i64.add
                  (i64.mul (local.get $sum) (i64.const 3))
                  (struct.get $list 0 (local.get $at))))
              (local.set $at (struct.get $list 1)) (br $next)))
          (local.get $sum))
        (func (export "reverse")
          (local $at (ref null $list)) (local $next (ref null $list)) (local $back (ref null $list))
          (local.set $at (global.get $list))
          (block $end
            (loop $again
              (br_if $end (ref.is_null (local.get $at)))
              (local.set $next (struct.get $list 1 (local.get $at)))
              (struct.set $list 1 (local.get $at) (local.get $back))
              (local.set $back (local.get $at))
              (local.set $at (local.get $next)) (br $again)))
          (global.set $list (local.get $back)))
        (func (export "forget") (global.set $list (ref.null $list))))"#;
    on_every_engine(text, 1_000_000, 300, |store, instance, n| {
        run(store, instance, "build", &[n]);
        let sum = |numbers: &mut dyn Iterator<Item = i64>| {
            numbers.fold(0i64, |sum, x| sum.wrapping_mul(3).wrapping_add(x))
        };
        assert_eq!(run(store, instance, "sum", &[]), sum(&mut (1..=n)));
        store.gc();
        assert_eq!(run(store, instance, "sum", &[]), sum(&mut (1..=n)));
        assert_eq!(store.heap_used(), n as usize * 24);
        run(store, instance, "reverse", &[]);
        store.gc();
        assert_eq!(run(store, instance, "sum", &[]), sum(&mut (1..=n).rev()));
        run(store, instance, "forget", &[]);
        store.gc();
        assert_eq!(store.heap_used(), 0);
    });
}

/// A graph of nodes with edges to random others. The program follows the edges from the first node
/// with a worklist through the nodes.
const NODES: &str = r#"
    (rec (type $node (struct
      (field $id i32)
      (field $edges (mut (ref null $nodes)))
      (field $seen (mut i32))
      (field $work (mut (ref null $node)))))
    (type $nodes (array (mut (ref null $node)))))"#;

fn graph() -> String {
    format!(
        r#"(module {RANDOM} {NODES}
        (global $nodes (mut (ref null $nodes)) (ref.null $nodes))
        (global $round (mut i32) (i32.const 0))
        (func (export "build") (param $n i32) (param $degree i32)
          (local $i i32) (local $j i32) (local $edges (ref $nodes))
          (global.set $nodes (array.new_default $nodes (local.get $n)))
          (loop $next
            (array.set $nodes (global.get $nodes) (local.get $i)
              (struct.new $node (local.get $i) (ref.null $nodes) (i32.const 0) (ref.null $node)))
            (br_if $next
              (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
          (local.set $i (i32.const 0))
          (loop $next
            (local.set $edges (array.new_default $nodes (local.get $degree)))
            (local.set $j (i32.const 0))
            (loop $edge
              (array.set $nodes (local.get $edges) (local.get $j)
                (array.get $nodes (global.get $nodes) (i32.rem_u (call $random) (local.get $n))))
              (br_if $edge
                (i32.lt_u
                  (local.tee $j (i32.add (local.get $j) (i32.const 1)))
                  (local.get $degree))))
            (struct.set $node $edges
              (array.get $nodes (global.get $nodes) (local.get $i)) (local.get $edges))
            (br_if $next
              (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
        ;; From now on only the first node is known.
        (func (export "forget")
          (global.set $nodes
            (array.new_fixed $nodes 1 (array.get $nodes (global.get $nodes) (i32.const 0)))))
        (func (export "walk") (result i64)
          (local $work (ref null $node)) (local $at (ref null $node)) (local $to (ref null $node))
          (local $i i32) (local $sum i64)
          (global.set $round (i32.add (global.get $round) (i32.const 1)))
          (local.set $work (array.get $nodes (global.get $nodes) (i32.const 0)))
          (struct.set $node $seen (local.get $work) (global.get $round))
          (block $end
            (loop $next
              (br_if $end (ref.is_null (local.get $work)))
              (local.set $at (local.get $work))
              (local.set $work (struct.get $node $work (local.get $at)))
              (local.set $sum
                (i64.add
                  (local.get $sum)
                  (i64.extend_i32_u
                    (i32.add (struct.get $node $id (local.get $at)) (i32.const 1)))))
              (local.set $i (i32.const 0))
              (loop $edge
                (local.set $to
                  (array.get $nodes (struct.get $node $edges (local.get $at)) (local.get $i)))
                (if (i32.ne (struct.get $node $seen (local.get $to)) (global.get $round))
                  (then
                    (struct.set $node $seen (local.get $to) (global.get $round))
                    (struct.set $node $work (local.get $to) (local.get $work))
                    (local.set $work (local.get $to))))
                (br_if $edge
                  (i32.lt_u
                    (local.tee $i (i32.add (local.get $i) (i32.const 1)))
                    (array.len (struct.get $node $edges (local.get $at))))))
              (br $next)))
          (local.get $sum)))"#
    )
}

#[test]
fn a_graph_with_cycles_keeps_reachable_objects() {
    on_every_engine(&graph(), (20_000, 2), (60, 2), |store, instance, (n, degree)| {
        run(store, instance, "seed", &[7]);
        run(store, instance, "build", &[n, degree]);
        let mut random = Random(7);
        let edges: Vec<Vec<usize>> = (0..n)
            .map(|_| (0..degree).map(|_| random.next() as usize % n as usize).collect())
            .collect();
        let mut seen = vec![false; n as usize];
        let (mut work, mut sum, mut count) = (vec![0], 0, 0);
        seen[0] = true;
        while let Some(at) = work.pop() {
            sum += at as i64 + 1;
            count += 1;
            for &to in &edges[at] {
                if !std::mem::replace(&mut seen[to], true) {
                    work.push(to);
                }
            }
        }
        assert!(count > n as usize / 2 && count < n as usize, "some cannot be reached: {count}");
        assert_eq!(run(store, instance, "walk", &[]), sum);
        store.gc();
        assert_eq!(run(store, instance, "walk", &[]), sum);
        let everything = store.heap_used();
        run(store, instance, "forget", &[]);
        for _ in 0..3 {
            store.gc();
            assert_eq!(run(store, instance, "walk", &[]), sum);
        }
        assert_eq!(store.heap_used(), count * 72 + 24);
        assert!(store.heap_used() < everything);
    });
}

#[test]
fn trees_come_and_go_while_one_stays() {
    let text = r#"(module
        (type $tree (struct (field (ref null $tree)) (field (ref null $tree)) (field i32)))
        (func $build (param $depth i32) (param $id i32) (result (ref null $tree))
          (if (i32.eqz (local.get $depth)) (then (return (ref.null $tree))))
          (struct.new $tree
            (call $build
              (i32.sub (local.get $depth) (i32.const 1)) (i32.mul (local.get $id) (i32.const 2)))
            (call $build
              (i32.sub (local.get $depth) (i32.const 1))
              (i32.add (i32.mul (local.get $id) (i32.const 2)) (i32.const 1)))
            (local.get $id)))
        (func $sum (param $tree (ref null $tree)) (result i64)
          (if (ref.is_null (local.get $tree)) (then (return (i64.const 0))))
          (i64.add
            (i64.extend_i32_u (struct.get $tree 2 (local.get $tree)))
            (i64.add
              (call $sum (struct.get $tree 0 (local.get $tree)))
              (call $sum (struct.get $tree 1 (local.get $tree))))))
        (global $kept (mut (ref null $tree)) (ref.null $tree))
        (func (export "keep") (param i32) (global.set $kept (call $build (local.get 0) (i32.const 1))))
        (func (export "kept") (result i64) (call $sum (global.get $kept)))
        (func (export "temporary") (param i32) (result i64)
          (call $sum (call $build (local.get 0) (i32.const 1)))))"#;
    // The numbers 1 to 2^depth - 1.
    let sum = |depth: i64| ((1i64 << depth) - 1) * (1i64 << depth) / 2;
    on_every_engine(text, (16, 12, 300), (6, 5, 3), |store, instance, (kept, small, rounds)| {
        run(store, instance, "keep", &[kept]);
        for _ in 0..rounds {
            assert_eq!(run(store, instance, "temporary", &[small]), sum(small));
        }
        assert_eq!(run(store, instance, "kept", &[]), sum(kept));
        store.gc();
        assert_eq!(run(store, instance, "kept", &[]), sum(kept));
        assert_eq!(store.heap_used(), ((1 << kept) - 1) * 32);
    });
}

#[test]
fn arrays_of_arrays_of_objects_keep_their_places() {
    let text = r#"(module
        (type $cell (struct (field $row i32) (field $column i32)))
        (type $row (array (mut (ref null $cell)))) (type $matrix (array (mut (ref null $row))))
        (global $m (mut (ref null $matrix)) (ref.null $matrix))
        (func (export "build") (param $n i32)
          (local $i i32) (local $j i32) (local $row (ref $row))
          (global.set $m (array.new_default $matrix (local.get $n)))
          (loop $rows
            (local.set $row (array.new_default $row (local.get $n)))
            (array.set $matrix (global.get $m) (local.get $i) (local.get $row))
            (local.set $j (i32.const 0))
            (loop $columns
              (array.set $row (local.get $row) (local.get $j)
                (struct.new $cell (local.get $i) (local.get $j)))
              (br_if $columns
                (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (local.get $n))))
            (br_if $rows
              (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
        ;; A new matrix with the same cells.
        (func (export "transpose") (local $n i32) (local $i i32) (local $j i32)
          (local $to (ref $matrix)) (local $row (ref $row))
          (local.set $n (array.len (global.get $m)))
          (local.set $to (array.new_default $matrix (local.get $n)))
          (loop $rows
            (local.set $row (array.new_default $row (local.get $n)))
            (array.set $matrix (local.get $to) (local.get $i) (local.get $row))
            (local.set $j (i32.const 0))
            (loop $columns
              (array.set $row (local.get $row) (local.get $j)
                (array.get $row (array.get $matrix (global.get $m) (local.get $j)) (local.get $i)))
              (br_if $columns
                (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (local.get $n))))
            (br_if $rows
              (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
          (global.set $m (local.get $to)))
        ;; How many cells are not where they should be.
        (func (export "misplaced") (param $transposed i32) (result i32)
          (local $n i32) (local $i i32) (local $j i32) (local $wrong i32) (local $cell (ref null $cell))
          (local.set $n (array.len (global.get $m)))
          (loop $rows
            (local.set $j (i32.const 0))
            (loop $columns
              (local.set $cell
                (array.get $row (array.get $matrix (global.get $m) (local.get $i)) (local.get $j)))
              (local.set $wrong
                (i32.add (local.get $wrong)
                  (i32.or
                    (i32.ne
                      (struct.get $cell $row (local.get $cell))
                      (select (local.get $j) (local.get $i) (local.get $transposed)))
                    (i32.ne
                      (struct.get $cell $column (local.get $cell))
                      (select (local.get $i) (local.get $j) (local.get $transposed))))))
              (br_if $columns
                (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (local.get $n))))
            (br_if $rows
              (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
          (local.get $wrong)))"#;
    on_every_engine(text, 300, 12, |store, instance, n| {
        run(store, instance, "build", &[n]);
        assert_eq!(run(store, instance, "misplaced", &[0]), 0);
        for round in 1..8 {
            run(store, instance, "transpose", &[]);
            store.gc();
            assert_eq!(run(store, instance, "misplaced", &[round % 2]), 0, "round {round}");
        }
        let n = n as usize;
        let arrays = (n + 1) * (16 + n * 8);
        assert_eq!(store.heap_used(), arrays + n * n * 16, "the cells are shared");
    });
}

/// A hash table with chains that doubles when it is full.
const HASH_MAP: &str = r#"
    (rec (type $entry (struct
      (field $key i32) (field $value (mut (ref $boxed))) (field $next (mut (ref null $entry)))))
    (type $boxed (struct (field i64))))
    (type $buckets (array (mut (ref null $entry))))
    (global $map (mut (ref $buckets)) (array.new_default $buckets (i32.const 4)))
    (global $count (mut i32) (i32.const 0))
    (func (export "count") (result i32) (global.get $count))
    (func $bucket (param $key i32) (result i32)
      (i32.and
        (i32.mul (local.get $key) (i32.const 0x9e3779b1))
        (i32.sub (array.len (global.get $map)) (i32.const 1))))
    (func $find (param $key i32) (result (ref null $entry)) (local $at (ref null $entry))
      (local.set $at (array.get $buckets (global.get $map) (call $bucket (local.get $key))))
      (block $found
        (loop $next
          (br_if $found (ref.is_null (local.get $at)))
          (br_if $found (i32.eq (struct.get $entry $key (local.get $at)) (local.get $key)))
          (local.set $at (struct.get $entry $next (local.get $at))) (br $next)))
      (local.get $at))
    (func $get (export "get") (param $key i32) (result i64)
      (block $none (result (ref null none))
        (ref.null none)
        (br_on_null 0 (call $find (local.get $key)))
        (return (struct.get $boxed 0 (struct.get $entry $value))))
      (drop)
      (i64.const -1))
    (func $put (export "put") (param $key i32) (param $value i64)
      (local $entry (ref null $entry)) (local $bucket i32)
      (local.set $entry (call $find (local.get $key)))
      (if (ref.is_null (local.get $entry))
        (then
          (if (i32.ge_u (global.get $count) (array.len (global.get $map)))
            (then (call $double)))
          (global.set $count (i32.add (global.get $count) (i32.const 1)))
          (local.set $bucket (call $bucket (local.get $key)))
          (array.set $buckets (global.get $map) (local.get $bucket)
            (struct.new $entry
              (local.get $key)
              (struct.new $boxed (local.get $value))
              (array.get $buckets (global.get $map) (local.get $bucket)))))
        (else
          (struct.set $entry $value (local.get $entry) (struct.new $boxed (local.get $value))))))
    (func $double (local $old (ref $buckets)) (local $i i32) (local $bucket i32)
      (local $at (ref null $entry)) (local $next (ref null $entry))
      (local.set $old (global.get $map))
      (global.set $map
        (array.new_default $buckets (i32.mul (array.len (local.get $old)) (i32.const 2))))
      (loop $buckets
        (local.set $at (array.get $buckets (local.get $old) (local.get $i)))
        (block $end
          (loop $entries
            (br_if $end (ref.is_null (local.get $at)))
            (local.set $next (struct.get $entry $next (local.get $at)))
            (local.set $bucket (call $bucket (struct.get $entry $key (local.get $at))))
            (struct.set $entry $next (local.get $at)
              (array.get $buckets (global.get $map) (local.get $bucket)))
            (array.set $buckets (global.get $map) (local.get $bucket) (local.get $at))
            (local.set $at (local.get $next)) (br $entries)))
        (br_if $buckets
          (i32.lt_u
            (local.tee $i (i32.add (local.get $i) (i32.const 1)))
            (array.len (local.get $old))))))
    (func $remove (export "remove") (param $key i32)
      (local $at (ref null $entry)) (local $before (ref null $entry)) (local $bucket i32)
      (local.set $bucket (call $bucket (local.get $key)))
      (local.set $at (array.get $buckets (global.get $map) (local.get $bucket)))
      (block $end
        (loop $next
          (br_if $end (ref.is_null (local.get $at)))
          (if (i32.eq (struct.get $entry $key (local.get $at)) (local.get $key))
            (then
              (global.set $count (i32.sub (global.get $count) (i32.const 1)))
              (if (ref.is_null (local.get $before))
                (then
                  (array.set $buckets (global.get $map) (local.get $bucket)
                    (struct.get $entry $next (local.get $at))))
                (else
                  (struct.set $entry $next (local.get $before)
                    (struct.get $entry $next (local.get $at)))))
              (br $end)))
          (local.set $before (local.get $at))
          (local.set $at (struct.get $entry $next (local.get $at))) (br $next))))
    (func (export "work") (param $operations i32) (param $keys i32)
      (local $key i32) (local $what i32)
      (loop $next
        (local.set $key (i32.rem_u (call $random) (local.get $keys)))
        (local.set $what (i32.and (call $random) (i32.const 3)))
        (if (local.get $what)
          (then
            (call $put (local.get $key)
              (i64.mul (i64.extend_i32_u (call $random)) (i64.const 1_000_003))))
          (else (call $remove (local.get $key))))
        (br_if $next (local.tee $operations (i32.sub (local.get $operations) (i32.const 1))))))"#;

#[test]
fn a_hash_map_of_structs_agrees_with_one_of_the_host() {
    let text = format!("(module {RANDOM} {HASH_MAP})");
    let sizes = ((100_000, 5_000), (300, 40));
    on_every_engine(&text, sizes.0, sizes.1, |store, instance, (operations, keys)| {
        let mut random = Random(1);
        let mut map = HashMap::new();
        for _ in 0..3 {
            run(store, instance, "work", &[operations, keys]);
            for _ in 0..operations {
                let key = random.next() % keys as u32;
                match random.next() & 3 {
                    0 => drop(map.remove(&key)),
                    _ => drop(map.insert(key, i64::from(random.next()) * 1_000_003)),
                }
            }
            assert_eq!(run(store, instance, "count", &[]), map.len() as i64);
            store.gc();
            for key in 0..keys {
                let expected = map.get(&(key as u32)).copied().unwrap_or(-1);
                assert_eq!(run(store, instance, "get", &[key]), expected, "key {key}");
            }
        }
    });
}

#[test]
fn closures_keep_what_they_close_over() {
    let text = r#"(module
        (rec
          (type $code (func (param (ref $closure) i64) (result i64)))
          (type $closure (sub (struct (field $code (ref $code))))))
        (type $adder (sub $closure (struct (field $code (ref $code)) (field $n i64))))
        (type $counter (sub $closure (struct (field $code (ref $code)) (field $n (mut i64)))))
        (type $composed (sub $closure
          (struct (field $code (ref $code)) (field $f (ref $closure)) (field $g (ref $closure)))))
        (elem declare func $add $count $compose)
        (func $apply (param $f (ref $closure)) (param $x i64) (result i64)
          (return_call_ref $code
            (local.get $f) (local.get $x) (struct.get $closure $code (local.get $f))))
        (func $add (type $code)
          (i64.add (local.get 1) (struct.get $adder $n (ref.cast (ref $adder) (local.get 0)))))
        (func $count (type $code) (local $self (ref $counter))
          (local.set $self (ref.cast (ref $counter) (local.get 0)))
          (struct.set $counter $n (local.get $self)
            (i64.add (struct.get $counter $n (local.get $self)) (i64.const 1)))
          (i64.add (local.get 1) (struct.get $counter $n (local.get $self))))
        (func $compose (type $code) (local $self (ref $composed))
          (local.set $self (ref.cast (ref $composed) (local.get 0)))
          (return_call $apply
            (struct.get $composed $g (local.get $self))
            (call $apply (struct.get $composed $f (local.get $self)) (local.get 1))))
        (global $f (mut (ref null $closure)) (ref.null none))
        (global $counter (mut (ref null $closure)) (ref.null none))
        ;; x -> x + 1 + counter + 2 + counter + ... + n + counter
        (func (export "build") (param $n i64)
          (local $f (ref $closure)) (local $counter (ref $counter)) (local $i i64)
          (local.set $counter (struct.new $counter (ref.func $count) (i64.const 0)))
          (global.set $counter (local.get $counter))
          (local.set $f (struct.new $adder (ref.func $add) (i64.const 0)))
          (loop $next
            (local.set $i (i64.add (local.get $i) (i64.const 1)))
            (local.set $f
              (struct.new $composed (ref.func $compose)
                (local.get $f)
                (struct.new $composed (ref.func $compose)
                  (struct.new $adder (ref.func $add) (local.get $i))
                  (local.get $counter))))
            (br_if $next (i64.lt_u (local.get $i) (local.get $n))))
          (global.set $f (local.get $f)))
        (func (export "call") (param i64) (result i64)
          (call $apply (ref.as_non_null (global.get $f)) (local.get 0))))"#;
    on_every_engine(text, 2000, 40, |store, instance, n| {
        run(store, instance, "build", &[n]);
        let sum = |from: i64, to: i64| (from..=to).sum::<i64>();
        assert_eq!(run(store, instance, "call", &[5]), 5 + sum(1, n) + sum(1, n));
        store.gc();
        assert_eq!(run(store, instance, "call", &[5]), 5 + sum(1, n) + sum(n + 1, 2 * n));
    });
}

#[test]
fn strings_are_arrays_of_bytes() {
    let text = r#"(module
        (type $string (array (mut i8))) (type $strings (array (mut (ref null $string))))
        (data $digits "0123456789")
        (data $words "alpha beta gamma delta ")
        (global $all (mut (ref $strings)) (array.new_default $strings (i32.const 0)))
        (func $concat (param $a (ref $string)) (param $b (ref $string)) (result (ref $string))
          (local $to (ref $string))
          (local.set $to
            (array.new_default $string
              (i32.add (array.len (local.get $a)) (array.len (local.get $b)))))
          (array.copy $string $string
            (local.get $to) (i32.const 0) (local.get $a) (i32.const 0) (array.len (local.get $a)))
          (array.copy $string $string
            (local.get $to) (array.len (local.get $a))
            (local.get $b) (i32.const 0) (array.len (local.get $b)))
          (local.get $to))
        (func $number (param $n i32) (result (ref $string)) (local $digit (ref $string))
          (local.set $digit
            (array.new_data $string $digits (i32.rem_u (local.get $n) (i32.const 10)) (i32.const 1)))
          (if (i32.lt_u (local.get $n) (i32.const 10)) (then (return (local.get $digit))))
          (call $concat (call $number (i32.div_u (local.get $n) (i32.const 10))) (local.get $digit)))
        (func (export "build") (param $n i32) (local $i i32)
          (global.set $all (array.new_default $strings (local.get $n)))
          (loop $next
            (array.set $strings (global.get $all) (local.get $i)
              (call $concat
                (array.new_data $string $words (i32.const 11) (i32.const 6))
                (call $number (i32.mul (local.get $i) (i32.const 37)))))
            (br_if $next
              (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n)))))
        (func (export "join") (result (ref $string)) (local $i i32) (local $to (ref $string))
          (local.set $to (array.new_fixed $string 0))
          (loop $next
            (local.set $to
              (call $concat (local.get $to)
                (ref.as_non_null (array.get $strings (global.get $all) (local.get $i)))))
            (br_if $next
              (i32.lt_u
                (local.tee $i (i32.add (local.get $i) (i32.const 1)))
                (array.len (global.get $all)))))
          (local.get $to)))"#;
    on_every_engine(text, 1000, 30, |store, instance, n| {
        run(store, instance, "build", &[n]);
        store.gc();
        let joined = call(store, instance, "join", &[]).unwrap()[0];
        let Val::AnyRef(Some(joined)) = joined else { panic!("a string") };
        let joined = joined.as_array(&*store).unwrap().unwrap();
        let expected: String = (0..n).map(|i| format!("gamma {}", i * 37)).collect();
        assert_eq!(joined.len(&*store).unwrap(), expected.len() as u32);
        let found: Vec<u8> = (0..expected.len())
            .map(|i| joined.get(&mut *store, i as u32).unwrap().i32().unwrap() as u8)
            .collect();
        assert_eq!(String::from_utf8(found).unwrap(), expected);
    });
}

#[test]
fn objects_of_every_layout_are_copied_whole() {
    let text = r#"(module
        (type $empty (struct))
        (type $odd (struct (field i8) (field i16) (field i8) (field anyref) (field v128) (field f32)))
        (type $i8 (array i8)) (type $i16 (array i16)) (type $i32 (array i32)) (type $i64 (array i64))
        (type $f32 (array f32)) (type $f64 (array f64)) (type $v128 (array v128))
        (type $any (array (mut anyref))) (type $func (array funcref))
        (func $f (export "f"))
        (global $all (export "all") (mut (ref $any)) (array.new_default $any (i32.const 0)))
        (func (export "build") (param $n i32)
          (global.set $all
            (array.new_fixed $any 11
              (struct.new $empty)
              (struct.new $odd
                (local.get $n) (local.get $n) (i32.const 3) (ref.i31 (local.get $n))
                (i32x4.splat (local.get $n)) (f32.convert_i32_s (local.get $n)))
              (array.new $i8 (local.get $n) (local.get $n))
              (array.new $i16 (local.get $n) (local.get $n))
              (array.new $i32 (local.get $n) (local.get $n))
              (array.new $i64 (i64.extend_i32_u (local.get $n)) (local.get $n))
              (array.new $f32 (f32.convert_i32_u (local.get $n)) (local.get $n))
              (array.new $f64 (f64.convert_i32_u (local.get $n)) (local.get $n))
              (array.new $v128 (i32x4.splat (local.get $n)) (local.get $n))
              (array.new $any (ref.i31 (local.get $n)) (local.get $n))
              (array.new $func (ref.func $f) (local.get $n))))))"#;
    let lengths = [0, 1, 2, 3, 7, 8, 9, 100, 5000];
    for (mut store, instance) in instances(text) {
        for n in lengths {
            run(&mut store, instance, "build", &[n]);
            store.gc();
            store.gc();
            check_layouts(&mut RootScope::new(&mut store), instance, n as u32);
        }
    }
}

fn check_layouts(store: &mut RootScope<&mut Store<()>>, instance: Instance, n: u32) {
    let all = instance.get_global(&mut *store, "all").unwrap();
    let element = |store: &mut RootScope<&mut Store<()>>, of: Val, index: u32| {
        let Val::AnyRef(Some(of)) = of else { panic!("not null") };
        let of = of.as_array(&*store).unwrap().expect("an array");
        of.get(store, index).unwrap()
    };
    let all = all.get(&mut *store).unwrap();
    let Val::AnyRef(Some(odd)) = element(store, all, 1) else { panic!("not null") };
    let odd = odd.as_struct(&*store).unwrap().unwrap();
    let fields: Vec<Val> = (0..6).map(|i| odd.field(&mut *store, i).unwrap()).collect();
    assert_eq!((fields[0].i32(), fields[1].i32()), (Some(n as u8 as i32), Some(n as u16 as i32)));
    assert_eq!((fields[2].i32(), fields[5].f32()), (Some(3), Some(n as f32)));
    let lanes = (0..4).fold(0, |lanes, _| lanes << 32 | u128::from(n));
    assert_eq!(fields[4].v128(), Some(lanes));
    for number in 2..11 {
        let array = element(store, all, number);
        for index in [0, n / 2, n.saturating_sub(1)].into_iter().filter(|index| *index < n) {
            match element(store, array, index) {
                Val::I32(value) if number == 2 => assert_eq!(value as u32, n & 0xff),
                Val::I32(value) => assert_eq!(value as u32, n),
                Val::I64(value) => assert_eq!(value, i64::from(n)),
                Val::F32(bits) => assert_eq!(f32::from_bits(bits), n as f32),
                Val::F64(bits) => assert_eq!(f64::from_bits(bits), f64::from(n)),
                Val::V128(value) => assert_eq!(value, lanes),
                Val::AnyRef(value) => {
                    assert_eq!(value.unwrap().as_i31(&*store).unwrap(), Some(n));
                }
                Val::FuncRef(value) => value.unwrap().call(&mut *store, &[], &mut []).unwrap(),
                other => panic!("found {other:?}"),
            }
        }
    }
}

// ---- the size of the heap

#[test]
fn gigabytes_of_garbage_need_no_room() {
    let text = r#"(module
        (type $object (struct
          (field i64) (field i64) (field i64) (field i64) (field i64) (field i64) (field i64)
          (field i64) (field i64) (field i64) (field i64) (field i64) (field i64) (field i64)
          (field i64)))
        (type $pool (array (mut (ref null $object))))
        (global $pool (ref $pool) (array.new_default $pool (i32.const 100)))
        ;; Keeps the last hundred objects.
        (func (export "churn") (param $n i64)
          (loop $next
            (array.set $pool (global.get $pool)
              (i32.wrap_i64 (i64.rem_u (local.get $n) (i64.const 100)))
              (struct.new $object
                (local.get $n) (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4)
                (i64.const 5) (i64.const 6) (i64.const 7) (i64.const 8) (i64.const 9)
                (i64.const 10) (i64.const 11) (i64.const 12) (i64.const 13) (local.get $n)))
            (br_if $next
              (i64.ne (local.tee $n (i64.sub (local.get $n) (i64.const 1))) (i64.const 0)))))
        (func (export "check") (result i64) (local $i i32) (local $sum i64)
          (loop $next
            (local.set $sum
              (i64.add (local.get $sum)
                (i64.mul
                  (struct.get $object 0 (array.get $pool (global.get $pool) (local.get $i)))
                  (struct.get $object 14 (array.get $pool (global.get $pool) (local.get $i))))))
            (br_if $next
              (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 100))))
          (local.get $sum)))"#;
    on_every_engine(text, (16, 1_000_000), (2, 500), |store, instance, (rounds, objects)| {
        let mut most = 0;
        for _ in 0..rounds {
            run(store, instance, "churn", &[objects]);
            most = most.max(store.heap_used());
            assert_eq!(run(store, instance, "check", &[]), (1..=100).map(|n| n * n).sum::<i64>());
        }
        let allocated = rounds as usize * objects as usize * 128;
        assert!(most <= 2 * MIB, "{most} bytes are used, for {allocated}");
        assert!(store.collections() as usize >= allocated / (2 * MIB));
        store.gc();
        assert_eq!(store.heap_used(), 100 * 128 + 16 + 800);
    });
}

#[test]
fn the_heap_shrinks_again_after_it_was_large() {
    let text = r#"(module
        (type $bytes (array (mut i8)))
        (type $list (struct (field (ref $bytes)) (field (ref null $list))))
        (global $list (mut (ref null $list)) (ref.null $list))
        (func (export "grow") (param $n i32)
          (loop $next
            (global.set $list
              (struct.new $list
                (array.new $bytes (local.get $n) (i32.const 10_000)) (global.get $list)))
            (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
        (func (export "forget") (global.set $list (ref.null $list)))
        (func (export "churn") (param $n i32)
          (loop $next
            (drop (array.new $bytes (local.get $n) (i32.const 100)))
            (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))))"#;
    let (mut store, instance) = instantiate(text);
    for _ in 0..3 {
        run(&mut store, instance, "grow", &[5000]);
        assert!(store.heap_used() >= 50_000_000);
        run(&mut store, instance, "forget", &[]);
        store.gc();
        assert_eq!(store.heap_used(), 0);
        for _ in 0..10 {
            run(&mut store, instance, "churn", &[100_000]);
            assert!(store.heap_used() <= 2 * MIB, "{}", store.heap_used());
        }
    }
}

#[test]
fn room_that_small_objects_leave_serves_a_large_one() {
    let text = r#"(module
        (type $small (struct (field i64) (field i64) (field i64)))
        (type $smalls (array (mut (ref null $small)))) (type $bytes (array (mut i8)))
        (global $smalls (ref $smalls) (array.new_default $smalls (i32.const 180_000)))
        (global $large (mut (ref null $bytes)) (ref.null $bytes))
        (func (export "fill") (local $i i32)
          (loop $next
            (if (ref.is_null (array.get $smalls (global.get $smalls) (local.get $i)))
              (then
                (array.set $smalls (global.get $smalls) (local.get $i)
                  (struct.new $small
                    (i64.extend_i32_u (local.get $i)) (i64.const 0) (i64.const 0)))))
            (br_if $next
              (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 180_000)))))
        (func (export "every second") (local $i i32)
          (loop $next
            (array.set $smalls (global.get $smalls) (local.get $i) (ref.null $small))
            (br_if $next
              (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 2))) (i32.const 180_000)))))
        (func (export "large") (global.set $large (array.new $bytes (i32.const 7) (i32.const 2_700_000))))
        (func (export "forget") (global.set $large (ref.null $bytes)))
        (func (export "check") (result i64) (local $i i32) (local $sum i64)
          (loop $next
            (if (i32.eqz (ref.is_null (array.get $smalls (global.get $smalls) (local.get $i))))
              (then
                (local.set $sum
                  (i64.add (local.get $sum)
                    (struct.get $small 0 (array.get $smalls (global.get $smalls) (local.get $i)))))))
            (br_if $next
              (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 180_000))))
          (local.get $sum)))"#;
    // The small objects and their table take 7.2 of 8 MB.
    let engine = Engine::new(Config::new().max_heap(8_000_000)).unwrap();
    let (mut store, instance) = instantiate_in(&engine, text);
    let (every, second): (i64, i64) =
        ((0..180_000).sum(), (0..180_000).filter(|i| i % 2 == 1).sum());
    for _ in 0..5 {
        run(&mut store, instance, "fill", &[]);
        assert_eq!(run(&mut store, instance, "check", &[]), every);
        traps(call(&mut store, instance, "large", &[]), TrapCode::OutOfMemory);
        assert_eq!(run(&mut store, instance, "check", &[]), every);
        run(&mut store, instance, "every second", &[]);
        run(&mut store, instance, "large", &[]);
        assert_eq!(run(&mut store, instance, "check", &[]), second);
        assert!(store.heap_used() <= 8_000_000);
        run(&mut store, instance, "forget", &[]);
    }
}

#[test]
fn a_store_without_objects_has_no_heap() {
    let mut store = Store::new(&Engine::default(), ());
    assert_eq!((store.heap_used(), store.collections()), (0, 0));
    store.gc();
    assert_eq!((store.heap_used(), store.collections()), (0, 1));
}

#[test]
fn many_instances_share_a_heap() {
    let text = r#"(module
        (type $list (struct (field i32) (field (ref null $list))))
        (global $list (mut (ref null $list)) (struct.new $list (i32.const 1) (ref.null $list)))
        (table 3 anyref)
        (func (export "push") (param i32)
          (global.set $list (struct.new $list (local.get 0) (global.get $list)))
          (table.set (i32.const 2) (global.get $list)))
        (func (export "sum") (result i32) (local $at (ref null $list)) (local $sum i32)
          (local.set $at (ref.cast (ref null $list) (table.get (i32.const 2))))
          (loop $next
            (local.set $sum (i32.add (local.get $sum) (struct.get $list 0 (local.get $at))))
            (local.set $at (struct.get $list 1 (local.get $at)))
            (br_if $next (i32.eqz (ref.is_null (local.get $at)))))
          (local.get $sum)))"#;
    for engine in engines() {
        let module = Module::new(&engine, text).unwrap();
        let mut store = Store::new(&engine, ());
        let instances: Vec<_> =
            (0..20).map(|_| Instance::new(&mut store, &module, &[]).unwrap()).collect();
        for round in 1..=10 {
            for (i, instance) in instances.iter().enumerate() {
                run(&mut store, *instance, "push", &[round * i as i64]);
            }
        }
        store.gc();
        for (i, instance) in instances.iter().enumerate() {
            assert_eq!(run(&mut store, *instance, "sum", &[]), 1 + 55 * i as i64);
        }
        assert_eq!(store.heap_used(), 20 * 11 * 24);
    }
}

#[test]
fn an_element_segment_keeps_its_objects_until_it_is_dropped() {
    let text = r#"(module
        (type $s (struct (field i64))) (type $array (array (mut (ref null $s))))
        (elem $passive (ref $s) (struct.new $s (i64.const 1)) (struct.new $s (i64.const 2)))
        (elem $declared declare (ref $s) (struct.new $s (i64.const 3)))
        (table $t 1 (ref null $s))
        (elem $active (table $t) (i32.const 0) (ref $s) (struct.new $s (i64.const 4)))
        (func (export "get") (param i32) (result i64)
          (struct.get $s 0
            (array.get $array
              (array.new_elem $array $passive (local.get 0) (i32.const 1)) (i32.const 0))))
        (func (export "drop") (elem.drop $passive))
        (func (export "clear") (table.set $t (i32.const 0) (ref.null $s))))"#;
    for (mut store, instance) in instances(text) {
        store.gc();
        assert_eq!(store.heap_used(), 3 * 16);
        assert_eq!(run(&mut store, instance, "get", &[0]), 1);
        assert_eq!(run(&mut store, instance, "get", &[1]), 2);
        run(&mut store, instance, "drop", &[]);
        store.gc();
        assert_eq!(store.heap_used(), 16);
        run(&mut store, instance, "clear", &[]);
        store.gc();
        assert_eq!(store.heap_used(), 0);
    }
}

// ---- values of the host

/// Calls a function with a new host value, and keeps no handle.
fn give(store: &mut Store<()>, instance: Instance, name: &str, alive: &Arc<AtomicUsize>) {
    let mut scope = RootScope::new(store);
    let value = ExternRef::new(&mut scope, Counted::new(alive)).unwrap();
    let func = instance.get_func(&mut scope, name).unwrap();
    func.call(&mut scope, &[value.into()], &mut []).unwrap();
}

#[test]
fn a_host_value_is_dropped_when_nothing_refers_to_it() {
    for engine in engines() {
        let alive = Arc::new(AtomicUsize::new(0));
        let mut store = Store::new(&engine, ());
        let kept = ExternRef::new(&mut store, Counted::new(&alive)).unwrap();
        {
            let mut scope = RootScope::new(&mut store);
            for _ in 0..10 {
                ExternRef::new(&mut scope, Counted::new(&alive)).unwrap();
            }
        }
        assert!(alive.load(Ordering::Relaxed) >= 1);
        store.gc();
        assert_eq!(alive.load(Ordering::Relaxed), 1, "only the one with a handle is left");
        store.gc();
        assert!(kept.data(&store).unwrap().is::<Counted>());
        let owned = kept.own(&mut store).unwrap();
        drop(store);
        assert_eq!(alive.load(Ordering::Relaxed), 0, "none outlives its store");
        drop(owned);
    }
}

#[test]
fn indices_of_dropped_host_values_are_reused() {
    let mut store = Store::new(&Engine::default(), ());
    let alive = Arc::new(AtomicUsize::new(0));
    let mut kept = Vec::new();
    for round in 0..20 {
        for i in 0..100 {
            let mut scope = RootScope::new(&mut store);
            let value = ExternRef::new(&mut scope, (Counted::new(&alive), round, i)).unwrap();
            if i % 10 == 0 {
                kept.push((value.own(&mut scope).unwrap(), round, i));
            }
        }
        if round % 3 == 0 {
            kept.retain(|(_, _, i)| *i != 50);
        }
        store.gc();
        assert_eq!(alive.load(Ordering::Relaxed), kept.len());
        for (owned, round, i) in &kept {
            let mut scope = RootScope::new(&mut store);
            let value = owned.get(&mut scope).unwrap();
            let data = value.data(&scope).unwrap().downcast_ref::<(Counted, i32, i32)>().unwrap();
            assert_eq!((data.1, data.2), (*round, *i));
        }
    }
}

const KEEPERS: &str = r#"(module
    (type $box (struct (field (mut externref)))) (type $boxes (array (mut anyref)))
    (tag $e (param externref)) (global $global (mut externref) (ref.null extern))
    (table $table 3 externref)
    (global $any (mut anyref) (ref.null any)) (global $exn (mut exnref) (ref.null exn))
    (func (export "global") (param externref) (global.set $global (local.get 0)))
    (func (export "table") (param externref) (table.set $table (i32.const 2) (local.get 0)))
    (func (export "grown") (param externref) (drop (table.grow $table (local.get 0) (i32.const 1))))
    (func (export "struct") (param externref) (global.set $any (struct.new $box (local.get 0))))
    (func (export "array") (param externref)
      (global.set $any (array.new $boxes (any.convert_extern (local.get 0)) (i32.const 50))))
    (func (export "nested") (param externref)
      (global.set $any
        (array.new_fixed $boxes 2
          (ref.null any) (array.new_fixed $boxes 1 (struct.new $box (local.get 0))))))
    (func (export "inside") (param externref) (global.set $any (any.convert_extern (local.get 0))))
    (func (export "exception") (param externref)
      (global.set $exn
        (block $h (result exnref)
          (try_table (catch_all_ref $h) (throw $e (local.get 0))) (unreachable))))
    (func (export "forget")
      (global.set $global (ref.null extern))
      (table.fill $table (i32.const 0) (ref.null extern) (table.size $table))
      (global.set $any (ref.null any))
      (global.set $exn (ref.null exn)))
    (func (export "ignore") (param externref)))"#;

#[test]
fn a_host_value_stays_while_wasm_keeps_it_anywhere() {
    for (mut store, instance) in instances(KEEPERS) {
        let alive = Arc::new(AtomicUsize::new(0));
        let count = |store: &mut Store<()>| {
            store.gc();
            alive.load(Ordering::Relaxed)
        };
        give(&mut store, instance, "ignore", &alive);
        assert_eq!(count(&mut store), 0);
        let keepers =
            ["global", "table", "grown", "struct", "array", "nested", "inside", "exception"];
        for keeper in keepers {
            give(&mut store, instance, keeper, &alive);
            assert_eq!(count(&mut store), 1, "{keeper}");
            assert_eq!(count(&mut store), 1, "{keeper}");
            // Another value replaces it. The heap stays as large.
            give(&mut store, instance, keeper, &alive);
            assert_eq!(count(&mut store), if keeper == "grown" { 2 } else { 1 }, "{keeper}");
            call(&mut store, instance, "forget", &[]).unwrap();
            assert_eq!(count(&mut store), 0, "{keeper}");
        }
    }
}

#[test]
fn a_host_value_stays_while_a_frame_has_it() {
    let text = r#"(module
        (type $box (struct (field externref)))
        (import "host" "new" (func $new (result externref)))
        (import "host" "alive" (func $alive (result i32)))
        (func $use (param externref))
        ;; In a local, an operand, a box, and in a caller's.
        (func (export "run") (result i32 i32 i32)
          (local $kept externref) (local $box (ref $box)) (local $most i32) (local $some i32)
          (local.set $kept (call $new))
          (local.set $box (struct.new $box (call $new)))
          (call $new)
          (local.set $most (call $inner))
          (call $use)
          (local.set $some (call $alive))
          (call $use (struct.get $box 0 (local.get $box)))
          (call $use (local.get $kept))
          (local.get $most) (local.get $some) (call $alive))
        (func $inner (result i32) (local $own externref)
          (local.set $own (call $new))
          (call $alive)
          (call $use (local.get $own))))"#;
    // More than a mebibyte of garbage, where not every allocation collects.
    for (engine, rounds) in engines().into_iter().zip([700, 700, 1, 1]) {
        let alive = Arc::new(AtomicUsize::new(0));
        let mut linker = Linker::new(&engine);
        let counter = alive.clone();
        linker.host("new", move |mut caller: Caller<'_, ()>| {
            ExternRef::new(&mut caller, Counted::new(&counter)).map(Some)
        });
        let counter = alive.clone();
        linker.host("alive", move |mut caller: Caller<'_, ()>| -> Result<i32> {
            for _ in 0..rounds {
                let mut scope = RootScope::new(&mut caller);
                for i in 0..100 {
                    ExternRef::new(&mut scope, i)?;
                }
            }
            Ok(counter.load(Ordering::Relaxed) as i32)
        });
        let (mut store, instance) = link(&linker, (), text);
        assert_eq!(
            invoke::<(), (i32, i32, i32)>(&mut store, instance, "run", ()).unwrap(),
            (4, 2, 0)
        );
    }
}
