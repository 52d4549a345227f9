//! Functions, memories, tables, globals, tags, instances, and the values they take.

use super::*;
use crate::common::polling::block_on;

pub fn rows() -> Vec<Row> {
    table! {m, t:
        "Func::call" STORE => t.run().call(&mut m.store, &[], &mut [Val::I32(0)]);
        "Func::call" STORE => m.func("body").call(&mut m.store, &[t.object()], &mut [Val::I64(0)]);
        "Func::call" STORE => m.func("takes func").call(&mut m.store, &[t.run().into()], &mut []);
        "Func::call_async" STORE =>
            block_on(t.run().call_async(&mut m.store, &[], &mut [Val::I32(0)]));
        "Func::call_async" STORE =>
            block_on(m.func("body").call_async(&mut m.store, &[t.object()], &mut [Val::I64(0)]));
        "Func::call_async" STORE, takes = m.func("takes func") =>
            block_on(takes.call_async(&mut m.store, &[t.run().into()], &mut []));
        "Func::call_concurrent" STORE => {
            let (takes, run) = (m.func("takes func"), t.run().into());
            block_on(m.store.run_concurrent(async |accessor| {
                takes.call_concurrent(accessor, &[run], &mut []).await
            }))
        };
        "Func::call_concurrent" STORE => {
            let run = t.run();
            block_on(m.store.run_concurrent(async |accessor| {
                run.call_concurrent(accessor, &[], &mut [Val::I32(0)]).await
            }))
        };
        "Func::call_concurrent" STORE => {
            let (body, object) = (m.func("body"), t.object());
            block_on(m.store.run_concurrent(async |accessor| {
                body.call_concurrent(accessor, &[object], &mut [Val::I64(0)]).await
            }))
        };
        "Func::id" STORE => t.run().id(&m.store);
        "Func::ty" STORE => t.run().ty(&m.store);
        "Func::typed" STORE => t.run().typed::<(), i32>(&m.store);
        "TypedFunc::call" STORE => t.typed::<(), i32>("run").call(&mut m.store, ());
        "TypedFunc::call" STORE =>
            m.typed::<Option<AnyRef>, i64>("body").call(&mut m.store, Some(t.any()));
        "TypedFunc::call" STORE => {
            let object = t.pair().own(&mut t.store).unwrap();
            m.typed::<Option<Owned<StructRef>>, ()>("takes struct").call(&mut m.store, Some(object))
        };
        "TypedFunc::call" STORE =>
            m.typed::<Option<ArrayRef>, ()>("takes array").call(&mut m.store, Some(t.row()));
        "TypedFunc::call" STORE =>
            m.typed::<Option<Func>, ()>("takes func").call(&mut m.store, Some(t.run()));
        "TypedFunc::call" STORE =>
            m.typed::<Option<ExternRef>, ()>("takes extern").call(&mut m.store, Some(t.external()));
        "TypedFunc::call" STORE =>
            m.typed::<Option<ExnRef>, ()>("takes exn").call(&mut m.store, Some(t.exn()));
        "TypedFunc::call" STORE =>
            m.typed::<Option<ContRef>, ()>("takes cont").call(&mut m.store, Some(t.cont_ref()));
        "TypedFunc::call" STORE => {
            let continuation = t.continuation();
            m.typed::<Option<Continuation>, ()>("takes cont").call(&mut m.store, Some(continuation))
        };
        "TypedFunc::call_async" STORE =>
            block_on(t.typed::<(), i32>("run").call_async(&mut m.store, ()));
        "TypedFunc::call_async" STORE, body = m.typed::<Option<AnyRef>, i64>("body") =>
            block_on(body.call_async(&mut m.store, Some(t.any())));
        "TypedFunc::call_concurrent" STORE, run = t.typed::<(), i32>("run") =>
            block_on(m.store.run_concurrent(async |all| run.call_concurrent(all, ()).await));
        "TypedFunc::call_concurrent" STORE => {
            let (body, object) = (m.typed::<Option<AnyRef>, i64>("body"), t.any());
            block_on(
                m.store.run_concurrent(async |all| body.call_concurrent(all, Some(object)).await),
            )
        };
        "Memory::data" STORE => t.memory().data(&m.store).map(drop);
        "Memory::data_and_store_mut" STORE => t.memory().data_and_store_mut(&mut m.store).map(drop);
        "Memory::data_mut" STORE => t.memory().data_mut(&mut m.store).map(drop);
        "Memory::data_size" STORE => t.memory().data_size(&m.store);
        "Memory::grow" STORE => t.memory().grow(&mut m.store, 1);
        "Memory::grow_async" STORE => block_on(t.memory().grow_async(&mut m.store, 1));
        "Memory::read" STORE => t.memory().read(&m.store, 0, &mut [0]);
        "Memory::size" STORE => t.memory().size(&m.store);
        "Memory::ty" STORE => t.memory().ty(&m.store);
        "Memory::write" STORE => t.memory().write(&mut m.store, 0, &[1]);
        "Table::copy" STORE, mine = m.table() =>
            Table::copy(&mut m.store, &t.table(), 0, &mine, 0, 1);
        "Table::copy" STORE, mine = m.table() =>
            Table::copy(&mut m.store, &mine, 0, &t.table(), 0, 1);
        "Table::fill" STORE => t.table().fill(&mut m.store, 0, Val::FuncRef(None), 1);
        "Table::fill" STORE => m.anys().fill(&mut m.store, 0, t.object(), 1);
        "Table::get" STORE => t.table().get(&mut m.store, 0);
        "Table::grow" STORE => t.table().grow(&mut m.store, 1, Val::FuncRef(None));
        "Table::grow" STORE => m.anys().grow(&mut m.store, 1, t.object());
        "Table::grow_async" STORE =>
            block_on(t.table().grow_async(&mut m.store, 1, Val::FuncRef(None)));
        "Table::grow_async" STORE => block_on(m.anys().grow_async(&mut m.store, 1, t.object()));
        "Table::new" STORE =>
            Table::new(&mut m.store, TableType::new(RefType::FUNCREF, 1, None), t.run().into());
        "Table::new" TYPE, ty = TableType::new(t.reference(), 1, None) =>
            Table::new(&mut m.store, ty, Val::AnyRef(None));
        "Table::new_async" STORE, ty = TableType::new(RefType::FUNCREF, 1, None) =>
            block_on(Table::new_async(&mut m.store, ty, t.run().into()));
        "Table::new_async" TYPE, ty = TableType::new(t.reference(), 1, None) =>
            block_on(Table::new_async(&mut m.store, ty, Val::AnyRef(None)));
        "Table::set" STORE => t.table().set(&mut m.store, 0, Val::FuncRef(None));
        "Table::set" STORE => m.table().set(&mut m.store, 0, t.run().into());
        "Table::set" STORE => m.anys().set(&mut m.store, 0, t.object());
        "Table::size" STORE => t.table().size(&m.store);
        "Table::ty" STORE => t.table().ty(&m.store);
        "Global::get" STORE => t.global().get(&mut m.store);
        "Global::new" STORE, ty = GlobalType::new(ValType::Ref(RefType::ANYREF), true) =>
            Global::new(&mut m.store, ty, t.object());
        "Global::new" TYPE, ty = GlobalType::new(ValType::Ref(t.reference()), true) =>
            Global::new(&mut m.store, ty, Val::AnyRef(None));
        "Global::set" STORE => t.global().set(&mut m.store, Val::I32(2));
        "Global::set" STORE, any = m.instance.get_global(&mut m.store, "any").unwrap() =>
            any.set(&mut m.store, t.object());
        "Global::ty" STORE => t.global().ty(&m.store);
        "Tag::ty" STORE => t.tag("ask").ty(&m.store);
        "Tag::typed" STORE => t.tag("ask").typed::<i32, i32>(&m.store);
        "Extern::ty" STORE => Extern::from(t.run()).ty(&m.store);
        "Extern::ty" STORE => Extern::from(t.memory()).ty(&m.store);
        "Extern::ty" STORE => Extern::from(t.table()).ty(&m.store);
        "Extern::ty" STORE => Extern::from(t.global()).ty(&m.store);
        "Extern::ty" STORE => Extern::from(t.tag("ask")).ty(&m.store);
        "Instance::exports" STORE => t.instance.exports(&mut m.store);
        "Instance::get_export" NOTHING => t.instance.get_export(&mut m.store, "run");
        "Instance::get_func" NOTHING => t.instance.get_func(&mut m.store, "run");
        "Instance::get_global" NOTHING => t.instance.get_global(&mut m.store, "global");
        "Instance::get_memory" NOTHING => t.instance.get_memory(&mut m.store, "memory");
        "Instance::get_table" NOTHING => t.instance.get_table(&mut m.store, "table");
        "Instance::get_tag" NOTHING => t.instance.get_tag(&mut m.store, "ask");
        "Instance::get_typed_func" STORE =>
            t.instance.get_typed_func::<(), i32>(&mut m.store, "run");
        "Instance::get_module_export" NOTHING, export = m.module.get_export_index("run").unwrap() =>
            t.instance.get_module_export(&mut m.store, &export);
        "Instance::get_module_export" NOTHING_OF_ENGINE => {
            let export = t.module.get_export_index("run").unwrap();
            m.instance.get_module_export(&mut m.store, &export)
        };
        "Instance::module" STORE => t.instance.module(&m.store);
        "Instance::of_frame" NOTHING => {
            let fails = t.func("fails");
            let error = fails.call(&mut t.store, &[], &mut []).unwrap_err();
            let backtrace = error.downcast_ref::<Exception>().unwrap().backtrace();
            Instance::of_frame(&m.store, &backtrace.frames()[0])
        };
    }
}
