//! Handles that outlive their store.

use super::*;
use std::collections::HashSet;
use std::thread;

#[test]
fn a_handle_of_a_dead_store_is_refused_by_the_stores_that_come_after_it() {
    let [(engine, module), _] = two_engines();
    // A new store soon gets the memory of an old one.
    for _ in 0..50 {
        let mut dead = Home::new(&engine, &module);
        let (func, memory, tag, any) = (dead.run(), dead.memory(), dead.tag("ask"), dead.any());
        let (owned, exception) = (dead.pair().own(&mut dead.store).unwrap(), dead.exception());
        let (continuation, task) = (dead.typed_continuation(), dead.task());
        drop(dead);
        let mut mine = Home::new(&engine, &module);
        let store = &mut mine.store;
        let outcomes = [
            func.call(&mut *store, &[], &mut [Val::I32(0)]).outcome(),
            memory.write(&mut *store, 0, &[1]).outcome(),
            tag.ty(&*store).outcome(),
            any.as_struct(&*store).outcome(),
            owned.get(&mut *store).outcome(),
            exception.tag(&mut *store).outcome(),
            continuation.resume(&mut *store, None).outcome(),
            task.ty(&*store).outcome(),
            task.resume(&mut *store, &[Val::AnyRef(None)]).outcome(),
        ];
        for outcome in outcomes {
            assert!(Expected::WrongStore.is(&outcome), "{outcome:?}");
        }
        mine.check_whole();
    }
}

#[test]
fn no_two_stores_have_the_same_identity() {
    let engine = Engine::default();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let engine = engine.clone();
            thread::spawn(move || {
                let ids = (0..2000).map(|_| {
                    // The function is at the address of the last store's function.
                    let mut store = Store::new(&engine, ());
                    let func = Func::wrap(&mut store, || ());
                    func.id(&store).unwrap()
                });
                ids.collect::<Vec<FuncId>>()
            })
        })
        .collect();
    let ids: Vec<FuncId> = threads.into_iter().flat_map(|ids| ids.join().unwrap()).collect();
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
}

#[test]
fn owned_references_are_dropped_after_their_store_on_another_thread() {
    let [(engine, module), _] = two_engines();
    for _ in 0..20 {
        let mut home = Home::new(&engine, &module);
        let (restored, call) = home.restored();
        let owned = home.pair().own(&mut home.store).unwrap();
        let mine = (home.exception(), home.continuation(), home.task(), home.fiber());
        let stacks = (home.bag_stack(), home.first_class_stack(), home.typed_continuation());
        let copies = vec![owned.clone(); 100];
        drop((home, restored));
        let dropping = thread::spawn(move || drop((owned, mine, stacks, call)));
        drop(copies);
        dropping.join().unwrap();
    }
}

#[test]
fn owned_references_are_dropped_on_another_thread_while_their_store_collects() {
    let [(engine, module), _] = two_engines();
    let mut home = Home::new(&engine, &module);
    for _ in 0..20 {
        let owned: Vec<_> = (0..100).map(|_| home.pair().own(&mut home.store).unwrap()).collect();
        let stacks: Vec<_> = (0..100).map(|_| home.continuation()).collect();
        let dropping = thread::spawn(move || drop((owned, stacks)));
        for _ in 0..20 {
            home.check_whole();
        }
        dropping.join().unwrap();
    }
    home.check_whole();
    assert_eq!(home.store.stack_statistics().live, 0);
}
