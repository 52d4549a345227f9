//! Modules, linkers and types, which belong to an engine.

use super::*;
use crate::common::polling::block_on;

pub fn rows() -> Vec<Row> {
    [instances(), linkers(), definitions(), types()].into_iter().flatten().collect()
}

/// A module without imports.
fn plain(home: &Home) -> Module {
    Module::new(&home.engine, "(module)").unwrap()
}

/// A module that imports items of a type of its own.
fn importing(home: &Home) -> Module {
    let text = r#"(module
        (type $s (struct (field i32)))
        (import "some" "function" (func (param (ref null $s))))
        (import "some" "global" (global (ref null $s))))"#;
    Module::new(&home.engine, text).unwrap()
}

/// A linker in which `a` `b` is a function of the home's store.
fn with_run(home: &mut Home) -> Linker<()> {
    let (run, mut linker) = (home.run(), Linker::new(&home.engine));
    linker.define(&mut home.store, "a", "b", run).unwrap();
    linker
}

fn instances() -> Vec<Row> {
    table! {m, t:
        "Instance::new" ENGINE => Instance::new(&mut m.store, &plain(t), &[]);
        "Instance::new" STORE => Instance::new(&mut m.store, &m.module, &[t.run().into()]);
        "Instance::new_async" ENGINE => block_on(Instance::new_async(&mut m.store, &plain(t), &[]));
        "Instance::new_async" STORE =>
            block_on(Instance::new_async(&mut m.store, &m.module, &[t.run().into()]));
        "InstancePre::instantiate" ENGINE =>
            t.linker().instantiate_pre(&t.module).unwrap().instantiate(&mut m.store);
        "InstancePre::instantiate" BOTH => {
            let module = Module::new(&t.engine, r#"(import "a" "b" (func (result i32)))"#).unwrap();
            with_run(t).instantiate_pre(&module).unwrap().instantiate(&mut m.store)
        };
        "InstancePre::instantiate_async" ENGINE => {
            let ready = t.linker().instantiate_pre(&t.module).unwrap();
            block_on(ready.instantiate_async(&mut m.store))
        };
    }
}

fn linkers() -> Vec<Row> {
    table! {m, t:
        "Linker::get" NOTHING_OF_ENGINE => t.linker().get(&mut m.store, "host", "wait");
        "Linker::get" NOTHING => with_run(t).get(&mut m.store, "a", "b");
        "Linker::get_by_import" NOTHING_OF_ENGINE, import = t.module.imports().next().unwrap() =>
            t.linker().get_by_import(&mut m.store, &import);
        "Linker::get_by_import" NOTHING => {
            let module = Module::new(&m.engine, r#"(import "a" "b" (func))"#).unwrap();
            with_run(t).get_by_import(&mut m.store, &module.imports().next().unwrap())
        };
        "Linker::iter" NOTHING_OF_ENGINE => t.linker().iter(&mut m.store).next().map(drop);
        "Linker::iter" NOTHING => with_run(t).iter(&mut m.store).next().map(drop);
        "Linker::instantiate" ENGINE => t.linker().instantiate(&mut m.store, &m.module);
        "Linker::instantiate" ENGINE => m.linker().instantiate(&mut m.store, &t.module);
        "Linker::instantiate_async" ENGINE =>
            block_on(t.linker().instantiate_async(&mut m.store, &m.module));
        "Linker::instantiate_async" ENGINE =>
            block_on(m.linker().instantiate_async(&mut m.store, &t.module));
        "Linker::instantiate_pre" ENGINE => m.linker().instantiate_pre(&t.module);
    }
}

fn definitions() -> Vec<Row> {
    table! {m, t:
        "Linker::define" ENGINE, run = m.run() =>
            t.linker().define(&mut m.store, "a", "b", run).map(drop);
        "Linker::define" STORE => m.linker().define(&mut m.store, "a", "b", t.run()).map(drop);
        "Linker::define_unknown_imports_as_default_values" ENGINE, imports = importing(t) =>
            m.linker().define_unknown_imports_as_default_values(&mut m.store, &imports).map(drop);
        "Linker::define_unknown_imports_as_default_values" ENGINE, imports = importing(t) =>
            t.linker().define_unknown_imports_as_default_values(&mut m.store, &imports).map(drop);
        "Linker::define_unknown_imports_as_traps" ENGINE =>
            m.linker().define_unknown_imports_as_traps(&importing(t)).map(drop);
        "Linker::func_new" TYPE, ty = FuncType::new([t.reference().into()], []) =>
            m.linker().func_new("a", "b", ty, |_, _, _| Ok(())).map(drop);
        "Linker::func_new_async" TYPE, ty = FuncType::new([t.reference().into()], []) =>
            m.linker().func_new_async("a", "b", ty, |_, _, _| Box::new(async { Ok(()) })).map(drop);
        "Linker::instance" STORE => m.linker().instance(&mut m.store, "a", t.instance).map(drop);
        "Linker::instance" ENGINE => t.linker().instance(&mut m.store, "a", m.instance).map(drop);
        "Linker::module" ENGINE => t.linker().module(&mut m.store, "a", &m.module).map(drop);
        "Linker::module" ENGINE => m.linker().module(&mut m.store, "a", &t.module).map(drop);
        "Linker::module_async" ENGINE =>
            block_on(t.linker().module_async(&mut m.store, "a", &m.module)).map(drop);
        "Linker::module_async" ENGINE =>
            block_on(m.linker().module_async(&mut m.store, "a", &t.module)).map(drop);
    }
}

fn types() -> Vec<Row> {
    table! {m, t:
        "ArrayType::matches" NOTHING_OF_ENGINE => m.row_type().matches(&t.row_type());
        "ArrayType::new" TYPE =>
            ArrayType::new(&m.engine, FieldType::new(ValType::Ref(t.reference()), true));
        "ArrayType::of" NOTHING_OF_ENGINE =>
            ArrayType::of(&m.engine, t.row_type().reference(true).into());
        "StructType::matches" NOTHING_OF_ENGINE => m.pair_type().matches(&t.pair_type());
        "StructType::new" TYPE =>
            StructType::new(&m.engine, [FieldType::new(ValType::Ref(t.reference()), true)]);
        "StructType::of" NOTHING_OF_ENGINE => StructType::of(&m.engine, t.reference().into());
        "Engine::top_type" NOTHING_OF_ENGINE => {
            let ValType::Ref(continuation) = t.cont_ref().ty() else { return false };
            m.engine.top_type(continuation.heap) == HeapType::Cont
        };
        "Func::new" TYPE, ty = FuncType::new([t.reference().into()], []) =>
            Func::new(&mut m.store, ty, |_, _, _| Ok(()));
        "Func::new_async" TYPE, ty = FuncType::new([t.reference().into()], []) =>
            Func::new_async(&mut m.store, ty, |_, _, _| Box::new(async { Ok(()) }));
        "Tag::new" TYPE, ty = FuncType::new([t.reference().into()], []) =>
            Tag::new(&mut m.store, TagType::new(ty));
        "Tag::with_params" TYPE => Tag::with_params(&mut m.store, [ValType::Ref(t.reference())]);
    }
}

/// Panics when it is asked.
struct NeverAsked;

impl ResourceLimiterAsync for NeverAsked {
    fn memory_growing(&self, _: usize, _: usize, _: Option<usize>) -> Answer<'_, Result<bool>> {
        panic!("the limiter was asked about a memory")
    }

    fn table_growing(&self, _: usize, _: usize, _: Option<usize>) -> Answer<'_, Result<bool>> {
        panic!("the limiter was asked about a table")
    }

    fn instances_growing(&self, _: usize, _: usize) -> Answer<'_, Result<bool>> {
        panic!("the limiter was asked about an instance")
    }
}

#[test]
fn a_limiter_is_not_asked_about_a_module_of_another_engine() {
    let [theirs, mine] = [(); 2].map(|()| Engine::default());
    let module = Module::new(&theirs, "(module (memory 1) (table 1 funcref))").unwrap();
    let ready = Linker::new(&theirs).instantiate_pre(&module).unwrap();
    let mut store = Store::new(&mine, ());
    store.limiter_async(NeverAsked);
    let made = block_on(Instance::new_async(&mut store, &module, &[]));
    assert!(made.unwrap_err().is::<WrongEngine>());
    let made = block_on(ready.instantiate_async(&mut store));
    assert!(made.unwrap_err().is::<WrongEngine>());
}
