//! The records of `abi` that generated code reads and writes, field by field.

use super::program_value;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types::*};
use cranelift_frontend::FunctionBuilder;
use ropewalk_abi::{ControlBlock, FuncRef, HostContext, InstanceHeader, StoreContext, TypeInfo};
use std::marker::PhantomData;
use std::mem::offset_of;

/// A field of a record: its offset and type.
pub(crate) struct Field<R> {
    pub offset: i32,
    pub ty: Type,
    /// Whether it is a number or a reference, and not a pointer of the engine.
    is_value: bool,
    record: PhantomData<fn(R)>,
}

impl<R> Clone for Field<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Field<R> {}

impl<R> Field<R> {
    const fn new(offset: usize, ty: Type) -> Field<R> {
        Field { offset: offset as i32, ty, is_value: false, record: PhantomData }
    }

    const fn of_value(self) -> Field<R> {
        Field { is_value: true, ..self }
    }

    pub fn flags(self) -> MemFlagsData {
        match self.is_value {
            true => program_value(MemFlagsData::trusted()),
            false => MemFlagsData::trusted(),
        }
    }
}

macro_rules! fields {
    ($(#[$doc:meta])* $module:ident: $record:ident { $($name:ident = $field:ident: $ty:ident $(as $value:ident)?,)* }) => {
        $(#[$doc])*
        pub(crate) mod $module {
            use super::*;
            $(
                pub(crate) const $name: Field<$record> =
                    Field::new(offset_of!($record, $field), $ty)$(.$value())?;
            )*
        }
    };
}

fields! {
    block: ControlBlock {
        SP = sp: I64,
        FP = fp: I64,
        PARENT = parent: I64,
        HANDLERS = handlers: I64,
        REFERENCE = reference: I64 as of_value,
        IS_GROUPED = is_grouped: I32,
        // With the field after it: in the common case no frame owns a stack.
        PURPOSE_AND_OWNS = purpose: I16,
        // With the fields after it: a new stack has no frames and no marks.
        PURPOSE_AND_MARKS = purpose: I32,
        OWNS = owns: I8,
        MARKS = marks: I16,
        INNERMOST = innermost: I64,
        THROUGH = through: I64,
        SOUGHT = sought: I64 as of_value,
        EXTENDER = extender: I64,
        FUNCTION = function: I64,
        ENTRY = entry: I64,
        NEXT_FREE = next_free: I64,
        TOP = top: I64,
        LIMIT = limit: I64,
    }
}

fields! {
    store: StoreContext {
        STACK = stack: I64,
        HOST_SP = host_sp: I64,
        CALL_BUILTIN = call_builtin: I64,
        CALL_HOST = call_host: I64,
        TRANSFER = transfer: I64,
        BUILTINS = builtins: I64,
        HEAP_NEXT = heap_next: I64,
        HEAP_END = heap_end: I64,
        COPY_BYTES = copy_bytes: I64,
        FILL_BYTES = fill_bytes: I64,
        BLOCKS = blocks: I64,
        FREE_STACKS = free_stacks: I64,
        START = start: I64,
        DELIVER = deliver: I64,
        CONTINUE_CALL = continue_call: I64,
        FINISH = finish: I64,
        FINISH_WITH = finish_with: I64,
        NO_PARENT = no_parent: I64,
        ROOT = root: I64,
        BASE = base: I64,
        EXTENDING = extending: I64,
        GROUND = ground: I64,
        WALK_FUNCTION = walk_function: I64,
        WALK_ENV = walk_env: I64 as of_value,
        WALK_STACK = walk_stack: I64 as of_value,
        FOUND = found: I64,
        CAPTURES = captures: I64 as of_value,
        PAUSE = pause: I64,
        FUEL = fuel: I64 as of_value,
    }
}

fields! {
    /// A function as a value.
    func_ref: FuncRef {
        CODE = code: I64,
        CONTEXT = context: I64,
        TYPE = ty: I64,
    }
}

fields! {
    host: HostContext {
        STORE = store: I64,
        FUNCTION = function: I64,
    }
}

fields! {
    instance: InstanceHeader {
        STORE = store: I64,
        KEEP_RUNNING = keep_running: I64,
    }
}

fields! {
    type_info: TypeInfo {
        ENTRY = entry: I64,
    }
}

/// Loads and stores fields.
pub(crate) trait Records<'f> {
    fn builder(&mut self) -> &mut FunctionBuilder<'f>;

    fn get<R>(&mut self, record: Value, field: Field<R>) -> Value {
        self.builder().ins().load(field.ty, field.flags(), record, field.offset)
    }

    /// Loads a field that never changes.
    fn get_constant<R>(&mut self, record: Value, field: Field<R>) -> Value {
        let flags = field.flags().with_readonly().with_can_move();
        self.builder().ins().load(field.ty, flags, record, field.offset)
    }

    /// Loads a 16-bit field as a wider integer.
    fn get_short<R>(&mut self, ty: Type, record: Value, field: Field<R>) -> Value {
        assert_eq!(field.ty, I16);
        let flags = MemFlagsData::trusted();
        self.builder().ins().uload16(ty, flags, record, field.offset)
    }

    fn load_word(&mut self, base: Value, offset: i32) -> Value {
        self.builder().ins().load(I64, MemFlagsData::trusted(), base, offset)
    }

    fn store_word(&mut self, value: Value, base: Value, offset: i32) {
        self.builder().ins().store(MemFlagsData::trusted(), value, base, offset);
    }

    fn set<R>(&mut self, record: Value, field: Field<R>, value: Value) {
        let builder = self.builder();
        assert_eq!(builder.func.dfg.value_type(value), field.ty);
        builder.ins().store(MemFlagsData::trusted(), value, record, field.offset);
    }
}
