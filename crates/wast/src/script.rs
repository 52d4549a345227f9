//! Runs a script: its state, and its directives.

use anyhow::{Context as _, bail};
use ropewalk::{Engine, Instance, Linker, Module, Result, Store, Val};
use ropewalk_text::Text;
use std::future::Future;
use std::ops::Range;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use wast::lexer::Lexer;
use wast::parser::{self, ParseBuffer};
use wast::token::{Id, Span};
use wast::{QuoteWat, WastDirective, WastExecute, WastInvoke};

use crate::directive::{Directive, DirectiveKind, Directives};
use crate::message::{self, describe};
use crate::registry::Registry;
use crate::report::Report;
use crate::snapshots::SnapshotDriver;
use crate::{WastRunner, argument, spectest};

/// Runs the script `text` in a fresh store.
pub(crate) fn run(runner: &WastRunner, name: &str, text: &str) -> Report {
    let mut report = Report::default();
    match Script::new(runner) {
        Ok(mut script) => script.run(name, text, &mut report),
        Err(error) => report.fail(name, 1, describe(&error)),
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

/// Whether a directive runs code. All others change only what they create.
fn is_run(directive: &DirectiveKind) -> bool {
    use WastDirective as D;
    matches!(
        directive,
        DirectiveKind::AssertInstanceTraps { .. }
            | DirectiveKind::Known(
                D::Invoke(_)
                    | D::AssertReturn { .. }
                    | D::AssertTrap { .. }
                    | D::AssertException { .. }
                    | D::AssertExhaustion { .. }
            )
    )
}

/// The line of an offset; the first line is 1.
fn line(text: &str, offset: usize) -> usize {
    Span::from_offset(offset).linecol_in(text).0 + 1
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
    pub(crate) engine: &'e Engine,
    is_async: bool,
    name: Arc<str>,
    pub(crate) source: Arc<ropewalk_text::Script>,
    pub(crate) store: Store<()>,
    linker: Linker<()>,
    definitions: Registry<Module>,
    instances: Registry<Instance>,
    /// The modules as they were defined: text or binary.
    pub(crate) texts: Registry<Vec<u8>>,
    /// The scripts that directives have named.
    pub(crate) scripts: Registry<String>,
    /// The instances whose exports imports can use, by name.
    registered: Vec<(String, Instance)>,
    /// Takes snapshots, if the runner has that mode.
    snapshots: Option<SnapshotDriver>,
    pub(crate) directory: Option<&'e Path>,
    /// The number of scripts around the running one.
    pub(crate) depth: usize,
}

impl<'e> Script<'e> {
    fn new(runner: &'e WastRunner) -> Result<Self> {
        let &WastRunner { ref engine, is_async, snapshots, ref directory } = runner;
        let mut store = Store::new(engine, ());
        let mut linker = Linker::new(engine);
        linker.allow_shadowing(true);
        spectest::define(&mut linker, &mut store)?;
        Ok(Script {
            engine,
            is_async,
            name: Arc::default(),
            source: Arc::new(ropewalk_text::Script::new("")),
            store,
            linker,
            definitions: Registry::new("module"),
            instances: Registry::new("instance"),
            texts: Registry::new("module"),
            scripts: Registry::new("script"),
            registered: Vec::new(),
            snapshots: snapshots.map(|mode| SnapshotDriver::new(engine, mode)).transpose()?,
            directory: directory.as_deref(),
            depth: 0,
        })
    }

    /// Runs the directives of a text.
    pub(crate) fn run(&mut self, name: &str, text: &str, report: &mut Report) {
        let source = Arc::new(ropewalk_text::Script::new(text));
        let outer = (
            std::mem::replace(&mut self.name, name.into()),
            std::mem::replace(&mut self.source, Arc::clone(&source)),
        );
        self.depth += 1;
        let parsed = lex(source.text()).and_then(|buffer| {
            let Directives(directives) = parser::parse(&buffer)?;
            self.run_directives(directives, report);
            Ok(())
        });
        if let Err(error) = parsed {
            let line = line(text, error.span().offset());
            report.fail(name, line, source.error(&error).with_path(name).to_string());
        }
        self.depth -= 1;
        (self.name, self.source) = outer;
    }

    fn run_directives(&mut self, directives: Vec<Directive>, report: &mut Report) {
        for Directive { kind, range } in directives {
            let start = range.start;
            let runs = is_run(&kind);
            let done = self.directive(kind, range, report);
            match done.and_then(|()| if runs { self.take_snapshot() } else { Ok(()) }) {
                Ok(()) => report.passed += 1,
                Err(error) => {
                    let line = line(self.source.source(), start);
                    report.fail(&self.name, line, describe(&error));
                }
            }
        }
    }

    fn directive(
        &mut self,
        directive: DirectiveKind,
        range: Range<usize>,
        report: &mut Report,
    ) -> Result<()> {
        use DirectiveKind as K;
        match directive {
            K::Known(directive) => self.known_directive(directive, range),
            K::Get(exec) => self.execute(exec).map(drop),
            K::AssertInstanceTraps { definition, message } => {
                let outcome = self.instance_of(definition).map(|_| Vec::new());
                message::expect_trap(outcome, message)
            }
            K::AssertInstanceUnlinkable { definition, message } => {
                let outcome = self.instance_of(definition);
                message::expect_unlinkable(outcome, message)
            }
            K::Script { name, directives, text } => {
                let text = self.source.source()[text].to_owned();
                self.run_directives(directives, report);
                self.scripts.insert(name, text);
                Ok(())
            }
            K::Input { name, file } => self.input(name, file, report),
            K::Output { name, file } => self.output(name, file, report),
        }
    }

    fn known_directive(&mut self, directive: WastDirective, range: Range<usize>) -> Result<()> {
        use WastDirective as D;
        match directive {
            D::Module(module) => self.module(module, range),
            D::ModuleDefinition(module) => self.module_definition(module, range),
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
    fn module(&mut self, module: QuoteWat, range: Range<usize>) -> Result<()> {
        let name = module.name();
        self.instances.forget(name);
        self.module_definition(module, range)?;
        self.module_instance(name, name)
    }

    /// `(module definition ...)`.
    fn module_definition(&mut self, mut module: QuoteWat, range: Range<usize>) -> Result<()> {
        let name = module.name();
        self.definitions.forget(name);
        let compiled = self.compile(&mut module)?;
        self.definitions.insert(name, compiled);
        let text = &self.source.source()[range];
        let fields = text.strip_prefix("module").map_or(text, str::trim_start);
        let fields = fields.strip_prefix("definition").unwrap_or(fields);
        self.texts.insert(name, format!("(module {})", fields.trim()).into_bytes());
        Ok(())
    }

    /// Defines a module and its instance.
    pub(crate) fn define(&mut self, name: Option<Id>, module: Module, text: Vec<u8>) -> Result<()> {
        self.definitions.insert(name, module);
        self.texts.insert(name, text);
        self.module_instance(name, None)
    }

    /// Gives the latest module and instance another name, if they exist.
    pub(crate) fn rename_latest(&mut self, name: Option<Id>) {
        self.definitions.rename_latest(name);
        self.instances.rename_latest(name);
        self.texts.rename_latest(name);
    }

    /// `(module instance ...)`.
    fn module_instance(&mut self, name: Option<Id>, definition: Option<Id>) -> Result<()> {
        self.instances.forget(name);
        let instance = self.instance_of(definition)?;
        self.instances.insert(name, instance);
        Ok(())
    }

    /// A new instance of a definition.
    fn instance_of(&mut self, definition: Option<Id>) -> Result<Instance> {
        let module = self.definitions.get(definition)?;
        self.instantiate(&module)
    }

    /// `(register ...)`: makes the exports of an instance available to imports.
    fn register(&mut self, name: &str, instance: Option<Id>) -> Result<()> {
        let instance = self.instances.get(instance)?;
        self.linker.instance(&mut self.store, name, instance)?;
        self.registered.push((name.to_string(), instance));
        Ok(())
    }

    pub(crate) fn compile(&self, module: &mut QuoteWat) -> Result<Module> {
        let text = Text::from_script(module, &self.source);
        let text = text.map_err(|error| error.with_path(&*self.name))?;
        Ok(Module::from_text(self.engine, text, Some(self.name.to_string()))?)
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
