/* Nulls, objects of the wrong kind and store, values of the wrong type, and functions that
 * do what they should not: each is an error, and nothing ends the process. */

#include "../../examples/common.h"

static int failures;

static void expect(const char* what, bool holds) {
  if (holds) return;
  printf("%s\n", what);
  failures++;
}

/* That the newest error says something. */
static void expect_error(const char* part) {
  ropewalk_error_t* error = ropewalk_last_error();
  wasm_message_t message;
  ropewalk_error_message(error, &message);
  if (!error || !strstr(message.data, part)) {
    printf("expected an error with \"%s\", found \"%s\"\n", part, error ? message.data : "");
    failures++;
  }
  wasm_byte_vec_delete(&message);
  ropewalk_error_delete(error);
}

static void expect_trap(own wasm_trap_t* trap, const char* part) {
  wasm_message_t message = WASM_EMPTY_VEC;
  if (trap) wasm_trap_message(trap, &message);
  if (!trap || !strstr(message.data, part)) {
    printf("expected a trap with \"%s\", found \"%s\"\n", part, trap ? message.data : "");
    failures++;
  }
  wasm_byte_vec_delete(&message);
  wasm_trap_delete(trap);
}

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
  /* The store is in use by the collector, or gone. */
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
  ropewalk_resumed_t resumed;
  ropewalk_continuation_resume(NULL, NULL, &resumed);
  expect("resumed", resumed.kind == ROPEWALK_TRAPPED);
  expect_trap(resumed.trap, "a continuation, found null");
  ropewalk_continuation_resume(NULL, NULL, NULL);
  ropewalk_error_delete(ropewalk_linker_define_wasi(NULL));
  ropewalk_wasi_add_arg(NULL, NULL);
  ropewalk_error_delete(ropewalk_last_error());
  expect("no error is left", !ropewalk_last_error());
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
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = callback_store = wasm_store_new(engine);
  wasm_store_t* other = wasm_store_new(engine);
  sizes(store);

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
  expect_error("only in a function that WebAssembly has called");

  /* A finalizer that uses the store while it collects. */
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
