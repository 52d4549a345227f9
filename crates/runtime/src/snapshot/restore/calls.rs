//! Restoring pending activations.

use super::super::image::{CallImage, CallTo, ImportName};
use super::{Reader, RestoredCall, RestoredRoot, ResumedByHost, damaged, type_number};
use crate::store::pending::{AnyHostFuture, NeverReady, PendingCall, Scope};
use crate::store::pending_activations::{CallerPlaces, PendingActivation, PendingCause};
use anyhow::Result;
use ropewalk_abi::clauses::List;
use ropewalk_abi::module::Item;
use ropewalk_abi::{FuncType, RawVal};
use std::sync::Arc;

impl Reader<'_> {
    pub(super) fn call(&mut self, image: CallImage) -> Result<RestoredCall> {
        let mut awaited = Awaited { cause: PendingCause::Turn, ty: None, name: None };
        if let Some((instance, import)) = image.import {
            awaited = self.awaited(instance, import)?;
        }
        let Awaited { mut cause, ty, name } = awaited;
        let values = image.arguments.as_ref().map(|arguments| {
            arguments.iter().map(|bytes| RawVal::from_u128(u128::from_le_bytes(*bytes)))
        });
        if let PendingCause::Host { arguments, .. } = &mut cause {
            *arguments = values.clone().map(Iterator::collect);
        }
        let params = ty.iter().flat_map(|ty| ty.params()).copied();
        let arguments = values.map(|values| values.zip(params).collect());
        let results = match image.results {
            Some(ty) => self.func_type(ty)?.results().to_vec(),
            None => Vec::new(),
        };
        let place = self.roots.iter().position(|root| root.number == image.root);
        let place = place.ok_or(damaged("a call without a root"))?;
        let RestoredRoot { root, values, .. } = self.roots.swap_remove(place);
        let [stack, base] = [self.block(image.stack)?, self.block(image.base)?];
        if stack.is_null() || base.is_null() {
            return Err(damaged("a call without a stack").into());
        }
        let (resumed, clauses) = match &image.to {
            CallTo::Call { .. } | CallTo::Nobody => (None, None),
            CallTo::Resume { reference, clauses } => {
                let results = image.results.ok_or(damaged("a call without results"))?;
                let results = type_number(&self.modules, results)?;
                let resumed = ResumedByHost { reference: *reference, results };
                (Some(resumed), Some(self.clauses(clauses)?))
            }
        };
        if let Some(clauses) = &clauses {
            // SAFETY: the root is alive, and waits with these.
            unsafe { (*root.block).handlers = clauses.as_ptr() };
        }
        let places = Arc::new(CallerPlaces { values, clauses });
        let call = PendingCall::polled(AnyHostFuture::new(NeverReady), Scope::NONE);
        let activation =
            PendingActivation { root, stack, base, cause, _caller: Some(places.clone()) };
        let pending = self.store.restore_pending_activation(activation, call)?;
        let awaited = ty.map_or(Vec::new(), |ty| ty.results().to_vec());
        Ok(RestoredCall { import: name, arguments, awaited, results, places, resumed, pending })
    }

    fn clauses(&self, symbols: &[u32]) -> Result<List<Vec<u64>>> {
        let words = symbols.iter().map(|symbol| Ok(self.address(*symbol)? as u64));
        Ok(List::new(&words.collect::<Result<Vec<_>>>()?))
    }

    /// The host function that is an import of an instance.
    fn awaited(&self, instance: usize, import: usize) -> Result<Awaited> {
        let missing = || damaged("a call waits for an import that is missing");
        let instance = self.store.objects.instances().get(instance).ok_or_else(missing)?;
        let import = instance.module().info.imports.get(import).ok_or_else(missing)?;
        let Item::Func(function) = import.item else { return Err(missing().into()) };
        let context = instance.host_context_place(function).ok_or_else(missing)?;
        // SAFETY: the context belongs to a host function, and types live as long as the engine.
        let ty = unsafe { self.store.options.types.func_type((*(*context).ty).id) };
        let name = ImportName { module: import.module.clone(), name: import.name.clone() };
        let cause = PendingCause::Host { context, arguments: None };
        Ok(Awaited { cause, ty: Some(ty), name: Some(name) })
    }
}

/// The pending call of an activation.
struct Awaited {
    cause: PendingCause,
    ty: Option<FuncType>,
    name: Option<ImportName>,
}
