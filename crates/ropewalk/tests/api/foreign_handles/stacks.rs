//! Continuations, tasks, fibers and other stacks in the hands of the host.

use super::*;
use crate::common::polling::block_on;

pub fn rows() -> Vec<Row> {
    [references(), continuations(), typed_continuations(), tasks(), fibers(), others()]
        .into_iter()
        .flatten()
        .collect()
}

fn references() -> Vec<Row> {
    vec![
        row("ContRef::backtrace", STORE, |m, t| t.cont_ref().backtrace(&m.store)),
        row("ContRef::bytes", STORE, |m, t| t.cont_ref().bytes(&m.store)),
        row("ContRef::design", STORE, |m, t| t.cont_ref().design(&m.store)),
        row("ContRef::is_suspended", STORE, |m, t| t.cont_ref().is_suspended(&m.store)),
        row("ContRef::new_stack", STORE, |m, t| ContRef::new_stack(&mut m.store, Some(t.run()))),
        row("ContRef::release", STORE, |m, t| t.cont_ref().release(&mut m.store)),
    ]
}

fn continuations() -> Vec<Row> {
    let null = [Val::AnyRef(None)];
    vec![
        row("Continuation::backtrace", STORE, |m, t| t.continuation().backtrace(&m.store)),
        row("Continuation::bytes", STORE, |m, t| t.continuation().bytes(&m.store)),
        row("Continuation::free", STORE, |m, t| t.continuation().free(&mut m.store)),
        row("Continuation::from_ref", STORE, |m, t| {
            Continuation::from_ref(&mut m.store, t.cont_ref())
        }),
        row("Continuation::into_ref", STORE, |m, t| t.continuation().into_ref(&mut m.store)),
        row("Continuation::new", STORE, |m, t| Continuation::new(&mut m.store, t.run())),
        row("Continuation::resume", STORE, move |m, t| {
            t.continuation().resume(&mut m.store, &null)
        }),
        row("Continuation::resume", STORE, |m, t| {
            m.continuation().resume(&mut m.store, &[t.object()])
        }),
        row("Continuation::resume_async", STORE, move |m, t| {
            block_on(t.continuation().resume_async(&mut m.store, &null))
        }),
        row("Continuation::resume_async", STORE, |m, t| {
            block_on(m.continuation().resume_async(&mut m.store, &[t.object()]))
        }),
        row("Continuation::resume_on", STORE, move |m, t| {
            let ask = m.tag("ask");
            t.continuation().resume_on(&mut m.store, &[ask], &null)
        }),
        row("Continuation::resume_on", STORE, move |m, t| {
            m.continuation().resume_on(&mut m.store, &[t.tag("ask")], &null)
        }),
        row("Continuation::resume_on_async", STORE, move |m, t| {
            let ask = m.tag("ask");
            block_on(t.continuation().resume_on_async(&mut m.store, &[ask], &null))
        }),
        row("Continuation::resume_on_async", STORE, move |m, t| {
            block_on(m.continuation().resume_on_async(&mut m.store, &[t.tag("ask")], &null))
        }),
        row("Continuation::resume_with", STORE, move |m, t| {
            let ask = Clause::On(m.tag("ask"));
            t.continuation().resume_with(&mut m.store, &[ask], &null)
        }),
        row("Continuation::resume_with", STORE, move |m, t| {
            m.continuation().resume_with(&mut m.store, &[Clause::On(t.tag("ask"))], &null)
        }),
        row("Continuation::resume_with", STORE, move |m, t| {
            m.continuation().resume_with(&mut m.store, &[Clause::OnSwitch(t.tag("ask"))], &null)
        }),
        row("Continuation::resume_with_async", STORE, move |m, t| {
            block_on(t.continuation().resume_with_async(&mut m.store, &[Clause::OnAny], &null))
        }),
        row("Continuation::resume_with_async", STORE, move |m, t| {
            let on = [Clause::On(t.tag("ask"))];
            block_on(m.continuation().resume_with_async(&mut m.store, &on, &null))
        }),
        row("Continuation::resume_on", STORE, |m, t| {
            let ask = m.tag("ask");
            m.continuation().resume_on(&mut m.store, &[ask], &[t.object()])
        }),
        row("Continuation::resume_on_async", STORE, |m, t| {
            let ask = m.tag("ask");
            block_on(m.continuation().resume_on_async(&mut m.store, &[ask], &[t.object()]))
        }),
        row("Continuation::resume_with", STORE, |m, t| {
            m.continuation().resume_with(&mut m.store, &[Clause::OnAny], &[t.object()])
        }),
        row("Continuation::resume_with_async", STORE, |m, t| {
            let values = [t.object()];
            block_on(m.continuation().resume_with_async(&mut m.store, &[Clause::OnAny], &values))
        }),
        row("Continuation::resume_throw", STORE, |m, t| {
            let exception = m.exception();
            t.continuation().resume_throw(&mut m.store, &exception)
        }),
        row("Continuation::resume_throw", STORE, |m, t| {
            m.continuation().resume_throw(&mut m.store, &t.exception())
        }),
        row("Continuation::resume_throw_async", STORE, |m, t| {
            let exception = m.exception();
            block_on(t.continuation().resume_throw_async(&mut m.store, &exception))
        }),
        row("Continuation::resume_throw_async", STORE, |m, t| {
            block_on(m.continuation().resume_throw_async(&mut m.store, &t.exception()))
        }),
        row("Continuation::set_max_stack", STORE, |m, t| {
            t.continuation().set_max_stack(&mut m.store, 1 << 20)
        }),
        row("Continuation::try_clone", STORE, |m, t| t.continuation().try_clone(&mut m.store)),
        row("Continuation::ty", STORE, |m, t| t.continuation().ty(&m.store)),
        row("Continuation::typed", STORE, |m, t| {
            t.continuation().typed::<Option<AnyRef>, i64>(&m.store)
        }),
    ]
}

