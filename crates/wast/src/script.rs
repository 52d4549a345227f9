//! Runs a script: its state, and its directives.

use anyhow::{Context as _, bail};
use ropewalk::{Engine, Instance, Linker, Module, Result, Store, Val};
use ropewalk_text::Text;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use wast::lexer::Lexer;
use wast::parser::{self, ParseBuffer};
use wast::token::{Id, Span};
use wast::{QuoteWat, Wast, WastDirective, WastExecute, WastInvoke};

use crate::message::describe;
use crate::registry::Registry;
use crate::report::Report;
use crate::snapshots::SnapshotDriver;
use crate::{WastRunner, argument, spectest};

/// Runs the script `text` in a fresh store.
pub(crate) fn run(runner: &WastRunner, name: &str, text: &str) -> Report {
    let mut report = Report::default();
    let source = ropewalk_text::Script::new(text);
    let parsed = lex(source.text()).and_then(|buffer| {
        let directives = parser::parse::<Wast>(&buffer)?.directives;
        let script = Script::new(runner, name, &source);
        run_directives(script, name, &source, directives, &mut report);
        Ok(())
    });
    if let Err(error) = parsed {
        let line = line(text, error.span());
        report.fail(name, line, source.error(&error).with_path(name).to_string());
    }
    report
}

/// Allows confusing Unicode characters, which the scripts of the specification contain on purpose.
fn lex(text: &str) -> Result<ParseBuffer<'_>, wast::Error> {
    let mut lexer = Lexer::new(text);
    lexer.allow_confusing_unicode(true);
    let mut buffer = ParseBuffer::new_with_lexer(lexer)?;
    buffer.track_instr_spans(true);
    Ok(buffer)
}

fn run_directives(
    script: Result<Script<'_>>,
    name: &str,
    source: &ropewalk_text::Script,
    directives: Vec<WastDirective>,
    report: &mut Report,
) {
    let mut script = match script {
        Ok(script) => script,
        Err(error) => return report.fail(name, 1, describe(&error)),
    };
    for directive in directives {
        let span = directive.span();
        let runs = is_run(&directive);
        let done = script.directive(directive);
        match done.and_then(|()| if runs { script.take_snapshot() } else { Ok(()) }) {
            Ok(()) => report.passed += 1,
            Err(error) => {
                report.fail(name, line(source.source(), span), describe(&error));
            }
        }
    }
}

/// Whether a directive runs code. All others change only what they create.
fn is_run(directive: &WastDirective) -> bool {
    use WastDirective as D;
    matches!(
        directive,
        D::Invoke(_)
            | D::AssertReturn { .. }
            | D::AssertTrap { .. }
            | D::AssertException { .. }
            | D::AssertExhaustion { .. }
    )
}

/// The line of a span; the first line is 1.
fn line(text: &str, span: Span) -> usize {
    span.linecol_in(text).0 + 1
}

/// Polls a future until it is ready.
fn block_on<R>(future: impl Future<Output = R>) -> R {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
    }
}

/// A running script.
pub(crate) struct Script<'e> {
    engine: &'e Engine,
    is_async: bool,
    name: &'e str,
    pub(crate) source: &'e ropewalk_text::Script,
    pub(crate) store: Store<()>,
    linker: Linker<()>,
    definitions: Registry<Module>,
    instances: Registry<Instance>,
    /// The instances whose exports imports can use, by name.
    registered: Vec<(String, Instance)>,
    /// Takes snapshots, if the runner has that mode.
    snapshots: Option<SnapshotDriver>,
}

impl<'e> Script<'e> {
    fn new(
        runner: &'e WastRunner,
        name: &'e str,
        source: &'e ropewalk_text::Script,
    ) -> Result<Self> {
        let &WastRunner { ref engine, is_async, snapshots } = runner;
        let mut store = Store::new(engine, ());
        let mut linker = Linker::new(engine);
        linker.allow_shadowing(true);
        spectest::define(&mut linker, &mut store)?;
        let definitions = Registry::new("module");
        let instances = Registry::new("instance");
        let registered = Vec::new();
        let snapshots = snapshots.map(|mode| SnapshotDriver::new(engine, mode)).transpose()?;
        Ok(Script {
            engine,
            is_async,
            name,
            source,
            store,
            linker,
            definitions,
            instances,
            registered,
            snapshots,
        })
    }

    fn directive(&mut self, directive: WastDirective) -> Result<()> {
        use WastDirective as D;
        match directive {
            D::Module(module) => self.module(module),
            D::ModuleDefinition(module) => self.module_definition(module),
            D::ModuleInstance { instance, module, .. } => self.module_instance(instance, module),
            D::Register { name, module, .. } => self.register(name, module),
            D::Invoke(call) => self.invoke(&call).map(drop),
            D::AssertReturn { exec, results, .. } => self.assert_return(exec, &results),
            D::AssertTrap { exec, message, .. } => self.assert_trap(exec, message),
            D::AssertExhaustion { call, message, .. } => self.assert_exhaustion(&call, message),
            D::AssertUnlinkable { module, message, .. } => self.assert_unlinkable(module, message),
            D::AssertException { exec, .. } => self.assert_exception(exec),
            D::AssertSuspension { exec, message, .. } => self.assert_suspension(exec, message),
            D::AssertMalformed { module, .. } | D::AssertMalformedCustom { module, .. } => {
                self.assert_malformed(module)
            }
            D::AssertInvalid { module, .. } | D::AssertInvalidCustom { module, .. } => {
                self.assert_invalid(module)
            }
            D::Thread(_) => bail!("`thread` directives are not supported"),
            D::Wait { .. } => bail!("`wait` directives are not supported"),
        }
    }

