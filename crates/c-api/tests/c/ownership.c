/* Creates and deletes all objects repeatedly: no memory leaks, and each finalizer is called
 * once. */

#include "../../examples/common.h"

#include <malloc.h>

static const char TEXT[] =
  "(module"
  "  (import \"host\" \"f\" (func $f (param i32 externref) (result externref)))"
  "  (import \"host\" \"g\" (global (mut i64)))"
  "  (tag $yield (export \"yield\") (param i32))"
  "  (memory (export \"memory\") 1)"
  "  (table (export \"table\") 3 externref)"
  "  (func (export \"run\") (param externref) (result externref)"
  "    (call $f (i32.const 1) (local.get 0)))"
  "  (func (export \"trap\") (unreachable))"
  "  (func (export \"yields\") (suspend $yield (i32.const 1)) (suspend $yield (i32.const 2))))";

static int finalized;

static void finalize(void* data) {
  (void)data;
  finalized++;
}

static own wasm_trap_t* callback(
  void* env, const wasm_val_vec_t* args, own wasm_val_vec_t* results
) {
  (void)env;
  wasm_val_copy(&results->data[0], &args->data[1]);
  return NULL;
}

static void types(void) {
  wasm_functype_t* func = wasm_functype_new_3_2(
    wasm_valtype_new_i32(), wasm_valtype_new_f32(), wasm_valtype_new_externref(),
    wasm_valtype_new_f64(), wasm_valtype_new_funcref());
  wasm_functype_t* copy = wasm_functype_copy(func);
  wasm_limits_t limits = {1, wasm_limits_max_default};
  wasm_tabletype_t* table = wasm_tabletype_new(wasm_valtype_new_funcref(), &limits);
  wasm_memorytype_t* memory = wasm_memorytype_new(&limits);
  wasm_tagtype_t* tag = wasm_tagtype_new(copy);
  wasm_name_t module, name;
  wasm_name_new_from_string(&module, "module");
  wasm_name_new_from_string(&name, "name");
  wasm_importtype_t* import =
    wasm_importtype_new(&module, &name, wasm_functype_as_externtype(func));
  wasm_name_new_from_string(&name, "name");
  wasm_exporttype_t* export =
    wasm_exporttype_new(&name, wasm_tabletype_as_externtype(table));
  wasm_importtype_t* imports[] = {wasm_importtype_copy(import), import};
  wasm_importtype_vec_t vec, vec_copy;
  wasm_importtype_vec_new(&vec, 2, imports);
  wasm_importtype_vec_copy(&vec_copy, &vec);
  wasm_importtype_vec_delete(&vec);
  wasm_importtype_vec_delete(&vec);
  wasm_importtype_vec_delete(&vec_copy);
  wasm_exporttype_delete(export);
  wasm_memorytype_delete(memory);
  wasm_tagtype_delete(tag);
}

