//! The handles of stacks as parameters and results of functions.

use super::bag::BagStack;
use super::continuation::Continuation;
use super::fiber::Fiber;
use super::first_class::FirstClassStack;
use super::task::Task;
use crate::value::wasm_ty::{WasmTy, nullable};
use anyhow::Result;
use ropewalk_abi::{HeapType, RawVal, RefType, ValType};
use ropewalk_runtime::Store as RuntimeStore;

macro_rules! stacks {
    ($($ty:ident: $into_word:ident, $into_word_of:ident;)*) => {
        $(
            // SAFETY: a reference of that type refers to a stack.
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

stacks! {
    Continuation: into_word, into_word_of;
    BagStack: into_word, into_word_of;
    FirstClassStack: into_word, into_word_of;
    Task: word, word_of;
    Fiber: word, word_of;
}

nullable! {
    impl<> Option<Continuation>;
    impl<> Option<BagStack>;
    impl<> Option<FirstClassStack>;
    impl<> Option<Task>;
    impl<> Option<Fiber>;
}
