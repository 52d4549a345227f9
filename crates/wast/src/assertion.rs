//! The directives that assert something.

use anyhow::{anyhow, bail};
use ropewalk::{Exception, Result, Trap, TrapCode};
use wast::{QuoteWat, WastExecute, WastInvoke, WastRet, Wat};

use crate::message::{Rejection, expect_trap, expect_unlinkable, found, rejection};
use crate::pattern;
use crate::script::Script;

impl Script<'_> {
    /// The execution returns the expected results.
    pub(crate) fn assert_return(&mut self, exec: WastExecute, results: &[WastRet]) -> Result<()> {
        match self.execute(exec) {
            Ok(values) => pattern::check(&self.store, results, &values),
            Err(error) => bail!("expected {}, {}", pattern::describe(results)?, found(&error)),
        }
    }

    /// The execution traps for the expected reason.
    pub(crate) fn assert_trap(&mut self, exec: WastExecute, message: &str) -> Result<()> {
        let outcome = self.execute(exec);
        expect_trap(outcome, message)
    }

    /// The invocation runs out of stack.
    pub(crate) fn assert_exhaustion(&mut self, call: &WastInvoke, message: &str) -> Result<()> {
        let outcome = self.invoke(call);
        expect_trap(outcome, message)
    }

    /// The module is malformed.
    pub(crate) fn assert_malformed(&mut self, module: QuoteWat) -> Result<()> {
        self.assert_rejected(module, "a malformed module", Rejection::Malformed)
    }

    /// The module is well-formed, but not valid.
    pub(crate) fn assert_invalid(&mut self, module: QuoteWat) -> Result<()> {
        self.assert_rejected(module, "an invalid module", Rejection::Invalid)
    }

    /// The module is malformed or invalid. Messages are not compared, since each tool has its own.
    /// Malformed and invalid are told apart in dialect modules only, since tools check the rules of
    /// the standard at different times.
    fn assert_rejected(
        &mut self,
        mut module: QuoteWat,
        what: &str,
        expected: Rejection,
    ) -> Result<()> {
        let is_dialect = self.source.is_dialect(&module);
        let Err(error) = self.compile(&mut module) else {
            bail!("expected {what}, found a valid module");
        };
        match rejection(&error) {
            Some(other) if is_dialect && other != expected => {
                bail!("expected {what}, found {other} module: {error}")
            }
            Some(_) => Ok(()),
            None => bail!("expected {what}, {}", found(&error)),
        }
    }

    /// The module is valid, but does not link.
    pub(crate) fn assert_unlinkable(&mut self, module: Wat, message: &str) -> Result<()> {
        let module = self.compile(&mut QuoteWat::Wat(module))?;
        expect_unlinkable(self.instantiate(&module), message)
    }

    /// The execution ends with an exception that nothing catches.
    pub(crate) fn assert_exception(&mut self, exec: WastExecute) -> Result<()> {
        match self.execute(exec) {
            Ok(_) => bail!("expected an exception, found a return"),
            Err(error) if error.is::<Exception>() => Ok(()),
            Err(error) => bail!("expected an exception, {}", found(&error)),
        }
    }

    /// The execution suspends with a tag that nothing handles.
    pub(crate) fn assert_suspension(&mut self, exec: WastExecute, message: &str) -> Result<()> {
        let outcome = self.execute(exec);
        let Err(error) = outcome else {
            bail!("expected suspension: {message}, found a return");
        };
        match error.downcast_ref::<Trap>() {
            Some(trap) if trap.code() == TrapCode::UnhandledTag => Ok(()),
            _ => Err(anyhow!("expected suspension: {message}, {}", found(&error))),
        }
    }
}
