//! Continuations, tasks, fibers and other stacks that the host holds.

use super::*;
use crate::common::polling::block_on;

pub fn rows() -> Vec<Row> {
    [references(), continuations(), typed_continuations(), tasks(), fibers(), others()]
        .into_iter()
        .flatten()
        .collect()
}

fn references() -> Vec<Row> {
    table! {m, t:
        "ContRef::backtrace" STORE => t.cont_ref().backtrace(&m.store);
        "ContRef::bytes" STORE => t.cont_ref().bytes(&m.store);
        "ContRef::design" STORE => t.cont_ref().design(&m.store);
        "ContRef::is_suspended" STORE => t.cont_ref().is_suspended(&m.store);
        "ContRef::new_stack" STORE => ContRef::new_stack(&mut m.store, Some(t.run()));
        "ContRef::new_stack_for_traps" STORE =>
            ContRef::new_stack_for_traps(&mut m.store, t.run());
        "ContRef::release" STORE => t.cont_ref().release(&mut m.store);
    }
}

fn continuations() -> Vec<Row> {
    let null = [Val::AnyRef(None)];
    table! {m, t:
        "Continuation::backtrace" STORE => t.continuation().backtrace(&m.store);
        "Continuation::bytes" STORE => t.continuation().bytes(&m.store);
        "Continuation::free" STORE => t.continuation().free(&mut m.store);
        "Continuation::from_ref" STORE => Continuation::from_ref(&mut m.store, t.cont_ref());
        "Continuation::into_ref" STORE => t.continuation().into_ref(&mut m.store);
        "Continuation::new" STORE => Continuation::new(&mut m.store, t.run());
        "Continuation::resume" STORE => t.continuation().resume(&mut m.store, &null);
        "Continuation::resume" STORE => m.continuation().resume(&mut m.store, &[t.object()]);
        "Continuation::resume_async" STORE =>
            block_on(t.continuation().resume_async(&mut m.store, &null));
        "Continuation::resume_async" STORE =>
            block_on(m.continuation().resume_async(&mut m.store, &[t.object()]));
        "Continuation::resume_on" STORE, ask = m.tag("ask") =>
            t.continuation().resume_on(&mut m.store, &[ask], &null);
        "Continuation::resume_on" STORE =>
            m.continuation().resume_on(&mut m.store, &[t.tag("ask")], &null);
        "Continuation::resume_on_async" STORE, ask = m.tag("ask") =>
            block_on(t.continuation().resume_on_async(&mut m.store, &[ask], &null));
        "Continuation::resume_on_async" STORE =>
            block_on(m.continuation().resume_on_async(&mut m.store, &[t.tag("ask")], &null));
        "Continuation::resume_with" STORE, ask = Clause::On(m.tag("ask")) =>
            t.continuation().resume_with(&mut m.store, &[ask], &null);
        "Continuation::resume_with" STORE =>
            m.continuation().resume_with(&mut m.store, &[Clause::On(t.tag("ask"))], &null);
        "Continuation::resume_with" STORE =>
            m.continuation().resume_with(&mut m.store, &[Clause::OnSwitch(t.tag("ask"))], &null);
        "Continuation::resume_with_async" STORE =>
            block_on(t.continuation().resume_with_async(&mut m.store, &[Clause::OnAny], &null));
        "Continuation::resume_with_async" STORE, on = [Clause::On(t.tag("ask"))] =>
            block_on(m.continuation().resume_with_async(&mut m.store, &on, &null));
        "Continuation::resume_on" STORE, ask = m.tag("ask") =>
            m.continuation().resume_on(&mut m.store, &[ask], &[t.object()]);
        "Continuation::resume_on_async" STORE, ask = m.tag("ask") =>
            block_on(m.continuation().resume_on_async(&mut m.store, &[ask], &[t.object()]));
        "Continuation::resume_with" STORE =>
            m.continuation().resume_with(&mut m.store, &[Clause::OnAny], &[t.object()]);
        "Continuation::resume_with_async" STORE, values = [t.object()] =>
            block_on(m.continuation().resume_with_async(&mut m.store, &[Clause::OnAny], &values));
        "Continuation::resume_throw" STORE, exception = m.exception() =>
            t.continuation().resume_throw(&mut m.store, &exception);
        "Continuation::resume_throw" STORE =>
            m.continuation().resume_throw(&mut m.store, &t.exception());
        "Continuation::resume_throw_async" STORE, exception = m.exception() =>
            block_on(t.continuation().resume_throw_async(&mut m.store, &exception));
        "Continuation::resume_throw_async" STORE =>
            block_on(m.continuation().resume_throw_async(&mut m.store, &t.exception()));
        "Continuation::set_max_stack" STORE =>
            t.continuation().set_max_stack(&mut m.store, 1 << 20);
        "Continuation::try_clone" STORE => t.continuation().try_clone(&mut m.store);
        "Continuation::ty" STORE => t.continuation().ty(&m.store);
        "Continuation::typed" STORE => t.continuation().typed::<Option<AnyRef>, i64>(&m.store);
    }
}

