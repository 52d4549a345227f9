//! `ropewalk run`: calls a function of a module.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use ropewalk::{Engine, ExternType, Func, Linker, Module, Result, Store, Val};

use crate::literal::literal;
use crate::{argument, output};

/// The function that a program starts with.
const START: &str = "_start";

/// Call a function of a module, and print its results one per line.
#[derive(Args)]
pub(crate) struct Run {
    /// The module, as text (.wat) or binary (.wasm).
    file: PathBuf,

    /// The exported function to call, instead of `_start`.
    #[arg(long, value_name = "NAME")]
    invoke: Option<String>,

    /// The arguments of the function, by its types: integers (-7, 0xff),
    /// floats (0.5, inf, nan), vectors (0xff, i32x4:1,2,3,4), `null`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

impl Run {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let engine = Engine::default();
        let module = Module::from_file(&engine, &self.file)?;
        let mut store = Store::new(&engine, ());
        let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
        let name = self.invoke.as_deref().unwrap_or(START);
        let func = instance
            .get_func(&mut store, name)
            .with_context(|| self.no_such_function(name, &module))?;
        for result in call(&mut store, func, name, &self.args)? {
            output::line(literal(&result))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn no_such_function(&self, name: &str, module: &Module) -> String {
        let file = self.file.display();
        let functions = exported_functions(module);
        if functions.is_empty() {
            return format!("{file} exports no function");
        }
        let hint = if self.invoke.is_none() { "; choose one with --invoke" } else { "" };
        format!("{file} exports no function `{name}`{hint}. It exports: {}", functions.join(", "))
    }
}

fn exported_functions(module: &Module) -> Vec<String> {
    let exports = module.exports();
    let functions = exports.filter(|export| matches!(export.ty(), ExternType::Func(_)));
    functions.map(|export| export.name().to_owned()).collect()
}

fn call(store: &mut Store<()>, func: Func, name: &str, arguments: &[String]) -> Result<Vec<Val>> {
    let ty = func.ty(&*store)?;
    let arguments = argument::parse(name, &ty, arguments)?;
    let mut results = vec![Val::I32(0); ty.results().len()];
    func.call(store, &arguments, &mut results)?;
    Ok(results)
}
