//! Tests of what the check refuses, accepts and rewrites, as text of Cranelift's IR.
//!
//! Each function has a slot `ss0` and takes `v0: i64, v1: i32, v2: f64`.

use super::make_relocatable;
use cranelift_codegen::ir::Function;

/// Parses a function with a slot and these instructions.
fn function(body: &str) -> Function {
    with_slots("ss0 = explicit_slot 64", body)
}

fn with_slots(slots: &str, body: &str) -> Function {
    let text = format!(
        "function %f(i64, i32, f64) -> i64 {{
            {slots}
            sig0 = (i64) -> i64
            fn0 = %callee(i64) -> i64
        block0(v0: i64, v1: i32, v2: f64):
            {body}
        }}"
    );
    let mut functions = cranelift_reader::parse_functions(&text).unwrap();
    assert_eq!(functions.len(), 1);
    functions.remove(0)
}

/// The instructions of a function, one per line, without names of blocks.
fn instructions(func: &Function) -> Vec<String> {
    let blocks = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
    blocks.map(|inst| func.dfg.display_inst(inst).to_string()).collect()
}

/// Checks that a function is refused because of `culprit`.
#[track_caller]
fn refuses(body: &str, culprit: &str) {
    refuses_function(function(body), culprit);
}

#[track_caller]
fn refuses_function(mut func: Function, culprit: &str) {
    let immovable = make_relocatable(&mut func).expect_err("the checker accepted it");
    assert_eq!(immovable.0, culprit);
}

/// Checks that a function is accepted, and what it is rewritten to.
#[track_caller]
fn rewrites(body: &str, expected: &[&str]) {
    let mut func = function(body);
    make_relocatable(&mut func).unwrap();
    assert_eq!(instructions(&func), expected);
}

/// Checks that a function is accepted without changes.
#[track_caller]
fn keeps(mut func: Function) {
    let before = instructions(&func);
    make_relocatable(&mut func).unwrap();
    assert_eq!(instructions(&func), before);
}

/// Makes a test for each function, which is refused because of an instruction.
macro_rules! refuses {
    ($($name:ident: $body:literal => $culprit:literal;)+) => {
        $(
            #[test]
            fn $name() {
                refuses($body, $culprit);
            }
        )+
    };
}

/// Makes a test for each function, which is accepted with these instructions.
macro_rules! rewrites {
    ($($name:ident: $body:literal => [$($expected:literal,)+];)+) => {
        $(
            #[test]
            fn $name() {
                rewrites($body, &[$($expected),+]);
            }
        )+
    };
}

#[test]
fn the_address_of_a_slot_cannot_be_passed_to_either_block_of_a_branch() {
    for branch in ["brif.i32 v1, block1(v3), block1(v0)", "brif.i32 v1, block1(v0), block1(v3)"] {
        let body = format!(
            "v3 = stack_addr.i64 ss0
                 {branch}
             block1(v4: i64):
                 store.i32 v1, v4
                 return v0"
        );
        refuses(&body, branch);
    }
}

#[test]
fn a_slot_cannot_be_changed_atomically() {
    let changes = [
        "atomic_store.i64 v0, v3",
        "v4 = atomic_rmw.i64 add v3, v0",
        "v4 = atomic_cas.i64 v3, v0, v0",
    ];
    for change in changes {
        refuses(&format!("v3 = stack_addr.i64 ss0\n{change}\nreturn v0"), change);
    }
}

#[test]
fn the_frame_pointer_cannot_be_read() {
    let body = "v3 = get_frame_pointer.i64\nv4 = load.i64 v3\nreturn v4";
    refuses(body, "v3 = get_frame_pointer.i64 ");
    refuses_function(with_slots("", body), "v3 = get_frame_pointer.i64 ");
}

#[test]
fn the_stack_pointer_cannot_be_kept() {
    let body = "v3 = get_stack_pointer.i64\nreturn v3";
    refuses(body, "v3 = get_stack_pointer.i64 ");
    refuses_function(with_slots("", body), "v3 = get_stack_pointer.i64 ");
}