    /// `(module ...)`: a definition and an instance of it.
    fn module(&mut self, module: QuoteWat) -> Result<()> {
        let name = module.name();
        self.instances.forget(name);
        self.module_definition(module)?;
        self.module_instance(name, name)
    }

    /// `(module definition ...)`.
    fn module_definition(&mut self, mut module: QuoteWat) -> Result<()> {
        self.definitions.forget(module.name());
        let compiled = self.compile(&mut module)?;
        self.definitions.insert(module.name(), compiled);
        Ok(())
    }

    /// `(module instance ...)`.
    fn module_instance(&mut self, name: Option<Id>, definition: Option<Id>) -> Result<()> {
        self.instances.forget(name);
        let module = self.definitions.get(definition)?;
        let instance = self.instantiate(&module)?;
        self.instances.insert(name, instance);
        Ok(())
    }

    /// `(register ...)`: makes the exports of an instance available to imports.
    fn register(&mut self, name: &str, instance: Option<Id>) -> Result<()> {
        let instance = self.instances.get(instance)?;
        self.linker.instance(&mut self.store, name, instance)?;
        self.registered.push((name.to_string(), instance));
        Ok(())
    }

    pub(crate) fn compile(&self, module: &mut QuoteWat) -> Result<Module> {
        let text = Text::from_script(module, self.source);
        let text = text.map_err(|error| error.with_path(self.name))?;
        Ok(Module::from_text(self.engine, text, Some(self.name.to_owned()))?)
    }

    /// Takes a snapshot, and continues in a store that is restored from it.
    fn take_snapshot(&mut self) -> Result<()> {
        let Some(driver) = &mut self.snapshots else { return Ok(()) };
        let Some((mut store, old)) = driver.replace(&mut self.store)? else { return Ok(()) };
        let same = |instance: &Instance| {
            let number = old.iter().position(|old| old == instance);
            number.map_or(*instance, |number| driver.instances[number])
        };
        self.instances.replace(same);
        self.registered.iter_mut().for_each(|(_, instance)| *instance = same(instance));
        let mut linker = Linker::new(self.engine);
        linker.allow_shadowing(true);
        spectest::define(&mut linker, &mut store)?;
        for (name, instance) in &self.registered {
            linker.instance(&mut store, name, *instance)?;
        }
        (self.store, self.linker) = (store, linker);
        Ok(())
    }

    pub(crate) fn instantiate(&mut self, module: &Module) -> Result<Instance> {
        if let Some(driver) = &mut self.snapshots {
            driver.modules.push(module.clone());
        }
        let instance = self.linker.instantiate(&mut self.store, module)?;
        if let Some(driver) = &mut self.snapshots {
            driver.instances.push(instance);
        }
        Ok(instance)
    }

    /// Runs the execution inside an assertion: an invocation, the value of a global, or the
    /// instantiation of a module.
    pub(crate) fn execute(&mut self, exec: WastExecute) -> Result<Vec<Val>> {
        match exec {
            WastExecute::Invoke(call) => self.invoke(&call),
            WastExecute::Get { module, global, .. } => Ok(vec![self.get(module, global)?]),
            WastExecute::Wat(module) => {
                let module = self.compile(&mut QuoteWat::Wat(module))?;
                self.instantiate(&module).map(|_| Vec::new())
            }
        }
    }

    pub(crate) fn invoke(&mut self, call: &WastInvoke) -> Result<Vec<Val>> {
        let instance = self.instances.get(call.module)?;
        let func = instance
            .get_func(&mut self.store, call.name)
            .with_context(|| format!("there is no exported function {:?}", call.name))?;
        let arguments = argument::values(&mut self.store, &call.args)?;
        let mut results = vec![Val::I32(0); func.ty(&self.store)?.results().len()];
        let is_async = self.is_async;
        let call = |store: &mut Store<()>| {
            match is_async {
                false => func.call(store, &arguments, &mut results)?,
                true => block_on(func.call_async(store, &arguments, &mut results))?,
            }
            Ok(results)
        };
        match &self.snapshots {
            None => call(&mut self.store),
            Some(driver) => driver.call(&mut self.store, call),
        }
    }

    fn get(&mut self, instance: Option<Id>, name: &str) -> Result<Val> {
        let instance = self.instances.get(instance)?;
        let global = instance
            .get_global(&mut self.store, name)
            .with_context(|| format!("there is no exported global {name:?}"))?;
        global.get(&mut self.store)
    }
}