fn typed_continuations() -> Vec<Row> {
    table! {m, t:
        "TypedContinuation::new" STORE =>
            TypedContinuation::new(&mut m.store, &t.typed::<(), i32>("run"));
        "TypedContinuation::resume" STORE => t.typed_continuation().resume(&mut m.store, None);
        "TypedContinuation::resume" STORE =>
            m.typed_continuation().resume(&mut m.store, Some(t.any()));
        "TypedContinuation::resume_async" STORE =>
            block_on(t.typed_continuation().resume_async(&mut m.store, None));
        "TypedContinuation::resume_async" STORE =>
            block_on(m.typed_continuation().resume_async(&mut m.store, Some(t.any())));
        "TypedContinuation::resume_on" STORE => {
            let ask = m.tag("ask").typed::<i32, i32>(&m.store).unwrap();
            t.typed_continuation().resume_on(&mut m.store, &ask, None)
        };
        "TypedContinuation::resume_on" STORE => {
            let ask = t.tag("ask").typed::<i32, i32>(&t.store).unwrap();
            m.typed_continuation().resume_on(&mut m.store, &ask, None)
        };
        "TypedContinuation::resume_on_async" STORE => {
            let ask = m.tag("ask").typed::<i32, i32>(&m.store).unwrap();
            block_on(t.typed_continuation().resume_on_async(&mut m.store, &ask, None))
        };
        "TypedContinuation::resume_on_async" STORE => {
            let ask = t.tag("ask").typed::<i32, i32>(&t.store).unwrap();
            block_on(m.typed_continuation().resume_on_async(&mut m.store, &ask, None))
        };
        "TypedContinuation::resume_on" STORE => {
            let ask = m.tag("ask").typed::<i32, i32>(&m.store).unwrap();
            m.typed_continuation().resume_on(&mut m.store, &ask, Some(t.any()))
        };
        "TypedContinuation::resume_on_async" STORE => {
            let ask = m.tag("ask").typed::<i32, i32>(&m.store).unwrap();
            block_on(m.typed_continuation().resume_on_async(&mut m.store, &ask, Some(t.any())))
        };
        "TypedContinuation::try_clone" STORE => t.typed_continuation().try_clone(&mut m.store);
    }
}

fn tasks() -> Vec<Row> {
    table! {m, t:
        "Task::backtrace" STORE => t.task().backtrace(&m.store);
        "Task::bytes" STORE => t.task().bytes(&m.store);
        "Task::from_ref" STORE, task = t.task().reference(&mut t.store).unwrap() =>
            Task::from_ref(&mut m.store, task);
        "Task::is_moribund" STORE => t.task().is_moribund(&m.store);
        "Task::is_suspended" STORE => t.task().is_suspended(&m.store);
        "Task::reference" STORE => t.task().reference(&mut m.store);
        "Task::release" STORE => t.task().release(&mut m.store);
        "Task::resume" STORE => t.task().resume(&mut m.store, &[Val::AnyRef(None)]);
        "Task::resume" STORE => m.task().resume(&mut m.store, &[t.object()]);
        "Task::resume_async" STORE =>
            block_on(t.task().resume_async(&mut m.store, &[Val::AnyRef(None)]));
        "Task::resume_async" STORE => block_on(m.task().resume_async(&mut m.store, &[t.object()]));
        "Task::ty" STORE => t.task().ty(&m.store);
        "Task::typed" STORE => t.task().typed::<Option<AnyRef>, i64>(&m.store);
        // The types with this index in the other engine.
        "Task::typed" STORE => t.task().typed::<i64, Option<AnyRef>>(&m.store);
        "TypedTask::resume" STORE => {
            let task = t.task().typed::<Option<AnyRef>, i64>(&t.store).unwrap();
            task.resume(&mut m.store, None)
        };
        "TypedTask::resume" STORE => {
            let task = m.task().typed::<Option<AnyRef>, i64>(&m.store).unwrap();
            task.resume(&mut m.store, Some(t.any()))
        };
        "TypedTask::resume_async" STORE => {
            let task = t.task().typed::<Option<AnyRef>, i64>(&t.store).unwrap();
            block_on(task.resume_async(&mut m.store, None))
        };
        "TypedTask::resume_async" STORE => {
            let task = m.task().typed::<Option<AnyRef>, i64>(&m.store).unwrap();
            block_on(task.resume_async(&mut m.store, Some(t.any())))
        };
    }
}