#[test]
fn the_address_of_a_dynamic_slot_cannot_be_taken() {
    let slots = "gv0 = dyn_scale_target_const.i32x4
         dt0 = i32x4*gv0
         dss0 = explicit_dynamic_slot dt0";
    let body = "v3 = dynamic_stack_addr.i64 dss0\nv4 = call fn0(v3)\nreturn v4";
    refuses_function(with_slots(slots, body), "v3 = dynamic_stack_addr.i64 dss0");
}

#[test]
fn stacks_cannot_be_switched_by_cranelift() {
    let body = "v3 = stack_switch.i64 v0, v0, v0\nreturn v3";
    refuses(body, "v3 = stack_switch.i64 v0, v0, v0");
    refuses_function(with_slots("", body), "v3 = stack_switch.i64 v0, v0, v0");
}

#[test]
fn the_stack_pointer_can_be_loaded_from_at_once() {
    let body = "v3 = get_stack_pointer.i64\nv4 = load.i64 v3+8\nreturn v4";
    keeps(function(body));
    keeps(with_slots("", body));
}

#[test]
fn the_stack_pointer_can_be_left_unused() {
    keeps(function("v3 = get_stack_pointer.i64\nreturn v0"));
}

#[test]
fn the_address_of_a_slot_can_be_left_unused() {
    keeps(function("v3 = stack_addr.i64 ss0\nreturn v0"));
}

#[test]
fn other_memory_accesses_do_not_change() {
    keeps(function(
        "v3 = load.i64 v0+8
         store.i64 v3, v0+16
         v4 = uload8.i64 v0
         istore8.i64 v4, v0
         v5 = iadd.i64 v3, v4
         v6 = icmp.i64 eq v3, v4
         v7 = call fn0(v5)
         return v7",
    ));
}

#[test]
fn other_values_are_not_loaded_from_slots() {
    for ty in ["i8", "i16", "f32", "f64", "i8x16"] {
        let body = format!("v3 = stack_addr.i64 ss0\nv4 = load.{ty} v3\nreturn v0");
        refuses(&body, &format!("v4 = load.{ty} v3"));
    }
}

#[test]
fn each_slot_keeps_its_own_address() {
    let mut func = with_slots(
        "ss0 = explicit_slot 8
         ss1 = explicit_slot 8",
        "v3 = stack_addr.i64 ss0
         v4 = stack_addr.i64 ss1
         v5 = load.i64 v3
         store.i64 v5, v4
         return v0",
    );
    make_relocatable(&mut func).unwrap();
    let expected = [
        "v3 = stack_addr.i64 ss0",
        "v4 = stack_addr.i64 ss1",
        "v6 = stack_addr.i64 ss0",
        "v5 = atomic_load.i64 v6",
        "v7 = stack_addr.i64 ss1",
        "store.i64 v5, v7",
        "return v0",
    ];
    assert_eq!(instructions(&func), expected);
}

