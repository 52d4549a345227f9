/* Null pointers, objects of the wrong kind or store, values of the wrong type, and host functions
 * that violate their contract: each is an error, and the process continues. */

#include "expect.h"
#include "families.h"

static wasm_store_t* callback_store;
static wasm_func_t* callback_func;

static own wasm_trap_t* wrong_kind(const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  (void)args;
  results->data[0].kind = WASM_F64;
  results->data[0].of.f64 = 1;
  return NULL;
}

static own wasm_trap_t* not_a_trap(const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  (void)args, (void)results;
  return (wasm_trap_t*)wasm_func_copy(callback_func);
}

static void reenter(void* data) {
  (void)data;
  /* The collector uses the store, or it was deleted. */
  wasm_func_type(callback_func);
}

static own wasm_trap_t* recurse(const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  return wasm_func_call(callback_func, args, results);
}

static own wasm_trap_t* while_running(const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  (void)args;
  ropewalk_store_gc(callback_store);
  expect_error("while WebAssembly runs");
  results->data[0].of.i32 = 1;
  return NULL;
}

static void null_stacks(void) {
  ropewalk_task_t* task;
  ropewalk_fiber_t* fiber;
  ropewalk_bag_stack_t* bag_stack;
  ropewalk_first_class_stack_t* stack;
  expect_this_error(ropewalk_task_from_ref(NULL, &task), "found null");
  expect_this_error(ropewalk_fiber_from_ref(NULL, &fiber), "found null");
  expect_this_error(ropewalk_bag_stack_from_ref(NULL, &bag_stack), "found null");
  expect_this_error(ropewalk_first_class_stack_from_ref(NULL, &stack), "found null");
  expect("handles", !task && !fiber && !bag_stack && !stack);
  expect_this_error(ropewalk_task_from_ref(NULL, NULL), "found null");
  expect_this_error(ropewalk_first_class_stack_new(NULL, NULL, &stack), "a store, found null");
  expect_this_error(ropewalk_bag_stack_try_clone(NULL, &bag_stack), "found null");
  expect_this_error(ropewalk_first_class_stack_try_clone(NULL, &stack), "found null");
  expect("references", !ropewalk_task_reference(NULL) && !ropewalk_fiber_reference(NULL));
  expect("references", !ropewalk_bag_stack_into_ref(NULL));
  expect("references", !ropewalk_first_class_stack_into_ref(NULL));
  expect("states", !ropewalk_task_is_suspended(NULL) && !ropewalk_task_is_moribund(NULL));
  expect("states", !ropewalk_fiber_is_suspended(NULL) && !ropewalk_fiber_is_moribund(NULL));
  expect("states", !ropewalk_fiber_can_dismount(NULL, NULL));
  expect_this_error(ropewalk_task_release(NULL), "a task, found null");
  expect_this_error(ropewalk_fiber_release(NULL), "a fiber, found null");
  ropewalk_task_delete(NULL);
  ropewalk_fiber_delete(NULL);
  ropewalk_bag_stack_delete(NULL);
  ropewalk_first_class_stack_delete(NULL);
  ropewalk_switched_t switched;
  ropewalk_task_resume(NULL, NULL, &switched);
  expect("switched", switched.kind == ROPEWALK_SWITCH_TRAPPED);
  expect_trap(switched.trap, "found null");
  ropewalk_task_resume(NULL, NULL, NULL);
  ropewalk_fiber_mount(NULL, NULL, NULL, 0, NULL, &switched);
  expect_trap(switched.trap, "found null");
  ropewalk_fiber_mount(NULL, NULL, NULL, 3, NULL, NULL);
  ropewalk_bag_stack_switch(NULL, NULL, &switched);
  expect_trap(switched.trap, "found null");
  ropewalk_bag_stack_switch(NULL, NULL, NULL);
  ropewalk_first_class_stack_switch(NULL, NULL, NULL, &switched);
  expect_trap(switched.trap, "found null");
  ropewalk_first_class_stack_switch(NULL, NULL, NULL, NULL);
  ropewalk_switched_delete(NULL);
  expect("suspension", !ropewalk_trap_new_task_suspension(NULL, NULL));
  expect_error("a task, found null");
  expect("suspension", !ropewalk_trap_new_fiber_suspension(NULL, NULL, NULL, NULL));
  expect_error("a fiber, found null");
  expect("suspension", !ropewalk_trap_new_bag_switch(NULL, NULL));
  expect_error("a stack, found null");
  expect("suspension", !ropewalk_trap_new_first_class_switch(NULL, NULL, NULL));
  expect_error("a stack, found null");
}

