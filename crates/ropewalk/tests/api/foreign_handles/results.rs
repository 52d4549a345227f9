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
    }
}