refuses! {
    the_address_of_a_slot_cannot_be_stored:
        "v3 = stack_addr.i64 ss0
         store.i64 v3, v0
         return v0"
        => "store.i64 v3, v0";
    the_address_of_a_slot_cannot_be_stored_in_a_slot:
        "v3 = stack_addr.i64 ss0
         store.i64 v3, v3+8
         return v0"
        => "store.i64 v3, v4";
    the_address_of_a_slot_cannot_be_passed_to_a_call:
        "v3 = stack_addr.i64 ss0
         v4 = call fn0(v3)
         return v4"
        => "v4 = call fn0(v3)";
    the_address_of_a_slot_cannot_be_passed_to_an_indirect_call:
        "v3 = stack_addr.i64 ss0
         v4 = call_indirect.i64 sig0, v0(v3)
         return v4"
        => "v4 = call_indirect.i64 sig0, v0(v3)";
    the_address_of_a_slot_cannot_be_called:
        "v3 = stack_addr.i64 ss0
         v4 = call_indirect.i64 sig0, v3(v0)
         return v4"
        => "v4 = call_indirect.i64 sig0, v3(v0)";
    the_address_of_a_slot_cannot_be_passed_to_a_call_with_handlers:
        "v3 = stack_addr.i64 ss0
             try_call fn0(v3), sig0, block1(ret0), [ default: block2 ]
         block1(v4: i64):
             return v4
         block2:
             return v0"
        => "try_call fn0(v3), sig0, block1(ret0), [ default: block2 ]";
    the_address_of_a_slot_cannot_be_the_context_of_handlers:
        "v3 = stack_addr.i64 ss0
             try_call fn0(v0), sig0, block1(ret0), [ context v3, default: block2 ]
         block1(v4: i64):
             return v4
         block2:
             return v0"
        => "try_call fn0(v0), sig0, block1(ret0), [ context v3, default: block2 ]";
    the_address_of_a_slot_cannot_be_passed_to_a_handler:
        "v3 = stack_addr.i64 ss0
             try_call fn0(v0), sig0, block1(ret0), [ default: block2(v3) ]
         block1(v4: i64):
             return v4
         block2(v5: i64):
             return v0"
        => "try_call fn0(v0), sig0, block1(ret0), [ default: block2(v3) ]";
    the_address_of_a_slot_cannot_be_returned:
        "v3 = stack_addr.i64 ss0
         return v3"
        => "return v3";
    the_address_of_a_slot_cannot_be_passed_to_a_tail_call:
        "v3 = stack_addr.i64 ss0
         return_call fn0(v3)"
        => "return_call fn0(v3)";
    the_address_of_a_slot_cannot_be_compared:
        "v3 = stack_addr.i64 ss0
         v4 = icmp.i64 eq v3, v0
         v5 = uextend.i64 v4
         return v5"
        => "v4 = icmp.i64 eq v3, v0";
    the_address_of_a_slot_cannot_be_added_to:
        "v3 = stack_addr.i64 ss0
         v4 = iadd.i64 v3, v0
         store.i32 v1, v4
         return v0"
        => "v4 = iadd.i64 v3, v0";
    the_address_of_a_slot_cannot_be_selected:
        "v3 = stack_addr.i64 ss0
         v4 = select.i64 v1, v3, v0
         store.i32 v1, v4
         return v0"
        => "v4 = select.i64 v1, v3, v0";
    the_address_of_a_slot_cannot_be_converted:
        "v3 = stack_addr.i64 ss0
         v4 = ireduce.i32 v3
         store.i64 v4, v0
         return v0"
        => "v4 = ireduce.i32 v3";
    the_address_of_a_slot_cannot_be_passed_to_a_block:
        "v3 = stack_addr.i64 ss0
             jump block1(v3)
         block1(v4: i64):
             store.i32 v1, v4
             return v0"
        => "jump block1(v3)";
    the_address_of_a_slot_cannot_be_passed_to_a_block_of_a_table:
        "v3 = stack_addr.i64 ss0
             br_table v1, block1(v0), [block1(v3)]
         block1(v4: i64):
             store.i32 v1, v4
             return v0"
        => "br_table v1, block1(v0), [block1(v3)]";
    a_branch_cannot_depend_on_the_address_of_a_slot:
        "v3 = stack_addr.i64 ss0
             brif.i64 v3, block1, block1
         block1:
             return v0"
        => "brif.i64 v3, block1, block1";
    the_address_of_a_slot_is_recognized_through_an_alias:
        "v3 = stack_addr.i64 ss0
         v4 -> v3
         return v4"
        => "return v4";
    a_slot_cannot_be_loaded_from_with_an_extension:
        "v3 = stack_addr.i64 ss0
         v4 = uload8.i64 v3
         return v4"
        => "v4 = uload8.i64 v3";
    a_slot_cannot_be_stored_to_in_part:
        "v3 = stack_addr.i64 ss0
         istore8.i64 v0, v3
         return v0"
        => "istore8.i64 v0, v3";
    the_stack_pointer_cannot_be_used_twice:
        "v3 = get_stack_pointer.i64
         v4 = load.i64 v3
         v5 = load.i64 v3+8
         return v4"
        => "v3 = get_stack_pointer.i64 ";
    the_stack_pointer_cannot_be_loaded_from_later:
        "v3 = get_stack_pointer.i64
         v4 = call fn0(v0)
         v5 = load.i64 v3
         return v5"
        => "v3 = get_stack_pointer.i64 ";
    the_stack_pointer_cannot_be_stored_to:
        "v3 = get_stack_pointer.i64
         store.i64 v0, v3
         return v0"
        => "v3 = get_stack_pointer.i64 ";
    the_stack_pointer_cannot_be_passed_to_a_block:
        "v3 = get_stack_pointer.i64
             jump block1(v3)
         block1(v4: i64):
             return v0"
        => "v3 = get_stack_pointer.i64 ";
}

