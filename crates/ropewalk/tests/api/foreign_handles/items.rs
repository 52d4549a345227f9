//! Functions, memories, tables, globals, tags, instances, and the values they take.

use super::*;
use crate::common::polling::block_on;

pub fn rows() -> Vec<Row> {
    vec![
        row("Func::call", STORE, |m, t| t.run().call(&mut m.store, &[], &mut [Val::I32(0)])),
        row("Func::call", STORE, |m, t| {
            m.func("body").call(&mut m.store, &[t.object()], &mut [Val::I64(0)])
        }),
        row("Func::call", STORE, |m, t| {
            m.func("takes func").call(&mut m.store, &[t.run().into()], &mut [])
        }),
        row("Func::call_async", STORE, |m, t| {
            block_on(t.run().call_async(&mut m.store, &[], &mut [Val::I32(0)]))
        }),
        row("Func::call_async", STORE, |m, t| {
            block_on(m.func("body").call_async(&mut m.store, &[t.object()], &mut [Val::I64(0)]))
        }),
        row("Func::call_async", STORE, |m, t| {
            let takes = m.func("takes func");
            block_on(takes.call_async(&mut m.store, &[t.run().into()], &mut []))
        }),
        row("Func::call_concurrent", STORE, |m, t| {
            let (takes, run) = (m.func("takes func"), t.run().into());
            block_on(m.store.run_concurrent(async |accessor| {
                takes.call_concurrent(accessor, &[run], &mut []).await
            }))
        }),
        row("Func::call_concurrent", STORE, |m, t| {
            let run = t.run();
            block_on(m.store.run_concurrent(async |accessor| {
                run.call_concurrent(accessor, &[], &mut [Val::I32(0)]).await
            }))
        }),
        row("Func::call_concurrent", STORE, |m, t| {
            let (body, object) = (m.func("body"), t.object());
            block_on(m.store.run_concurrent(async |accessor| {
                body.call_concurrent(accessor, &[object], &mut [Val::I64(0)]).await
            }))
        }),
        row("Func::id", STORE, |m, t| t.run().id(&m.store)),
        row("Func::ty", STORE, |m, t| t.run().ty(&m.store)),
        row("Func::typed", STORE, |m, t| t.run().typed::<(), i32>(&m.store)),
        row("TypedFunc::call", STORE, |m, t| t.typed::<(), i32>("run").call(&mut m.store, ())),
        row("TypedFunc::call", STORE, |m, t| {
            m.typed::<Option<AnyRef>, i64>("body").call(&mut m.store, Some(t.any()))
        }),
        row("TypedFunc::call", STORE, |m, t| {
            let object = t.pair().own(&mut t.store).unwrap();
            m.typed::<Option<Owned<StructRef>>, ()>("takes struct").call(&mut m.store, Some(object))
        }),
        row("TypedFunc::call", STORE, |m, t| {
            m.typed::<Option<ArrayRef>, ()>("takes array").call(&mut m.store, Some(t.row()))
        }),
        row("TypedFunc::call", STORE, |m, t| {
            m.typed::<Option<Func>, ()>("takes func").call(&mut m.store, Some(t.run()))
        }),
        row("TypedFunc::call", STORE, |m, t| {
            m.typed::<Option<ExternRef>, ()>("takes extern").call(&mut m.store, Some(t.external()))
        }),
        row("TypedFunc::call", STORE, |m, t| {
            m.typed::<Option<ExnRef>, ()>("takes exn").call(&mut m.store, Some(t.exn()))
        }),
        row("TypedFunc::call", STORE, |m, t| {
            m.typed::<Option<ContRef>, ()>("takes cont").call(&mut m.store, Some(t.cont_ref()))
        }),
        row("TypedFunc::call", STORE, |m, t| {
            let continuation = t.continuation();
            m.typed::<Option<Continuation>, ()>("takes cont").call(&mut m.store, Some(continuation))
        }),
        row("TypedFunc::call_async", STORE, |m, t| {
            block_on(t.typed::<(), i32>("run").call_async(&mut m.store, ()))
        }),
        row("TypedFunc::call_async", STORE, |m, t| {
            let body = m.typed::<Option<AnyRef>, i64>("body");
            block_on(body.call_async(&mut m.store, Some(t.any())))
        }),
        row("TypedFunc::call_concurrent", STORE, |m, t| {
            let run = t.typed::<(), i32>("run");
            block_on(m.store.run_concurrent(async |all| run.call_concurrent(all, ()).await))
        }),
        row("TypedFunc::call_concurrent", STORE, |m, t| {
            let (body, object) = (m.typed::<Option<AnyRef>, i64>("body"), t.any());
            block_on(
                m.store.run_concurrent(async |all| body.call_concurrent(all, Some(object)).await),
            )
        }),
        row("Memory::data", STORE, |m, t| t.memory().data(&m.store).map(drop)),
        row("Memory::data_and_store_mut", STORE, |m, t| {
            t.memory().data_and_store_mut(&mut m.store).map(drop)
        }),
        row("Memory::data_mut", STORE, |m, t| t.memory().data_mut(&mut m.store).map(drop)),
        row("Memory::data_size", STORE, |m, t| t.memory().data_size(&m.store)),
        row("Memory::grow", STORE, |m, t| t.memory().grow(&mut m.store, 1)),
        row("Memory::grow_async", STORE, |m, t| block_on(t.memory().grow_async(&mut m.store, 1))),
        row("Memory::read", STORE, |m, t| t.memory().read(&m.store, 0, &mut [0])),
        row("Memory::size", STORE, |m, t| t.memory().size(&m.store)),
        row("Memory::ty", STORE, |m, t| t.memory().ty(&m.store)),
        row("Memory::write", STORE, |m, t| t.memory().write(&mut m.store, 0, &[1])),
        row("Table::copy", STORE, |m, t| {
            let mine = m.table();
            Table::copy(&mut m.store, &t.table(), 0, &mine, 0, 1)
        }),
        row("Table::copy", STORE, |m, t| {
            let mine = m.table();
            Table::copy(&mut m.store, &mine, 0, &t.table(), 0, 1)
        }),
        row("Table::fill", STORE, |m, t| t.table().fill(&mut m.store, 0, Val::FuncRef(None), 1)),
        row("Table::fill", STORE, |m, t| m.anys().fill(&mut m.store, 0, t.object(), 1)),
        row("Table::get", STORE, |m, t| t.table().get(&mut m.store, 0)),
        row("Table::grow", STORE, |m, t| t.table().grow(&mut m.store, 1, Val::FuncRef(None))),
        row("Table::grow", STORE, |m, t| m.anys().grow(&mut m.store, 1, t.object())),
        row("Table::grow_async", STORE, |m, t| {
            block_on(t.table().grow_async(&mut m.store, 1, Val::FuncRef(None)))
        }),
        row("Table::grow_async", STORE, |m, t| {
            block_on(m.anys().grow_async(&mut m.store, 1, t.object()))
        }),
        row("Table::new", STORE, |m, t| {
            Table::new(&mut m.store, TableType::new(RefType::FUNCREF, 1, None), t.run().into())
        }),
        row("Table::new", TYPE, |m, t| {
            let ty = TableType::new(t.reference(), 1, None);
            Table::new(&mut m.store, ty, Val::AnyRef(None))
        }),
        row("Table::new_async", STORE, |m, t| {
            let ty = TableType::new(RefType::FUNCREF, 1, None);
            block_on(Table::new_async(&mut m.store, ty, t.run().into()))
        }),
        row("Table::new_async", TYPE, |m, t| {
            let ty = TableType::new(t.reference(), 1, None);
            block_on(Table::new_async(&mut m.store, ty, Val::AnyRef(None)))
        }),
        row("Table::set", STORE, |m, t| t.table().set(&mut m.store, 0, Val::FuncRef(None))),
        row("Table::set", STORE, |m, t| m.table().set(&mut m.store, 0, t.run().into())),
        row("Table::set", STORE, |m, t| m.anys().set(&mut m.store, 0, t.object())),
        row("Table::size", STORE, |m, t| t.table().size(&m.store)),
        row("Table::ty", STORE, |m, t| t.table().ty(&m.store)),
        row("Global::get", STORE, |m, t| t.global().get(&mut m.store)),
        row("Global::new", STORE, |m, t| {
            let ty = GlobalType::new(ValType::Ref(RefType::ANYREF), true);
            Global::new(&mut m.store, ty, t.object())
        }),
        row("Global::new", TYPE, |m, t| {
            let ty = GlobalType::new(ValType::Ref(t.reference()), true);
            Global::new(&mut m.store, ty, Val::AnyRef(None))
        }),
        row("Global::set", STORE, |m, t| t.global().set(&mut m.store, Val::I32(2))),
        row("Global::set", STORE, |m, t| {
            let any = m.instance.get_global(&mut m.store, "any").unwrap();
            any.set(&mut m.store, t.object())
        }),
        row("Global::ty", STORE, |m, t| t.global().ty(&m.store)),
        row("Tag::ty", STORE, |m, t| t.tag("ask").ty(&m.store)),
        row("Tag::typed", STORE, |m, t| t.tag("ask").typed::<i32, i32>(&m.store)),
        row("Extern::ty", STORE, |m, t| Extern::from(t.run()).ty(&m.store)),
        row("Extern::ty", STORE, |m, t| Extern::from(t.memory()).ty(&m.store)),
        row("Extern::ty", STORE, |m, t| Extern::from(t.table()).ty(&m.store)),
        row("Extern::ty", STORE, |m, t| Extern::from(t.global()).ty(&m.store)),
        row("Extern::ty", STORE, |m, t| Extern::from(t.tag("ask")).ty(&m.store)),
        row("Instance::exports", STORE, |m, t| t.instance.exports(&mut m.store)),
        row("Instance::get_export", NOTHING, |m, t| t.instance.get_export(&mut m.store, "run")),
        row("Instance::get_func", NOTHING, |m, t| t.instance.get_func(&mut m.store, "run")),
        row("Instance::get_global", NOTHING, |m, t| t.instance.get_global(&mut m.store, "global")),
        row("Instance::get_memory", NOTHING, |m, t| t.instance.get_memory(&mut m.store, "memory")),
        row("Instance::get_table", NOTHING, |m, t| t.instance.get_table(&mut m.store, "table")),
        row("Instance::get_tag", NOTHING, |m, t| t.instance.get_tag(&mut m.store, "ask")),
        row("Instance::get_typed_func", STORE, |m, t| {
            t.instance.get_typed_func::<(), i32>(&mut m.store, "run")
        }),
        row("Instance::get_module_export", NOTHING, |m, t| {
            let export = m.module.get_export_index("run").unwrap();
            t.instance.get_module_export(&mut m.store, &export)
        }),
        row("Instance::get_module_export", NOTHING_OF_ENGINE, |m, t| {
            let export = t.module.get_export_index("run").unwrap();
            m.instance.get_module_export(&mut m.store, &export)
        }),
        row("Instance::module", STORE, |m, t| t.instance.module(&m.store)),
        row("Instance::of_frame", NOTHING, |m, t| {
            let fails = t.func("fails");
            let error = fails.call(&mut t.store, &[], &mut []).unwrap_err();
            let backtrace = error.downcast_ref::<Exception>().unwrap().backtrace();
            Instance::of_frame(&m.store, &backtrace.frames()[0])
        }),
    ]
}
