/* References: objects of C in tables and globals of WebAssembly, and the lifetime of their host
 * info. */

#include "common.h"

static const char TEXT[] =
  "(module"
  "  (table (export \"table\") 4 externref)"
  "  (global (export \"global\") (mut externref) (ref.null extern))"
  "  (func (export \"same\") (param externref) (result externref) (local.get 0))"
  "  (func (export \"vector\") (param v128) (result v128)"
  "    (i32x4.add (local.get 0) (i32x4.splat (i32.const 1))))"
  "  (func (export \"i31\") (result anyref) (ref.i31 (i32.const 5)))"
  "  (func (export \"get\") (param anyref) (result i32)"
  "    (i31.get_u (ref.cast (ref i31) (local.get 0)))))";

static void ends(void* name) {
  printf("%s ends\n", (const char*)name);
}

static const char* name_of(const wasm_ref_t* reference) {
  return reference ? (const char*)wasm_ref_get_host_info(reference) : "null";
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_module_t* module = compile(engine, TEXT);
  wasm_instance_t* instance = instantiate(store, module);

  wasm_foreign_t* first = wasm_foreign_new(store);
  wasm_foreign_set_host_info_with_finalizer(first, (void*)"first", ends);
  wasm_foreign_t* second = wasm_foreign_new(store);
  wasm_foreign_set_host_info_with_finalizer(second, (void*)"second", ends);

  /* Passed through a function. */
  wasm_func_t* same = exported_func(instance, "same");
  wasm_val_t args[] = {WASM_REF_VAL(wasm_foreign_as_ref(first))};
  wasm_val_vec_t args_vec = WASM_ARRAY_VEC(args);
  wasm_val_t result;
  wasm_val_vec_t results = {1, &result};
  check_trap("same", wasm_func_call(same, &args_vec, &results));
  printf("back came %s, the same: %d, a foreign object: %d, a function: %d\n",
         name_of(result.of.ref), wasm_ref_same(result.of.ref, wasm_foreign_as_ref(first)),
         wasm_ref_as_foreign(result.of.ref) != NULL, wasm_ref_as_func(result.of.ref) != NULL);
  printf("like second: %d\n", wasm_ref_same(result.of.ref, wasm_foreign_as_ref(second)));
  wasm_val_delete(&result);

  /* A host function as an externref. */
  args[0].of.ref = wasm_func_as_ref(same);
  check_trap("same", wasm_func_call(same, &args_vec, &results));
  printf("a function as an externref: %d\n",
         wasm_func_same(wasm_ref_as_func(result.of.ref), same));
  wasm_val_delete(&result);

  /* Stored in a table and a global. */
  wasm_extern_t* table_extern = ropewalk_instance_export(instance, "table");
  wasm_table_t* table = wasm_extern_as_table(table_extern);
  wasm_table_set(table, 2, wasm_foreign_as_ref(second));
  for (uint32_t i = 1; i < 3; i++) {
    wasm_ref_t* element = wasm_table_get(table, i);
    printf("element %u: %s\n", i, name_of(element));
    wasm_ref_delete(element);
  }
  wasm_extern_t* global_extern = ropewalk_instance_export(instance, "global");
  wasm_val_t value = WASM_REF_VAL(wasm_foreign_as_ref(first));
  wasm_global_set(wasm_extern_as_global(global_extern), &value);
  wasm_global_get(wasm_extern_as_global(global_extern), &value);
  printf("global: %s\n", name_of(value.of.ref));
  wasm_val_delete(&value);

  /* Host info belongs to the object and not to a reference. */
  wasm_func_set_host_info(same, (void*)"the function");
  wasm_func_t* again = exported_func(instance, "same");
  printf("host info: %s\n", (const char*)wasm_func_get_host_info(again));
  wasm_func_delete(again);

  /* The table keeps the second object. Setting the global frees the first one. */
  wasm_foreign_delete(first);
  wasm_foreign_delete(second);
  ropewalk_store_gc(store);
  printf("collected\n");
  wasm_val_t null = WASM_INIT_VAL;
  wasm_global_set(wasm_extern_as_global(global_extern), &null);
  ropewalk_store_gc(store);
  printf("collected again\n");

  /* Kinds of ropewalk.h. */
  uint8_t lanes[16] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4};
  wasm_func_t* vector = exported_func(instance, "vector");
  args[0].kind = ROPEWALK_V128;
  args[0].of.ref = ropewalk_v128_new(lanes);
  check_trap("vector", wasm_func_call(vector, &args_vec, &results));
  wasm_val_delete(&args[0]);
  ropewalk_v128_get(result.of.ref, lanes);
  printf("lanes: %d %d %d %d\n", lanes[0], lanes[4], lanes[8], lanes[12]);
  wasm_val_delete(&result);
  wasm_func_t* i31 = exported_func(instance, "i31");
  wasm_func_t* get = exported_func(instance, "get");
  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  check_trap("i31", wasm_func_call(i31, &nothing, &results));
  printf("kind: %d\n", result.kind);
  args[0] = result;
  check_trap("get", wasm_func_call(get, &args_vec, &results));
  printf("i31: %d\n", result.of.i32);
  wasm_val_delete(&args[0]);

  wasm_func_delete(vector);
  wasm_func_delete(i31);
  wasm_func_delete(get);
  wasm_func_delete(same);
  wasm_extern_delete(table_extern);
  wasm_extern_delete(global_extern);
  wasm_instance_delete(instance);
  wasm_module_delete(module);
  printf("deleting the store\n");
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
