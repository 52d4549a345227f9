//! Core dumps in the format of the WebAssembly tool conventions.

use ropewalk_abi::life::Life;
use ropewalk_abi::{HeapType, MemoryType, TypeKind, ValType};
use ropewalk_runtime::vm::global::{GlobalItem, GlobalPlace};
use ropewalk_runtime::{Frame, Instance, LoadedModule, StackInfo, StackList, Store};
use std::collections::HashMap;
use std::sync::Arc;
use wasm_encoder::{
    AbstractHeapType, ConstExpr, CoreDumpInstancesSection, CoreDumpModulesSection, CoreDumpSection,
    CoreDumpStackSection, DataSection, GlobalSection, GlobalType, HeapType as EncodedHeapType,
    Ieee32, Ieee64, MemorySection, Module, RefType,
};

/// The size of the pieces of a memory. Pieces of zeros are left out.
const GAP: usize = 4096;

/// Writes a dump of a program with these stacks, and with the current memories and globals.
pub(crate) fn write(store: &Store, program: &str, stacks: &StackList) -> Vec<u8> {
    let mut dump = Module::new();
    dump.section(&CoreDumpSection::new(program));
    let (modules, numbers) = modules(store);
    dump.section(&modules);
    let (globals, places) = globals(store);
    dump.section(&instances(store, &numbers, &places));
    let (memories, data) = memories(store);
    dump.section(&memories);
    dump.section(&globals);
    dump.section(&data);
    let runs = |stack: &&StackInfo| stack.life == Life::Running;
    let (first, rest): (Vec<_>, Vec<_>) = stacks.iter().partition(runs);
    for stack in first.into_iter().chain(rest) {
        dump.section(&stack_section(store, stack));
    }
    dump.finish()
}

/// The modules, each once, and their numbers by code address.
fn modules(store: &Store) -> (CoreDumpModulesSection, HashMap<usize, u32>) {
    let (mut section, mut numbers) = (CoreDumpModulesSection::new(), HashMap::new());
    for instance in store.objects.instances() {
        let module = instance.module();
        numbers.entry(module.code.start()).or_insert_with(|| {
            section.module(module.info.name.as_deref().unwrap_or(""));
            section.len() - 1
        });
    }
    (section, numbers)
}

fn globals(store: &Store) -> (GlobalSection, HashMap<GlobalPlace, u32>) {
    let (mut section, mut numbers) = (GlobalSection::new(), HashMap::new());
    for global in store.objects.instances().iter().flat_map(globals_of) {
        numbers.entry(global.place).or_insert_with(|| {
            let (val_type, value) = global_value(store, global);
            let ty = GlobalType { val_type, mutable: false, shared: false };
            section.global(ty, &value);
            section.len() - 1
        });
    }
    (section, numbers)
}

fn globals_of(instance: &Instance) -> impl Iterator<Item = GlobalItem> {
    let count = instance.module().info.globals.len() as u32;
    (0..count).map(|index| instance.global(index))
}

/// The type and the value of a global. References are null, since they mean nothing outside of the
/// store.
fn global_value(store: &Store, global: GlobalItem) -> (wasm_encoder::ValType, ConstExpr) {
    use wasm_encoder::ValType as Encoded;
    // SAFETY: the global is of an instance of the store.
    let value = unsafe { global.place.get(store) };
    match global.ty.content {
        ValType::I32 => (Encoded::I32, ConstExpr::i32_const(value.u32() as i32)),
        ValType::I64 => (Encoded::I64, ConstExpr::i64_const(value.u64() as i64)),
        ValType::F32 => (Encoded::F32, ConstExpr::f32_const(Ieee32::new(value.u32()))),
        ValType::F64 => (Encoded::F64, ConstExpr::f64_const(Ieee64::new(value.u64()))),
        ValType::V128 => (Encoded::V128, ConstExpr::v128_const(value.u128() as i128)),
        ValType::Ref(ty) => {
            let heap_type = EncodedHeapType::Abstract { shared: false, ty: top(store, ty.heap) };
            let ty = RefType { nullable: true, heap_type };
            (Encoded::Ref(ty), ConstExpr::ref_null(heap_type))
        }
    }
}

