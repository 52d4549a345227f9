//! What host functions return: values, suspensions and pending calls of another store.

use super::*;
use crate::common::{After, block_on};
use std::sync::{Arc, Mutex};

pub fn rows() -> Vec<Row> {
    table! {m, t:
        "a host function returns a function" STORE => {
            let theirs = t.run();
            let func = Func::wrap(&mut m.store, move || Some(theirs));
            func.call(&mut m.store, &[], &mut [Val::FuncRef(None)])
        };
        "a host function returns an object" STORE => {
            let theirs = t.any();
            let func = Func::wrap(&mut m.store, move || Some(theirs));
            func.call(&mut m.store, &[], &mut [Val::AnyRef(None)])
        };
        "a host function returns a value" STORE => {
            let (theirs, ty) = (t.object(), FuncType::new([], [ValType::Ref(RefType::ANYREF)]));
            let func = Func::new(&mut m.store, ty, move |_, _, results| {
                results[0] = theirs;
                Ok(())
            });
            func.unwrap().call(&mut m.store, &[], &mut [Val::AnyRef(None)])
        };
        "a host function returns an owned object" STORE => {
            let theirs = t.pair().own(&mut t.store).unwrap();
            let func = Func::wrap(&mut m.store, move || Some(theirs.clone()));
            func.call(&mut m.store, &[], &mut [Val::AnyRef(None)])
        };
        "a host function returns a continuation" STORE => {
            let theirs = Mutex::new(Some(t.continuation()));
            let func = Func::wrap(&mut m.store, move || theirs.lock().unwrap().take());
            func.call(&mut m.store, &[], &mut [Val::ContRef(None)])
        };
        "a host function returns an object later" STORE => {
            let theirs = t.any();
            let func = Func::wrap_async(&mut m.store, move |_: Caller<'_, ()>, (): ()| {
                Box::new(async move {
                    After(1).await;
                    Some(theirs)
                })
            });
            block_on(func.call_async(&mut m.store, &[], &mut [Val::AnyRef(None)]))
        };
        "a host function returns a value later" STORE => {
            let (theirs, ty) = (t.object(), FuncType::new([], [ValType::Ref(RefType::ANYREF)]));
            let func = Func::new_async(&mut m.store, ty, move |_, _, results| {
                Box::new(async move {
                    After(1).await;
                    results[0] = theirs;
                    Ok(())
                })
            });
            block_on(func.unwrap().call_async(&mut m.store, &[], &mut [Val::AnyRef(None)]))
        };
        "a host function returns a pending call" STORE => {
            let slot = Arc::new(Mutex::new(None));
            let put = slot.clone();
            let theirs = Func::wrap(&mut t.store, move |caller: Caller<'_, ()>| {
                *put.lock().unwrap() = Some(caller.later(|_| Box::pin(async {})));
            });
            theirs.call(&mut t.store, &[], &mut []).unwrap();
            let mine = Func::wrap(&mut m.store, move || -> Result<()> {
                Err(slot.lock().unwrap().take().unwrap().into())
            });
            block_on(mine.call_async(&mut m.store, &[], &mut []))
        };
        "Suspension::new" STORE => {
            let theirs = t.tag("failure");
            let func = Func::wrap(&mut m.store, move || -> Result<()> {
                Err(Suspension::new(theirs, &[Val::I32(1)]).into())
            });
            let continuation = Continuation::new(&mut m.store, func).unwrap();
            continuation.resume(&mut m.store, &[])
        };
        "Suspension::new" STORE => {
            let (tag, theirs) = (m.tag("holds"), t.object());
            let func = Func::wrap(&mut m.store, move || -> Result<()> {
                Err(Suspension::new(tag, &[theirs]).into())
            });
            let continuation = Continuation::new(&mut m.store, func).unwrap();
            continuation.resume(&mut m.store, &[])
        };
        "Suspension::of_fiber" STORE => {
            let (theirs, go) = (t.fiber(), m.tag("go"));
            let func = Func::wrap(&mut m.store, move || -> Result<i32> {
                Err(Suspension::of_fiber(&theirs, go, &[Val::I32(1)], go).into())
            });
            func.call(&mut m.store, &[], &mut [Val::I32(0)])
        };
        "Suspension::of_fiber" STORE => {
            let (mine, go, theirs) = (m.fiber(), m.tag("go"), t.tag("go"));
            let func = Func::wrap(&mut m.store, move || -> Result<i32> {
                Err(Suspension::of_fiber(&mine, theirs, &[Val::I32(1)], go).into())
            });
            func.call(&mut m.store, &[], &mut [Val::I32(0)])
        };
        "Suspension::of_fiber" STORE => {
            let (mine, go, theirs) = (m.fiber(), m.tag("go"), t.tag("go"));
            let func = Func::wrap(&mut m.store, move || -> Result<i32> {
                Err(Suspension::of_fiber(&mine, go, &[Val::I32(1)], theirs).into())
            });
            func.call(&mut m.store, &[], &mut [Val::I32(0)])
        };
        "Suspension::of_fiber" STORE => {
            let (mine, go, holds, theirs) = (m.fiber(), m.tag("go"), m.tag("holds"), t.object());
            let func = Func::wrap(&mut m.store, move || -> Result<i32> {
                Err(Suspension::of_fiber(&mine, holds, &[theirs], go).into())
            });
            func.call(&mut m.store, &[], &mut [Val::I32(0)])
        };
        "Suspension::of_task" STORE => {
            let theirs = t.task();
            let func = Func::wrap(&mut m.store, move || -> Result<Option<AnyRef>> {
                Err(Suspension::of_task(&theirs, &[Val::I64(1)]).into())
            });
            func.call(&mut m.store, &[], &mut [Val::AnyRef(None)])
        };
        "Suspension::send_to" STORE, event = m.tag("event") =>
            Suspension::send_to(&mut m.store, t.stack_ref(), event, &[Val::AnyRef(None)]);
        "Suspension::send_to" STORE, stack = m.stack_ref() =>
            Suspension::send_to(&mut m.store, stack, t.tag("event"), &[Val::AnyRef(None)]);
        "Suspension::send_to" STORE => {
            let (stack, event, theirs) = (m.stack_ref(), m.tag("event"), t.object());
            let left = Suspension::send_to(&mut m.store, stack, event, &[theirs]).unwrap();
            fails_once(&mut m.store, left)
        };
        "Suspension::send_to" STORE => {
            let (stack, event) = (t.stack_ref(), t.tag("event"));
            let left = Suspension::send_to(&mut t.store, stack, event, &[Val::AnyRef(None)]);
            fails_once(&mut m.store, left.unwrap())
        };
        "Suspension::switch_to" STORE => {
            let stack = t.bag_stack().into_ref(&mut t.store).unwrap();
            let left = Suspension::switch_to(stack, &[Val::AnyRef(None)]);
            fails_once(&mut m.store, left)
        };
    }
}

/// Calls a host function that fails with a suspension.
fn fails_once(store: &mut Store<()>, suspension: Suspension) -> Result<()> {
    let slot = Mutex::new(Some(suspension));
    let func = Func::wrap(&mut *store, move || -> Result<()> {
        Err(slot.lock().unwrap().take().unwrap().into())
    });
    func.call(store, &[], &mut [])
}