fn typed_continuations() -> Vec<Row> {
    vec![
        row("TypedContinuation::new", STORE, |m, t| {
            TypedContinuation::new(&mut m.store, &t.typed::<(), i32>("run"))
        }),
        row("TypedContinuation::resume", STORE, |m, t| {
            t.typed_continuation().resume(&mut m.store, None)
        }),
        row("TypedContinuation::resume", STORE, |m, t| {
            m.typed_continuation().resume(&mut m.store, Some(t.any()))
        }),
        row("TypedContinuation::resume_async", STORE, |m, t| {
            block_on(t.typed_continuation().resume_async(&mut m.store, None))
        }),
        row("TypedContinuation::resume_async", STORE, |m, t| {
            block_on(m.typed_continuation().resume_async(&mut m.store, Some(t.any())))
        }),
        row("TypedContinuation::resume_on", STORE, |m, t| {
            let ask = m.tag("ask").typed::<i32, i32>(&m.store).unwrap();
            t.typed_continuation().resume_on(&mut m.store, &ask, None)
        }),
        row("TypedContinuation::resume_on", STORE, |m, t| {
            let ask = t.tag("ask").typed::<i32, i32>(&t.store).unwrap();
            m.typed_continuation().resume_on(&mut m.store, &ask, None)
        }),
        row("TypedContinuation::resume_on_async", STORE, |m, t| {
            let ask = m.tag("ask").typed::<i32, i32>(&m.store).unwrap();
            block_on(t.typed_continuation().resume_on_async(&mut m.store, &ask, None))
        }),
        row("TypedContinuation::resume_on_async", STORE, |m, t| {
            let ask = t.tag("ask").typed::<i32, i32>(&t.store).unwrap();
            block_on(m.typed_continuation().resume_on_async(&mut m.store, &ask, None))
        }),
        row("TypedContinuation::resume_on", STORE, |m, t| {
            let ask = m.tag("ask").typed::<i32, i32>(&m.store).unwrap();
            m.typed_continuation().resume_on(&mut m.store, &ask, Some(t.any()))
        }),
        row("TypedContinuation::resume_on_async", STORE, |m, t| {
            let ask = m.tag("ask").typed::<i32, i32>(&m.store).unwrap();
            block_on(m.typed_continuation().resume_on_async(&mut m.store, &ask, Some(t.any())))
        }),
        row("TypedContinuation::try_clone", STORE, |m, t| {
            t.typed_continuation().try_clone(&mut m.store)
        }),
    ]
}