static void nulls(void) {
  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  wasm_byte_vec_t bytes;
  expect("store", !wasm_store_new(NULL));
  expect_error("an engine, found null");
  expect("engine", !wasm_engine_new_with_config(NULL));
  expect("module", !wasm_module_new(NULL, NULL));
  expect("validate", !wasm_module_validate(NULL, NULL));
  expect("deserialize", !wasm_module_deserialize(NULL, NULL));
  expect("obtain", !wasm_module_obtain(NULL, NULL));
  expect("share", !wasm_module_share(NULL));
  wasm_module_serialize(NULL, &bytes);
  expect("serialize", bytes.size == 0);
  wasm_module_serialize(NULL, NULL);
  wasm_module_imports(NULL, NULL);
  wasm_module_exports(NULL, NULL);
  expect("func", !wasm_func_new(NULL, NULL, NULL));
  expect("func with env", !wasm_func_new_with_env(NULL, NULL, NULL, NULL, NULL));
  expect("arity", wasm_func_param_arity(NULL) == 0 && wasm_func_result_arity(NULL) == 0);
  expect("func type", !wasm_func_type(NULL));
  expect_trap(wasm_func_call(NULL, &nothing, &nothing), "a function, found null");
  expect("global", !wasm_global_new(NULL, NULL, NULL));
  wasm_global_get(NULL, NULL);
  wasm_global_set(NULL, NULL);
  expect("table", !wasm_table_new(NULL, NULL, NULL));
  expect("table get", !wasm_table_get(NULL, 0) && !wasm_table_set(NULL, 0, NULL));
  expect("table grow", !wasm_table_grow(NULL, 0, NULL) && wasm_table_size(NULL) == 0);
  expect("memory", !wasm_memory_new(NULL, NULL) && !wasm_memory_data(NULL));
  expect("memory grow", !wasm_memory_grow(NULL, 1) && wasm_memory_size(NULL) == 0);
  expect("tag", !wasm_tag_new(NULL, NULL) && !wasm_tag_type(NULL));
  expect("instance", !wasm_instance_new(NULL, NULL, NULL, NULL));
  expect_error("a store, found null");
  wasm_instance_exports(NULL, NULL);
  expect("extern", !wasm_extern_type(NULL) && wasm_extern_kind(NULL) == 0);
  expect("trap", !wasm_trap_new(NULL, NULL) && !wasm_trap_origin(NULL));
  wasm_trap_message(NULL, &bytes);
  expect("message", bytes.size == 0);
  expect("foreign", !wasm_foreign_new(NULL));
  expect("same", wasm_ref_same(NULL, NULL) && !wasm_ref_copy(NULL));
  expect("host info", !wasm_ref_get_host_info(NULL));
  wasm_ref_set_host_info(NULL, NULL);
  expect("types", !wasm_functype_new(NULL, NULL) && !wasm_globaltype_new(NULL, 0));
  expect("types", !wasm_tabletype_new(NULL, NULL) && !wasm_memorytype_new(NULL));
  expect("types", !wasm_tagtype_new(NULL) && !wasm_functype_params(NULL));
  expect("casts", !wasm_ref_as_func(NULL) && !wasm_func_as_ref(NULL));
  wasm_val_copy(NULL, NULL);
  wasm_val_delete(NULL);
  wasm_byte_vec_new(NULL, 0, NULL);
  wasm_byte_vec_new(&bytes, 5, NULL);
  expect("bytes", bytes.size == 0);
  wasm_byte_vec_copy(&bytes, NULL);
  wasm_byte_vec_delete(NULL);
  wasm_extern_vec_delete(NULL);
  wasm_engine_delete(NULL);
  wasm_store_delete(NULL);
  wasm_func_delete(NULL);
  wasm_frame_vec_t frames;
  wasm_trap_trace(NULL, &frames);
  expect("trace", frames.size == 0);
  wasm_trap_trace(NULL, NULL);
  expect("frame", !wasm_frame_copy(NULL) && !wasm_frame_instance(NULL));
  expect("frame", wasm_frame_func_index(NULL) == 0 && wasm_frame_func_offset(NULL) == 0);
  expect("frame", wasm_frame_module_offset(NULL) == 0);
  expect("global type", !wasm_global_type(NULL) && !wasm_table_type(NULL));
  expect("memory", !wasm_memory_type(NULL) && wasm_memory_data_size(NULL) == 0);
  expect("parts", !wasm_functype_results(NULL) && !wasm_globaltype_content(NULL));
  expect("parts", wasm_globaltype_mutability(NULL) == 0 && !wasm_tabletype_element(NULL));
  expect("parts", !wasm_tabletype_limits(NULL) && !wasm_memorytype_limits(NULL));
  expect("parts", !wasm_tagtype_functype(NULL) && wasm_externtype_kind(NULL) == 0);
  expect("parts", wasm_valtype_kind(NULL) == 0 && !wasm_importtype_module(NULL));
  expect("parts", !wasm_importtype_name(NULL) && !wasm_importtype_type(NULL));
  expect("parts", !wasm_exporttype_name(NULL) && !wasm_exporttype_type(NULL));
  expect("import type", !wasm_importtype_new(NULL, NULL, NULL));
  expect("export type", !wasm_exporttype_new(NULL, NULL));
  wasm_ref_set_host_info_with_finalizer(NULL, NULL, NULL);
  wasm_config_delete(NULL);
  wasm_ref_delete(NULL);
  wasm_frame_delete(NULL);
  wasm_shared_module_delete(NULL);
  wasm_val_vec_new(NULL, 0, NULL);
  wasm_val_vec_new_empty(NULL);
  wasm_val_vec_new_uninitialized(NULL, 1);
  wasm_val_vec_copy(NULL, NULL);
  wasm_val_vec_delete(NULL);
  wasm_byte_vec_new_empty(NULL);
  wasm_byte_vec_new_uninitialized(NULL, 1);
  ropewalk_error_delete(ropewalk_last_error());
  expect("no error is left", !ropewalk_last_error());
}