static void objects(wasm_engine_t* engine, const wasm_module_t* module) {
  wasm_store_t* store = wasm_store_new(engine);
  wasm_functype_t* type = wasm_functype_new_2_1(
    wasm_valtype_new_i32(), wasm_valtype_new_externref(), wasm_valtype_new_externref());
  wasm_func_t* func = wasm_func_new_with_env(store, type, callback, NULL, finalize);
  wasm_functype_delete(type);
  wasm_globaltype_t* globaltype = wasm_globaltype_new(wasm_valtype_new_i64(), WASM_VAR);
  wasm_val_t number = WASM_I64_VAL(5);
  wasm_global_t* global = wasm_global_new(store, globaltype, &number);
  wasm_globaltype_delete(globaltype);
  wasm_extern_t* imports[] = {wasm_func_as_extern(func), wasm_global_as_extern(global)};
  wasm_extern_vec_t imports_vec = WASM_ARRAY_VEC(imports);
  wasm_trap_t* trap;
  wasm_instance_t* instance = wasm_instance_new(store, module, &imports_vec, &trap);
  check_trap("instantiating", trap);
  /* Its objects keep the store alive. */
  wasm_store_t* first = store;
  store = wasm_store_new(engine);
  wasm_foreign_t* foreign = wasm_foreign_new(first);
  wasm_foreign_set_host_info_with_finalizer(foreign, NULL, finalize);
  wasm_store_delete(first);

  wasm_func_t* run = exported_func(instance, "run");
  wasm_func_set_host_info_with_finalizer(run, NULL, finalize);
  wasm_func_set_host_info_with_finalizer(run, NULL, finalize);
  wasm_val_t args[] = {WASM_REF_VAL(wasm_foreign_as_ref(foreign))};
  wasm_val_vec_t args_vec = WASM_ARRAY_VEC(args), results;
  wasm_val_vec_new_uninitialized(&results, 1);
  check_trap("run", wasm_func_call(run, &args_vec, &results));
  wasm_val_vec_t results_copy;
  wasm_val_vec_copy(&results_copy, &results);
  wasm_val_vec_delete(&results);
  wasm_val_vec_delete(&results_copy);

  wasm_func_t* traps = exported_func(instance, "trap");
  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  trap = wasm_func_call(traps, &nothing, &nothing);
  wasm_trap_set_host_info_with_finalizer(trap, NULL, finalize);
  wasm_trap_t* trap_copy = wasm_trap_copy(trap);
  wasm_trap_delete(trap);
  wasm_trap_delete(trap_copy);

  wasm_extern_vec_t exports;
  wasm_instance_exports(instance, &exports);
  wasm_table_t* table = wasm_extern_as_table(exports.data[2]);
  wasm_table_set(table, 0, wasm_foreign_as_ref(foreign));
  wasm_ref_delete(wasm_table_get(table, 0));
  wasm_extern_vec_delete(&exports);

  wasm_func_t* yields = exported_func(instance, "yields");
  ropewalk_continuation_t* continuation;
  check("yields", ropewalk_continuation_new(yields, &continuation));
  ropewalk_resumed_t resumed;
  ropewalk_continuation_resume(continuation, &nothing, &resumed);
  ropewalk_resumed_delete(&resumed);
  ropewalk_resumed_delete(&resumed);

  wasm_foreign_delete(foreign);
  wasm_func_delete(traps);
  wasm_func_delete(yields);
  wasm_func_delete(func);
  wasm_global_delete(global);
  wasm_instance_delete(instance);
  wasm_store_delete(store);
  wasm_func_delete(run);
}

static void errors(wasm_engine_t* engine) {
  wasm_byte_vec_t bytes;
  wasm_name_new_from_string(&bytes, "(module (func (i32.add)))");
  wasm_module_t* module;
  ropewalk_error_t* error = ropewalk_module_new(engine, &bytes, &module);
  wasm_message_t message;
  ropewalk_error_message(error, &message);
  wasm_byte_vec_delete(&message);
  ropewalk_error_delete(error);
  wasm_byte_vec_delete(&bytes);
  wasm_valtype_new(77);
  ropewalk_error_delete(ropewalk_last_error());
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_module_t* module = compile(engine, TEXT);
  enum { WARM = 500, ROUNDS = 2000 };
  size_t before = 0;
  for (int i = 0; i < WARM + ROUNDS; i++) {
    if (i == WARM) before = mallinfo2().uordblks;
    types();
    objects(engine, module);
    errors(engine);
    if (finalized != 5 * (i + 1)) {
      printf("round %d: %d finalizers were called\n", i, finalized);
      return 1;
    }
  }
  size_t after = mallinfo2().uordblks;
  /* The allocator keeps some memory. A leak would be larger, since blocks have 32 bytes or more. */
  if (after > before + 16 * ROUNDS) {
    printf("%zu bytes before, %zu after %d rounds\n", before, after, ROUNDS);
    return 1;
  }
  wasm_module_delete(module);
  wasm_engine_delete(engine);
  printf("nothing is left\n");
  return 0;
}