fn top(store: &Store, heap: HeapType) -> AbstractHeapType {
    use HeapType::*;
    match heap {
        Func | NoFunc => AbstractHeapType::Func,
        Extern | NoExtern => AbstractHeapType::Extern,
        Any | Eq | I31 | Struct | Array | None => AbstractHeapType::Any,
        Exn | NoExn => AbstractHeapType::Exn,
        Cont | NoCont => AbstractHeapType::Cont,
        Concrete(number) => match store.types().kind(number) {
            TypeKind::Func => AbstractHeapType::Func,
            TypeKind::Cont => AbstractHeapType::Cont,
            _ => AbstractHeapType::Any,
        },
    }
}

fn instances(
    store: &Store,
    modules: &HashMap<usize, u32>,
    globals: &HashMap<GlobalPlace, u32>,
) -> CoreDumpInstancesSection {
    let mut section = CoreDumpInstancesSection::new();
    for instance in store.objects.instances() {
        let module = modules[&instance.module().code.start()];
        let count = instance.module().info.memories.len() as u32;
        let memories: Vec<u32> = (0..count).map(|index| instance.memory(index) as u32).collect();
        let globals: Vec<u32> = globals_of(instance).map(|global| globals[&global.place]).collect();
        section.instance(module, memories, globals);
    }
    section
}

/// The memories, and their contents without pieces of zeros.
fn memories(store: &Store) -> (MemorySection, DataSection) {
    let (mut section, mut data) = (MemorySection::new(), DataSection::new());
    for (number, memory) in (0..).zip(store.objects.memories()) {
        let MemoryType { memory64, maximum, .. } = memory.ty();
        let minimum = memory.size();
        let page_size_log2 = None;
        let shared = false;
        section.memory(wasm_encoder::MemoryType {
            minimum,
            maximum,
            memory64,
            shared,
            page_size_log2,
        });
        for (offset, bytes) in pieces(memory.data()) {
            let offset = match memory64 {
                true => ConstExpr::i64_const(offset as i64),
                false => ConstExpr::i32_const(offset as u32 as i32),
            };
            data.active(number, &offset, bytes.iter().copied());
        }
    }
    (section, data)
}

/// The pieces of a memory that are not zero, with their offsets.
fn pieces(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let is_used = |piece: &[u8]| piece.iter().any(|byte| *byte != 0);
    let mut next = 0;
    std::iter::from_fn(move || {
        let mut blocks = bytes[next..].chunks(GAP);
        let start = next + blocks.position(is_used)? * GAP;
        let used = bytes[start..].chunks(GAP).take_while(|piece| is_used(piece));
        let len = used.map(<[u8]>::len).sum::<usize>();
        next = start + len;
        Some((start, &bytes[start..next]))
    })
}

fn stack_section(store: &Store, stack: &StackInfo) -> CoreDumpStackSection {
    let name = format!("stack {}: {}, {}", stack.number, stack.kind_name(), stack.life_name());
    let mut section = CoreDumpStackSection::new(name);
    for frame in stack.backtrace.frames() {
        let instance = instance_of(store, frame.module());
        section.frame(instance, frame.function_index(), code_offset(frame), [], []);
    }
    section
}

/// The first instance of a module, since a frame does not say which one it belongs to.
fn instance_of(store: &Store, module: &Arc<LoadedModule>) -> u32 {
    let of_module = |instance: &Instance| Arc::ptr_eq(instance.module(), module);
    store.objects.instances().iter().position(of_module).unwrap_or(0) as u32
}

/// The offset of an instruction from the beginning of its function's body.
fn code_offset(frame: &Frame) -> u32 {
    let module = frame.module();
    let number = frame.function_index().checked_sub(module.info.imported_functions);
    let code = number.and_then(|number| module.code.tables().functions.get(number as usize));
    let body = code.map_or(0, |code| code.body);
    frame.offset().map_or(0, |offset| offset.saturating_sub(body))
}