fn tasks() -> Vec<Row> {
    vec![
        row("Task::backtrace", STORE, |m, t| t.task().backtrace(&m.store)),
        row("Task::bytes", STORE, |m, t| t.task().bytes(&m.store)),
        row("Task::from_ref", STORE, |m, t| {
            let task = t.task().reference(&mut t.store).unwrap();
            Task::from_ref(&mut m.store, task)
        }),
        row("Task::is_moribund", STORE, |m, t| t.task().is_moribund(&m.store)),
        row("Task::is_suspended", STORE, |m, t| t.task().is_suspended(&m.store)),
        row("Task::reference", STORE, |m, t| t.task().reference(&mut m.store)),
        row("Task::release", STORE, |m, t| t.task().release(&mut m.store)),
        row("Task::resume", STORE, |m, t| t.task().resume(&mut m.store, &[Val::AnyRef(None)])),
        row("Task::resume", STORE, |m, t| m.task().resume(&mut m.store, &[t.object()])),
        row("Task::resume_async", STORE, |m, t| {
            block_on(t.task().resume_async(&mut m.store, &[Val::AnyRef(None)]))
        }),
        row("Task::resume_async", STORE, |m, t| {
            block_on(m.task().resume_async(&mut m.store, &[t.object()]))
        }),
        row("Task::ty", STORE, |m, t| t.task().ty(&m.store)),
        row("Task::typed", STORE, |m, t| t.task().typed::<Option<AnyRef>, i64>(&m.store)),
        // The types with this index in the other engine.
        row("Task::typed", STORE, |m, t| t.task().typed::<i64, Option<AnyRef>>(&m.store)),
        row("TypedTask::resume", STORE, |m, t| {
            let task = t.task().typed::<Option<AnyRef>, i64>(&t.store).unwrap();
            task.resume(&mut m.store, None)
        }),
        row("TypedTask::resume", STORE, |m, t| {
            let task = m.task().typed::<Option<AnyRef>, i64>(&m.store).unwrap();
            task.resume(&mut m.store, Some(t.any()))
        }),
        row("TypedTask::resume_async", STORE, |m, t| {
            let task = t.task().typed::<Option<AnyRef>, i64>(&t.store).unwrap();
            block_on(task.resume_async(&mut m.store, None))
        }),
        row("TypedTask::resume_async", STORE, |m, t| {
            let task = m.task().typed::<Option<AnyRef>, i64>(&m.store).unwrap();
            block_on(task.resume_async(&mut m.store, Some(t.any())))
        }),
    ]
}

fn fibers() -> Vec<Row> {
    let one = [Val::I32(1)];
    vec![
        row("Fiber::backtrace", STORE, |m, t| t.fiber().backtrace(&m.store)),
        row("Fiber::bytes", STORE, |m, t| t.fiber().bytes(&m.store)),
        row("Fiber::from_ref", STORE, |m, t| {
            let fiber = t.fiber().reference(&mut t.store).unwrap();
            Fiber::from_ref(&mut m.store, fiber)
        }),
        row("Fiber::is_moribund", STORE, |m, t| t.fiber().is_moribund(&m.store)),
        row("Fiber::is_suspended", STORE, |m, t| t.fiber().is_suspended(&m.store)),
        row("Fiber::mount", STORE, move |m, t| {
            let (go, end) = (m.tag("go"), m.tag("end"));
            t.fiber().mount(&mut m.store, go, &one, &[end])
        }),
        row("Fiber::mount", STORE, move |m, t| {
            let end = m.tag("end");
            m.fiber().mount(&mut m.store, t.tag("go"), &one, &[end])
        }),
        row("Fiber::mount", STORE, move |m, t| {
            let go = m.tag("go");
            m.fiber().mount(&mut m.store, go, &one, &[t.tag("end")])
        }),
        row("Fiber::mount", STORE, move |m, t| {
            let holds = m.tag("holds");
            m.fiber().mount(&mut m.store, holds, &[t.object()], &[])
        }),
        row("Fiber::mount_async", STORE, move |m, t| {
            let (go, end) = (m.tag("go"), m.tag("end"));
            block_on(t.fiber().mount_async(&mut m.store, go, &one, &[end]))
        }),
        row("Fiber::mount_async", STORE, move |m, t| {
            let end = m.tag("end");
            block_on(m.fiber().mount_async(&mut m.store, t.tag("go"), &one, &[end]))
        }),
        row("Fiber::mount_async", STORE, move |m, t| {
            let go = m.tag("go");
            block_on(m.fiber().mount_async(&mut m.store, go, &one, &[t.tag("end")]))
        }),
        row("Fiber::mount_async", STORE, |m, t| {
            let holds = m.tag("holds");
            block_on(m.fiber().mount_async(&mut m.store, holds, &[t.object()], &[]))
        }),
        row("Fiber::reference", STORE, |m, t| t.fiber().reference(&mut m.store)),
        row("Fiber::release", STORE, |m, t| t.fiber().release(&mut m.store)),
    ]
}

