//! Every limit of a running store at its very last value: one less works, the last one works, one
//! more is an error or a trap that says which limit it was, and the store can be used and dropped
//! afterwards.
//!
//! Where the true limit is far too large for a test, the engine is made with a smaller one: the
//! code that meets it is the same.

mod common;
use common::*;
use ropewalk::*;

/// A continuation that is kept is one more stack; `hold` keeps so many more, `forget` none.
const KEEPS: &str = r#"(module
    (type $f (func)) (type $c (cont $f))
    (type $node (struct (field (ref null $node)) (field (ref null $c))))
    (import "host" "f" (func $host))
    (global $kept (mut (ref null $node)) (ref.null $node))
    (func $body)
    (elem declare func $body)
    (func (export "hold") (param $n i32)
      (loop $more
        (global.set $kept
          (struct.new $node (global.get $kept) (cont.new $c (ref.func $body))))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "host") (call $host))
    (func (export "nothing"))
    (func (export "forget") (global.set $kept (ref.null $node))))"#;

/// Whether the store does what it did before, when there was nothing in it.
fn check_usable(store: &mut Store<()>, instance: Instance) {
    number(store, instance, "forget", &[]).unwrap();
    store.gc();
    number(store, instance, "hold", &[3]).unwrap();
    number(store, instance, "forget", &[]).unwrap();
    store.gc();
}

fn reenters(mut caller: Caller<'_, ()>) -> Result<()> {
    let nothing = caller.get_export("nothing").and_then(Extern::into_func).unwrap();
    nothing.typed::<(), ()>(&caller)?.call(&mut caller, ())
}

#[test]
fn the_last_block_of_the_table_is_used_and_then_no_stack_is_made() {
    // With these numbers a table ends in the middle of a page, and at the end of one.
    for blocks in [2000, 2048, 2049, 4096 - 256] {
        for pool in [1, 16] {
            let config = &mut Config::new();
            let engine = Engine::new(config.max_blocks(blocks).stack_pool(pool)).unwrap();
            // The table of a store is that of the next one.
            for _ in 0..3 {
                let (mut store, instance) = with_host(&engine, KEEPS, reenters);
                // Block 0, and the root.
                let most = blocks as i32 - 2;
                number(&mut store, instance, "hold", &[most - 1]).unwrap();
                number(&mut store, instance, "hold", &[1]).unwrap();
                let error = number(&mut store, instance, "hold", &[1]).unwrap_err();
                assert_eq!(trap(&error).code(), TrapCode::TooManyStacks);
                let detail = format!("a store never has more than {} stacks", blocks - 1);
                assert_eq!(trap(&error).detail(), Some(&*detail));
                // There is no block for another root either.
                assert_eq!(
                    code(number(&mut store, instance, "host", &[])),
                    TrapCode::TooManyStacks
                );
                check_usable(&mut store, instance);
            }
        }
    }
}

#[test]
fn a_block_that_a_stack_has_left_serves_a_call_within_a_call() {
    let config = &mut Config::new();
    let engine = Engine::new(config.max_blocks(1000).park_always(true)).unwrap();
    let (mut store, instance) = with_host(&engine, KEEPS, reenters);
    assert_eq!(code(number(&mut store, instance, "hold", &[999])), TrapCode::TooManyStacks);
    assert_eq!(code(number(&mut store, instance, "host", &[])), TrapCode::TooManyStacks);
    // Their blocks have no memory afterwards.
    number(&mut store, instance, "forget", &[]).unwrap();
    store.gc();
    number(&mut store, instance, "host", &[]).unwrap();
    check_usable(&mut store, instance);
}

#[test]
fn as_many_stacks_as_are_allowed_live_at_the_same_time() {
    for most in [1, 2, 15, 16, 17, 1023, 1024, 1025] {
        let engine = Engine::new(Config::new().max_stacks(most)).unwrap();
        let (mut store, instance) = with_host(&engine, KEEPS, reenters);
        if most > 1 {
            number(&mut store, instance, "hold", &[most as i32 - 1]).unwrap();
        }
        number(&mut store, instance, "hold", &[1]).unwrap();
        let error = number(&mut store, instance, "hold", &[1]).unwrap_err();
        assert_eq!(trap(&error).code(), TrapCode::TooManyStacks);
        let detail = format!("a store may have {most} stacks (Config::max_stacks)");
        assert_eq!(trap(&error).detail(), Some(&*detail));
        // A root is not one of them.
        number(&mut store, instance, "host", &[]).unwrap();
        number(&mut store, instance, "forget", &[]).unwrap();
        store.gc();
        number(&mut store, instance, "hold", &[most as i32]).unwrap();
    }
}
