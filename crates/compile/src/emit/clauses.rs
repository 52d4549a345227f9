//! Finding a clause in a [list](clauses).

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types::*};
use cranelift_frontend::FunctionBuilder;
use ropewalk_abi::clauses;

/// Finds a clause in a list, as [`clauses::find`] does. Returns its number, counted from one;
/// continues at `none` if the list does not have it.
pub(crate) fn find_clause(
    builder: &mut FunctionBuilder<'_>,
    list: Value,
    word: Value,
    none: Block,
) -> Value {
    let [others, found] = std::array::from_fn(|_| builder.create_block());
    builder.set_cold_block(others);
    // The code after the search is as cold as the code before it.
    if builder.current_block().is_some_and(|block| builder.func.layout.is_cold(block)) {
        builder.set_cold_block(found);
    }
    let signal = builder.append_block_param(found, I64);
    let one = builder.ins().iconst(I64, 1);
    let first = builder.ins().load(I64, MemFlagsData::trusted(), list, 0);
    let is_first = builder.ins().icmp(IntCC::Equal, word, first);
    builder.ins().brif(is_first, found, &[one.into()], others, &[]);
    builder.switch_to_block(others);
    builder.seal_block(others);
    find_other(builder, list, word, [found, none]);
    builder.switch_to_block(found);
    builder.seal_block(found);
    signal
}

/// Searches all clauses but the first. Continues at `found` with the number, or at `none`.
fn find_other(
    builder: &mut FunctionBuilder<'_>,
    list: Value,
    word: Value,
    [found, none]: [Block; 2],
) {
    let flags = MemFlagsData::trusted();
    let [search, compare, next] = std::array::from_fn(|_| {
        let block = builder.create_block();
        builder.set_cold_block(block);
        block
    });
    let slot = builder.append_block_param(search, I64);
    let multiplier = builder.ins().load(I64, flags, list, clauses::MULTIPLIER);
    let first_slot = builder.ins().load(I64, flags, list, clauses::FIRST_SLOT);
    let product = builder.ins().imul(word, multiplier);
    let hash = builder.ins().ushr_imm_u(product, i64::from(clauses::HASH_SHIFT));
    let own = builder.ins().bor(hash, first_slot);
    builder.ins().jump(search, &[own.into()]);
    builder.switch_to_block(search);
    let place = element(builder, list, slot, size_of::<u32>());
    let number = builder.ins().uload32(flags, place, clauses::SLOTS_END);
    builder.ins().brif(number, compare, &[], none, &[]);
    builder.switch_to_block(compare);
    builder.seal_block(compare);
    // Numbers count from one.
    let place = element(builder, list, number, size_of::<u64>());
    let clause = builder.ins().load(I64, flags, place, -(size_of::<u64>() as i32));
    let is_this = builder.ins().icmp(IntCC::Equal, clause, word);
    builder.ins().brif(is_this, found, &[number.into()], next, &[]);
    builder.switch_to_block(next);
    builder.seal_block(next);
    let following = builder.ins().iadd_imm_s(slot, 1);
    let following = builder.ins().bor(following, first_slot);
    builder.ins().jump(search, &[following.into()]);
    builder.seal_block(search);
}

fn element(builder: &mut FunctionBuilder<'_>, array: Value, index: Value, size: usize) -> Value {
    let offset = builder.ins().ishl_imm_u(index, i64::from(size.trailing_zeros()));
    builder.ins().iadd(array, offset)
}