fn others() -> Vec<Row> {
    let null = [Val::AnyRef(None)];
    vec![
        row("BagStack::backtrace", STORE, |m, t| t.bag_stack().backtrace(&m.store)),
        row("BagStack::bytes", STORE, |m, t| t.bag_stack().bytes(&m.store)),
        row("BagStack::free", STORE, |m, t| t.bag_stack().free(&mut m.store)),
        row("BagStack::from_ref", STORE, |m, t| {
            let stack = t.bag_stack().into_ref(&mut t.store).unwrap();
            BagStack::from_ref(&mut m.store, stack)
        }),
        row("BagStack::into_ref", STORE, |m, t| t.bag_stack().into_ref(&mut m.store)),
        row("BagStack::switch", STORE, move |m, t| t.bag_stack().switch(&mut m.store, &null)),
        row("BagStack::switch_async", STORE, move |m, t| {
            block_on(t.bag_stack().switch_async(&mut m.store, &null))
        }),
        row("BagStack::try_clone", STORE, |m, t| t.bag_stack().try_clone(&mut m.store)),
        row("FirstClassStack::backtrace", STORE, |m, t| t.first_class_stack().backtrace(&m.store)),
        row("FirstClassStack::bytes", STORE, |m, t| t.first_class_stack().bytes(&m.store)),
        row("FirstClassStack::free", STORE, |m, t| t.first_class_stack().free(&mut m.store)),
        row("FirstClassStack::from_ref", STORE, |m, t| {
            FirstClassStack::from_ref(&mut m.store, t.stack_ref())
        }),
        row("FirstClassStack::into_ref", STORE, |m, t| {
            t.first_class_stack().into_ref(&mut m.store)
        }),
        row("FirstClassStack::new", STORE, |m, t| {
            FirstClassStack::new(&mut m.store, Some(t.run()))
        }),
        row("FirstClassStack::switch", STORE, move |m, t| {
            let event = m.tag("event");
            t.first_class_stack().switch(&mut m.store, event, &null)
        }),
        row("FirstClassStack::switch", STORE, move |m, t| {
            m.first_class_stack().switch(&mut m.store, t.tag("event"), &null)
        }),
        row("FirstClassStack::switch_async", STORE, move |m, t| {
            let event = m.tag("event");
            block_on(t.first_class_stack().switch_async(&mut m.store, event, &null))
        }),
        row("FirstClassStack::switch_async", STORE, move |m, t| {
            block_on(m.first_class_stack().switch_async(&mut m.store, t.tag("event"), &null))
        }),
        row("FirstClassStack::try_clone", STORE, |m, t| {
            t.first_class_stack().try_clone(&mut m.store)
        }),
        row("BagStack::switch", STORE, |m, t| m.bag_stack().switch(&mut m.store, &[t.object()])),
        row("BagStack::switch_async", STORE, |m, t| {
            block_on(m.bag_stack().switch_async(&mut m.store, &[t.object()]))
        }),
        row("FirstClassStack::switch", STORE, |m, t| {
            let event = m.tag("event");
            m.first_class_stack().switch(&mut m.store, event, &[t.object()])
        }),
        row("FirstClassStack::switch_async", STORE, |m, t| {
            let event = m.tag("event");
            block_on(m.first_class_stack().switch_async(&mut m.store, event, &[t.object()]))
        }),
    ]
}
