//! The Rust types for stacks as parameters and results of functions.

use super::bag::BagStack;
use super::continuation::Continuation;
use super::fiber::Fiber;
use super::first_class::FirstClassStack;
use super::task::Task;
use crate::value::wasm_ty::WasmTy;
use anyhow::Result;
use ropewalk_abi::{HeapType, RawVal, RefType, ValType};
use ropewalk_runtime::Store as RuntimeStore;

/// A function that returns one of these gives it to the host, and one that takes it gets
/// it.
macro_rules! of_designs {
    ($($ty:ident: $into_word:ident, $into_word_of:ident;)*) => {
        $(
            // SAFETY: a reference of that type is null or names a stack.
            unsafe impl WasmTy for Option<$ty> {
                fn ty() -> ValType {
                    ValType::Ref(RefType::CONTREF)
                }

                fn to_raw(self, runtime: &RuntimeStore) -> Result<RawVal> {
                    self.map_or(Ok(RawVal::ZERO), |value| value.to_raw(runtime))
                }

                const MAY_BE_CHECKED: bool = true;

                unsafe fn to_raw_of(self, runtime: &RuntimeStore, ty: ValType) -> Result<RawVal> {
                    // SAFETY: the caller's promise.
                    self.map_or(Ok(RawVal::ZERO), |value| unsafe { value.to_raw_of(runtime, ty) })
                }

                unsafe fn from_raw(runtime: &mut RuntimeStore, raw: &RawVal) -> Self {
                    // SAFETY: the caller's promise.
                    unsafe { Self::from_raw_of(runtime, raw, Self::ty()) }
                }

                const NEEDS_TYPE: bool = true;

                unsafe fn from_raw_of(
                    runtime: &mut RuntimeStore,
                    raw: &RawVal,
                    ty: ValType,
                ) -> Self {
                    (raw.u64() != 0).then(|| $ty::from_word(runtime, raw.u64(), ty))
                }
            }

            // SAFETY: a reference of that type names a stack.
            unsafe impl WasmTy for $ty {
                fn ty() -> ValType {
                    ValType::Ref(RefType { nullable: false, heap: HeapType::Cont })
                }

                fn to_raw(self, runtime: &RuntimeStore) -> Result<RawVal> {
                    Ok(RawVal::from_u64(self.$into_word(runtime)?))
                }

                const MAY_BE_CHECKED: bool = true;

                unsafe fn to_raw_of(self, runtime: &RuntimeStore, ty: ValType) -> Result<RawVal> {
                    let ValType::Ref(ty) = ty else { unreachable!("a reference") };
                    Ok(RawVal::from_u64(self.$into_word_of(runtime, ty)?))
                }

                unsafe fn from_raw(runtime: &mut RuntimeStore, raw: &RawVal) -> Self {
                    $ty::from_word(runtime, raw.u64(), <Self as WasmTy>::ty())
                }

                const NEEDS_TYPE: bool = true;

                unsafe fn from_raw_of(
                    runtime: &mut RuntimeStore,
                    raw: &RawVal,
                    ty: ValType,
                ) -> Self {
                    $ty::from_word(runtime, raw.u64(), ty)
                }
            }
        )*
    };
}

of_designs! {
    Continuation: into_word, into_word_of;
    BagStack: into_word, into_word_of;
    FirstClassStack: into_word, into_word_of;
    Task: word, word_of;
    Fiber: word, word_of;
}