/* Passes null to each function of the families of wasm.h. */
static void null_families(void) {
#define NULL_TYPE(name)                                                         \
  expect(#name, !wasm_##name##_copy(NULL));                                     \
  wasm_##name##_delete(NULL);
  TYPES(NULL_TYPE)

#define NULL_EXTERNTYPE(name)                                                   \
  expect(#name, !wasm_##name##_as_externtype(NULL) && !wasm_externtype_as_##name(NULL)); \
  expect(#name, !wasm_##name##_as_externtype_const(NULL));                      \
  expect(#name, !wasm_externtype_as_##name##_const(NULL));
  EXTERNTYPES(NULL_EXTERNTYPE)

#define NULL_VECTOR(name)                                                       \
  {                                                                             \
    wasm_##name##_vec_t vec;                                                    \
    wasm_##name##_vec_new(&vec, 5, NULL);                                       \
    expect(#name, vec.size == 0);                                               \
    wasm_##name##_vec_copy(&vec, NULL);                                         \
    expect(#name, vec.size == 0);                                               \
    wasm_##name##_vec_new(NULL, 5, NULL);                                       \
    wasm_##name##_vec_new_empty(NULL);                                          \
    wasm_##name##_vec_new_uninitialized(NULL, 5);                               \
    wasm_##name##_vec_new_uninitialized(&vec, SIZE_MAX);                        \
    expect(#name, vec.size == 0);                                               \
    wasm_##name##_vec_copy(NULL, NULL);                                         \
    wasm_##name##_vec_delete(NULL);                                             \
  }
  VECTORS_OF_POINTERS(NULL_VECTOR)

#define NULL_REFERENCE(name)                                                    \
  expect(#name, !wasm_##name##_copy(NULL) && wasm_##name##_same(NULL, NULL));   \
  expect(#name, !wasm_##name##_get_host_info(NULL));                            \
  wasm_##name##_set_host_info(NULL, NULL);                                      \
  wasm_##name##_set_host_info_with_finalizer(NULL, NULL, NULL);                 \
  expect(#name, !wasm_##name##_as_ref(NULL) && !wasm_ref_as_##name(NULL));      \
  expect(#name, !wasm_##name##_as_ref_const(NULL) && !wasm_ref_as_##name##_const(NULL)); \
  wasm_##name##_delete(NULL);
  REFERENCES(NULL_REFERENCE)

#define NULL_EXTERN(name)                                                       \
  expect(#name, !wasm_##name##_as_extern(NULL) && !wasm_extern_as_##name(NULL)); \
  expect(#name, !wasm_##name##_as_extern_const(NULL));                          \
  expect(#name, !wasm_extern_as_##name##_const(NULL));
  EXTERNS(NULL_EXTERN)
  ropewalk_error_delete(ropewalk_last_error());
}

/* Passes null to each function of ropewalk.h. */
static void null_extensions(void) {
  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  wasm_byte_vec_t bytes;
  ropewalk_error_message(NULL, &bytes);
  wasm_byte_vec_delete(&bytes);
  ropewalk_error_message(NULL, NULL);
  ropewalk_error_delete(NULL);
  ropewalk_config_set_interruption(NULL, true);
  expect_error("settings, found null");
  ropewalk_config_set_consume_fuel(NULL, true);
  expect_error("settings, found null");
  ropewalk_config_set_max_wasm_stack(NULL, 1);
  expect_error("settings, found null");
  ropewalk_config_set_max_memory(NULL, 1);
  expect_error("settings, found null");
  ropewalk_config_set_max_total_memory(NULL, 1);
  expect_error("settings, found null");
  ropewalk_config_set_max_heap(NULL, 1);
  expect_error("settings, found null");
  ropewalk_config_set_max_stacks(NULL, 1);
  expect_error("settings, found null");
  ropewalk_config_set_max_stack_memory(NULL, 1);
  expect_error("settings, found null");
  ropewalk_config_set_stack_size(NULL, 1);
  expect_error("settings, found null");
  ropewalk_config_set_designs(NULL, 1);
  expect_error("settings, found null");
  uint8_t lanes[16];
  expect("v128", !ropewalk_v128_new(NULL) && !ropewalk_v128_get(NULL, lanes));
  expect("v128", !ropewalk_v128_get(NULL, NULL));
  wasm_module_t* module;
  expect_this_error(ropewalk_module_new(NULL, NULL, &module), "found null");
  expect("module", !module);
  expect_this_error(ropewalk_module_new(NULL, NULL, NULL), "found null");
  expect_this_error(ropewalk_wat2wasm(NULL, &bytes), "found null");
  expect_this_error(ropewalk_wat2wasm(NULL, NULL), "found null");
  expect_this_error(ropewalk_module_deserialize_file(NULL, NULL, &module), "found null");
  expect_this_error(ropewalk_module_deserialize_file(NULL, NULL, NULL), "found null");
  expect("module name", !ropewalk_module_name(NULL, &bytes));
  expect("module name", !ropewalk_module_name(NULL, NULL));
  expect("export", !ropewalk_instance_export(NULL, NULL));
  expect("export", !ropewalk_caller_export(NULL, NULL));
  expect("linker", !ropewalk_linker_new(NULL));
  ropewalk_linker_delete(NULL);
  ropewalk_linker_allow_shadowing(NULL, true);
  expect_error("a linker, found null");
  expect_this_error(ropewalk_linker_define(NULL, NULL, NULL, NULL), "found null");
  expect_this_error(ropewalk_linker_define_instance(NULL, NULL, NULL), "found null");
  expect_this_error(ropewalk_linker_define_wasi(NULL), "found null");
  wasm_trap_t* trap;
  expect("instance", !ropewalk_linker_instantiate(NULL, NULL, NULL, &trap));
  expect_trap(trap, "found null");
  expect("instance", !ropewalk_linker_instantiate(NULL, NULL, NULL, NULL));
  ropewalk_wasi_delete(NULL);
  ropewalk_wasi_add_arg(NULL, NULL);
  ropewalk_wasi_set_env(NULL, NULL, NULL);
  ropewalk_wasi_inherit_env(NULL);
  ropewalk_wasi_inherit_stdin(NULL);
  ropewalk_wasi_inherit_stdout(NULL);
  ropewalk_wasi_inherit_stderr(NULL);
  ropewalk_wasi_set_stdin_bytes(NULL, NULL);
  expect_error("a context of WASI, found null");
  expect_this_error(ropewalk_wasi_set_stdout_file(NULL, NULL), "found null");
  expect_this_error(ropewalk_wasi_preopen_dir(NULL, NULL, NULL, true), "found null");
  expect_this_error(ropewalk_store_set_wasi(NULL, NULL), "found null");
  uint8_t code;
  int32_t status;
  wasm_tag_t* tag;
  expect("trap", !ropewalk_trap_code(NULL, &code) && !ropewalk_trap_code(NULL, NULL));
  expect("trap", !ropewalk_trap_exit_status(NULL, &status));
  expect("trap", !ropewalk_trap_exit_status(NULL, NULL));
  expect("trap", !ropewalk_trap_exception(NULL, NULL, &tag, &nothing));
  expect("trap", !ropewalk_trap_exception(NULL, NULL, NULL, NULL));
  expect("trap", !ropewalk_trap_new_exception(NULL, NULL));
  expect("trap", !ropewalk_trap_new_suspension(NULL, NULL));
  expect_error("a tag, found null");
  expect("frame", !ropewalk_frame_func_name(NULL, &bytes));
  expect("frame", !ropewalk_frame_module_name(NULL, &bytes));
  expect("frame", !ropewalk_frame_func_name(NULL, NULL));
  expect("frame", !ropewalk_frame_module_name(NULL, NULL));
  expect("frame", ropewalk_frame_line(NULL) == 0 && ropewalk_frame_column(NULL) == 0);
  ropewalk_continuation_t* continuation;
  expect_this_error(ropewalk_continuation_new(NULL, &continuation), "found null");
  expect("continuation", !continuation);
  expect_this_error(ropewalk_continuation_new(NULL, NULL), "found null");
  expect_this_error(ropewalk_continuation_try_clone(NULL, &continuation), "found null");
  expect_this_error(ropewalk_continuation_try_clone(NULL, NULL), "found null");
  expect_this_error(ropewalk_continuation_from_ref(NULL, &continuation), "found null");
  expect_this_error(ropewalk_continuation_from_ref(NULL, NULL), "found null");
  expect("continuation", !ropewalk_continuation_into_ref(NULL));
  expect("continuation", !ropewalk_continuation_type(NULL));
  ropewalk_continuation_delete(NULL);
  ropewalk_resumed_t resumed;
  ropewalk_continuation_resume(NULL, NULL, &resumed);
  expect("resumed", resumed.kind == ROPEWALK_TRAPPED);
  expect_trap(resumed.trap, "a continuation, found null");
  ropewalk_continuation_resume(NULL, NULL, NULL);
  ropewalk_continuation_resume_on(NULL, 3, NULL, NULL, &resumed);
  expect_trap(resumed.trap, "found null");
  ropewalk_continuation_resume_on(NULL, 0, NULL, NULL, NULL);
  ropewalk_continuation_throw(NULL, NULL, NULL, &resumed);
  expect_trap(resumed.trap, "found null");
  ropewalk_continuation_throw(NULL, NULL, NULL, NULL);
  ropewalk_resumed_delete(NULL);
  null_stacks();
  expect_this_error(ropewalk_store_set_timeout_ms(NULL, 1), "found null");
  expect("handle", !ropewalk_store_interrupt_handle(NULL));
  ropewalk_interrupt_handle_interrupt(NULL);
  ropewalk_interrupt_handle_delete(NULL);
  expect_this_error(ropewalk_store_set_fuel(NULL, 1), "found null");
  expect("fuel", ropewalk_store_get_fuel(NULL) == 0);
  expect_this_error(ropewalk_store_set_limits(NULL, NULL), "found null");
  ropewalk_store_gc(NULL);
  expect_error("a store, found null");
  expect("no error is left", !ropewalk_last_error());
}

/* Missing exports and disabled features. */
static void out_of_range(wasm_engine_t* engine, wasm_store_t* store) {
  expect_this_error(ropewalk_store_set_timeout_ms(store, 5), "interruption");
  expect("handle", !ropewalk_store_interrupt_handle(store));
  expect_error("interruption");
  expect_this_error(ropewalk_store_set_fuel(store, 5), "fuel");
  expect("fuel", ropewalk_store_get_fuel(store) == 0);
  expect_error("fuel");
  expect_this_error(ropewalk_store_set_limits(store, NULL), "limits, found null");
  wasm_byte_vec_t bytes, none;
  wasm_name_new_from_string(&bytes, "(module (func (i32.add)))");
  wasm_module_t* module;
  expect_this_error(ropewalk_module_new(engine, &bytes, &module), "type mismatch");
  expect("module", !module);
  wasm_byte_vec_delete(&bytes);
  wasm_name_new_from_string(&bytes, "(modul)");
  expect_this_error(ropewalk_wat2wasm(&bytes, &none), "1:2");
  expect("binary", none.size == 0);
  wasm_byte_vec_delete(&bytes);
  expect_this_error(ropewalk_module_deserialize_file(engine, "/nowhere", &module), "/nowhere");
  wasm_foreign_t* foreign = wasm_foreign_new(store);
  uint8_t lanes[16];
  expect("no vector", !ropewalk_v128_get(wasm_foreign_as_ref(foreign), lanes));
  ropewalk_continuation_t* continuation;
  expect_this_error(
    ropewalk_continuation_from_ref(wasm_foreign_as_ref(foreign), &continuation),
    "expected a continuation, found");
  ropewalk_task_t* task;
  expect_this_error(
    ropewalk_task_from_ref(wasm_foreign_as_ref(foreign), &task), "expected a stack, found");
  wasm_foreign_delete(foreign);
  ropewalk_wasi_t* wasi = ropewalk_wasi_new();
  expect_this_error(ropewalk_wasi_set_stdout_file(wasi, "/nowhere/file"), "/nowhere/file");
  expect_this_error(ropewalk_wasi_preopen_dir(wasi, "/nowhere", "/", true), "/nowhere");
  ropewalk_wasi_set_env(wasi, "NAME", NULL);
  expect_error("found null");
  ropewalk_wasi_delete(wasi);
  ropewalk_linker_t* linker = ropewalk_linker_new(engine);
  expect_this_error(ropewalk_linker_define(linker, "a", "b", NULL), "found null");
  expect_this_error(ropewalk_linker_define_instance(linker, "\xff", NULL), "");
  ropewalk_linker_delete(linker);
  /* Invalid settings are errors when the engine is created, or are clamped. */
  wasm_config_t* config = wasm_config_new();
  ropewalk_config_set_max_wasm_stack(config, SIZE_MAX);
  ropewalk_config_set_stack_size(config, SIZE_MAX);
  ropewalk_config_set_max_stacks(config, SIZE_MAX);
  ropewalk_config_set_max_heap(config, SIZE_MAX);
  ropewalk_config_set_max_memory(config, UINT64_MAX);
  ropewalk_config_set_max_total_memory(config, UINT64_MAX);
  ropewalk_config_set_max_stack_memory(config, SIZE_MAX);
  wasm_engine_t* other = wasm_engine_new_with_config(config);
  wasm_store_t* large = other ? wasm_store_new(other) : NULL;
  wasm_store_delete(large);
  wasm_engine_delete(other);
  config = wasm_config_new();
  ropewalk_config_set_max_wasm_stack(config, 0);
  ropewalk_config_set_stack_size(config, 0);
  ropewalk_config_set_max_stacks(config, 0);
  ropewalk_config_set_max_heap(config, 0);
  ropewalk_config_set_max_memory(config, 0);
  ropewalk_config_set_max_total_memory(config, 0);
  ropewalk_config_set_max_stack_memory(config, 0);
  other = wasm_engine_new_with_config(config);
  wasm_store_t* small = other ? wasm_store_new(other) : NULL;
  wasm_store_delete(small);
  wasm_engine_delete(other);
  ropewalk_error_delete(ropewalk_last_error());
}

static void sizes(wasm_store_t* store) {
  wasm_val_vec_t values;
  wasm_val_vec_new_uninitialized(&values, SIZE_MAX / 64);
  expect("a vector that is too large", values.size == 0);
  expect_error("cannot allocate a vector");
  wasm_valtype_vec_t types;
  wasm_valtype_vec_new_uninitialized(&types, SIZE_MAX);
  expect("a vector that is too large", types.size == 0);
  expect_error("cannot allocate a vector");
  wasm_limits_t limits = {0x20000, wasm_limits_max_default};
  wasm_memorytype_t* type = wasm_memorytype_new(&limits);
  expect("a memory that is too large", !wasm_memory_new(store, type));
  expect_error("at most 65536 pages");
  wasm_memorytype_delete(type);
  expect("a kind that there is not", !wasm_valtype_new(42));
  expect_error("found 42");
  expect("a mutability that there is not", !wasm_globaltype_new(wasm_valtype_new_i32(), 9));
  expect_error("found 9");
  expect("a table of numbers", !wasm_tabletype_new(wasm_valtype_new_i32(), &limits));
  expect_error("found i32");
  wasm_valtype_t* nulls[] = {NULL};
  wasm_valtype_vec_t params, results;
  wasm_valtype_vec_new(&params, 1, nulls);
  wasm_valtype_vec_new_empty(&results);
  expect("a type of null", !wasm_functype_new(&params, &results));
  expect_error("found null");
}

int main(void) {
  nulls();
  null_families();
  null_extensions();
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = callback_store = wasm_store_new(engine);
  wasm_store_t* other = wasm_store_new(engine);
  sizes(store);
  out_of_range(engine, store);

  wasm_module_t* module = compile(engine,
    "(module (import \"\" \"f\" (func $f (result i32)))"
    "  (global (export \"g\") (mut i32) (i32.const 1))"
    "  (func (export \"run\") (result i32) (call $f)))");
  wasm_functype_t* type = wasm_functype_new_0_1(wasm_valtype_new_i32());
  struct { wasm_func_callback_t function; const char* message; } callbacks[] = {
    {wrong_kind, "expected a value of type i32, found one of type f64"},
    {not_a_trap, "expected a trap, found a function"},
    {recurse, ""},
    {while_running, NULL},
  };
  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  wasm_val_t result = WASM_I32_VAL(0);
  wasm_val_vec_t results = {1, &result};
  for (size_t i = 0; i < sizeof(callbacks) / sizeof(*callbacks); i++) {
    wasm_func_t* f = wasm_func_new(store, type, callbacks[i].function);
    wasm_extern_t* imports[] = {wasm_func_as_extern(f)};
    wasm_extern_vec_t imports_vec = WASM_ARRAY_VEC(imports);
    wasm_trap_t* trap;
    wasm_instance_t* instance = wasm_instance_new(store, module, &imports_vec, &trap);
    check_trap("instantiating", trap);
    callback_func = exported_func(instance, "run");
    trap = wasm_func_call(callback_func, &nothing, &results);
    if (callbacks[i].message) expect_trap(trap, callbacks[i].message);
    else check_trap("running", trap);
    wasm_func_delete(callback_func);
    wasm_instance_delete(instance);
    wasm_func_delete(f);
  }

  /* Objects of the wrong kind and store, wrong counts. */
  wasm_func_t* f = wasm_func_new(store, type, while_running);
  callback_func = f;
  wasm_memory_t* not_a_memory = (wasm_memory_t*)f;
  expect("a function as a memory", !wasm_memory_data(not_a_memory));
  expect_error("expected a memory, found a function");
  expect_trap(wasm_func_call(f, &nothing, &nothing), "expected 1 place for results, found 0");
  wasm_extern_t* imports[] = {wasm_func_as_extern(f)};
  wasm_extern_vec_t imports_vec = WASM_ARRAY_VEC(imports);
  wasm_trap_t* trap;
  expect("another store", !wasm_instance_new(other, module, &imports_vec, &trap));
  expect_trap(trap, "store");
  wasm_extern_t* none[] = {NULL};
  wasm_extern_vec_t none_vec = WASM_ARRAY_VEC(none);
  expect("no import", !wasm_instance_new(store, module, &none_vec, &trap));
  expect_trap(trap, "an import, found null");
  expect("too few imports", !wasm_instance_new(store, module, NULL, &trap));
  expect_trap(trap, "");
  expect("not in a callback", !ropewalk_caller_export(store, "x"));
  expect_error("only in a host function");

  /* A finalizer that uses the store during a collection. */
  wasm_foreign_t* foreign = wasm_foreign_new(store);
  wasm_foreign_set_host_info_with_finalizer(foreign, NULL, reenter);
  wasm_foreign_delete(foreign);
  ropewalk_store_gc(store);
  expect_error("the store is in use");

  /* A module of another engine. */
  wasm_engine_t* engine2 = wasm_engine_new();
  wasm_store_t* store2 = wasm_store_new(engine2);
  wasm_shared_module_t* shared = wasm_module_share(module);
  expect("another engine", !wasm_module_obtain(store2, shared));
  expect_error("another engine");
  expect("another engine", !wasm_instance_new(store2, module, NULL, &trap));
  expect_trap(trap, "");
  wasm_shared_module_delete(shared);
  wasm_store_delete(store2);
  wasm_engine_delete(engine2);

  wasm_func_delete(f);
  callback_func = NULL;
  wasm_functype_delete(type);
  wasm_module_delete(module);
  wasm_store_delete(other);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  printf("%d failures\n", failures);
  return failures != 0;
}