rewrites! {
    integers_are_loaded_from_slots_atomically:
        "v3 = stack_addr.i64 ss0
         v4 = load.i32 v3
         v5 = load.i64 v3
         return v5"
        => [
            "v3 = stack_addr.i64 ss0",
            "v6 = stack_addr.i64 ss0",
            "v4 = atomic_load.i32 v6",
            "v7 = stack_addr.i64 ss0",
            "v5 = atomic_load.i64 v7",
            "return v5",
        ];
    values_are_stored_to_slots:
        "v3 = stack_addr.i64 ss0
         store.i32 v1, v3
         store.f64 v2, v3
         return v0"
        => [
            "v3 = stack_addr.i64 ss0",
            "v4 = stack_addr.i64 ss0",
            "store.i32 v1, v4",
            "v5 = stack_addr.i64 ss0",
            "store.f64 v2, v5",
            "return v0",
        ];
    offsets_become_part_of_the_address:
        "v3 = stack_addr.i64 ss0+8
         store.i64 v0, v3+16
         v4 = load.i64 v3+24
         v5 = load.i32 v3+32
         return v4"
        => [
            "v3 = stack_addr.i64 ss0+8",
            "v6 = stack_addr.i64 ss0+24",
            "store.i64 v0, v6",
            "v7 = stack_addr.i64 ss0+32",
            "v4 = atomic_load.i64 v7",
            "v8 = stack_addr.i64 ss0+40",
            "v5 = atomic_load.i32 v8",
            "return v4",
        ];
    flags_of_loads_and_stores_stay:
        "v3 = stack_addr.i64 ss0
         store.i64 notrap aligned v0, v3
         v4 = load.i64 notrap aligned v3
         return v4"
        => [
            "v3 = stack_addr.i64 ss0",
            "v5 = stack_addr.i64 ss0",
            "store.i64 notrap aligned v0, v5",
            "v6 = stack_addr.i64 ss0",
            "v4 = atomic_load.i64 notrap aligned v6",
            "return v4",
        ];
    loaded_values_can_be_used_for_anything:
        "v3 = stack_addr.i64 ss0
         v4 = load.i64 v3
         v5 = iadd.i64 v4, v4
         v6 = call fn0(v5)
         return v6"
        => [
            "v3 = stack_addr.i64 ss0",
            "v7 = stack_addr.i64 ss0",
            "v4 = atomic_load.i64 v7",
            "v5 = iadd.i64 v4, v4",
            "v6 = call fn0(v5)",
            "return v6",
        ];
    no_address_is_kept_across_a_call:
        "v3 = stack_addr.i64 ss0
         store.i64 v0, v3
         v4 = call fn0(v0)
         v5 = load.i64 v3
         return v5"
        => [
            "v3 = stack_addr.i64 ss0",
            "v6 = stack_addr.i64 ss0",
            "store.i64 v0, v6",
            "v4 = call fn0(v0)",
            "v7 = stack_addr.i64 ss0",
            "v5 = atomic_load.i64 v7",
            "return v5",
        ];
    no_address_is_kept_across_blocks:
        "v3 = stack_addr.i64 ss0
             jump block1
         block1:
             v4 = load.i64 v3
             return v4"
        => [
            "v3 = stack_addr.i64 ss0",
            "jump block1",
            "v5 = stack_addr.i64 ss0",
            "v4 = atomic_load.i64 v5",
            "return v4",
        ];
}