fn fibers() -> Vec<Row> {
    let one = [Val::I32(1)];
    table! {m, t:
        "Fiber::backtrace" STORE => t.fiber().backtrace(&m.store);
        "Fiber::bytes" STORE => t.fiber().bytes(&m.store);
        "Fiber::can_dismount" STORE, go = m.tag("go") => t.fiber().can_dismount(&m.store, go);
        "Fiber::can_dismount" STORE => m.fiber().can_dismount(&m.store, t.tag("go"));
        "Fiber::from_ref" STORE, fiber = t.fiber().reference(&mut t.store).unwrap() =>
            Fiber::from_ref(&mut m.store, fiber);
        "Fiber::is_moribund" STORE => t.fiber().is_moribund(&m.store);
        "Fiber::is_suspended" STORE => t.fiber().is_suspended(&m.store);
        "Fiber::mount" STORE, go = m.tag("go"), end = m.tag("end") =>
            t.fiber().mount(&mut m.store, go, &one, &[end]);
        "Fiber::mount" STORE, end = m.tag("end") =>
            m.fiber().mount(&mut m.store, t.tag("go"), &one, &[end]);
        "Fiber::mount" STORE, go = m.tag("go") =>
            m.fiber().mount(&mut m.store, go, &one, &[t.tag("end")]);
        "Fiber::mount" STORE, holds = m.tag("holds") =>
            m.fiber().mount(&mut m.store, holds, &[t.object()], &[]);
        "Fiber::mount_async" STORE, go = m.tag("go"), end = m.tag("end") =>
            block_on(t.fiber().mount_async(&mut m.store, go, &one, &[end]));
        "Fiber::mount_async" STORE, end = m.tag("end") =>
            block_on(m.fiber().mount_async(&mut m.store, t.tag("go"), &one, &[end]));
        "Fiber::mount_async" STORE, go = m.tag("go") =>
            block_on(m.fiber().mount_async(&mut m.store, go, &one, &[t.tag("end")]));
        "Fiber::mount_async" STORE, holds = m.tag("holds") =>
            block_on(m.fiber().mount_async(&mut m.store, holds, &[t.object()], &[]));
        "Fiber::reference" STORE => t.fiber().reference(&mut m.store);
        "Fiber::release" STORE => t.fiber().release(&mut m.store);
    }
}

fn others() -> Vec<Row> {
    let null = [Val::AnyRef(None)];
    table! {m, t:
        "BagStack::backtrace" STORE => t.bag_stack().backtrace(&m.store);
        "BagStack::bytes" STORE => t.bag_stack().bytes(&m.store);
        "BagStack::free" STORE => t.bag_stack().free(&mut m.store);
        "BagStack::from_ref" STORE, stack = t.bag_stack().into_ref(&mut t.store).unwrap() =>
            BagStack::from_ref(&mut m.store, stack);
        "BagStack::into_ref" STORE => t.bag_stack().into_ref(&mut m.store);
        "BagStack::switch" STORE => t.bag_stack().switch(&mut m.store, &null);
        "BagStack::switch_async" STORE => block_on(t.bag_stack().switch_async(&mut m.store, &null));
        "BagStack::try_clone" STORE => t.bag_stack().try_clone(&mut m.store);
        "FirstClassStack::backtrace" STORE => t.first_class_stack().backtrace(&m.store);
        "FirstClassStack::bytes" STORE => t.first_class_stack().bytes(&m.store);
        "FirstClassStack::free" STORE => t.first_class_stack().free(&mut m.store);
        "FirstClassStack::from_ref" STORE => FirstClassStack::from_ref(&mut m.store, t.stack_ref());
        "FirstClassStack::into_ref" STORE => t.first_class_stack().into_ref(&mut m.store);
        "FirstClassStack::new" STORE => FirstClassStack::new(&mut m.store, Some(t.run()));
        "FirstClassStack::switch" STORE, event = m.tag("event") =>
            t.first_class_stack().switch(&mut m.store, event, &null);
        "FirstClassStack::switch" STORE =>
            m.first_class_stack().switch(&mut m.store, t.tag("event"), &null);
        "FirstClassStack::switch_async" STORE, event = m.tag("event") =>
            block_on(t.first_class_stack().switch_async(&mut m.store, event, &null));
        "FirstClassStack::switch_async" STORE =>
            block_on(m.first_class_stack().switch_async(&mut m.store, t.tag("event"), &null));
        "FirstClassStack::try_clone" STORE => t.first_class_stack().try_clone(&mut m.store);
        "BagStack::switch" STORE => m.bag_stack().switch(&mut m.store, &[t.object()]);
        "BagStack::switch_async" STORE =>
            block_on(m.bag_stack().switch_async(&mut m.store, &[t.object()]));
        "FirstClassStack::switch" STORE, event = m.tag("event") =>
            m.first_class_stack().switch(&mut m.store, event, &[t.object()]);
        "FirstClassStack::switch_async" STORE, event = m.tag("event") =>
            block_on(m.first_class_stack().switch_async(&mut m.store, event, &[t.object()]));
    }
}
