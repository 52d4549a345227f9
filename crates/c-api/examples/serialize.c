#define _DEFAULT_SOURCE

/* A compiled module as bytes: written, read, refused when damaged, mapped from a file. */

#include "common.h"

static void run(wasm_engine_t* engine, const char* from, const wasm_module_t* module) {
  wasm_store_t* store = wasm_store_new(engine);
  wasm_instance_t* instance = instantiate(store, module);
  wasm_func_t* square = exported_func(instance, "square");
  wasm_val_t args[] = {WASM_I32_VAL(12)};
  wasm_val_vec_t args_vec = WASM_ARRAY_VEC(args);
  wasm_val_t result;
  wasm_val_vec_t results = {1, &result};
  check_trap("square", wasm_func_call(square, &args_vec, &results));
  printf("%s: %d\n", from, result.of.i32);
  wasm_func_delete(square);
  wasm_instance_delete(instance);
  wasm_store_delete(store);
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_module_t* module = compile(engine,
    "(module $squares (func (export \"square\") (param i32) (result i32)"
    "  (i32.mul (local.get 0) (local.get 0))))");
  run(engine, "compiled", module);
  wasm_byte_vec_t bytes;
  wasm_module_serialize(module, &bytes);
  wasm_module_delete(module);

  /* From memory. */
  wasm_store_t* store = wasm_store_new(engine);
  module = check_made("the module", wasm_module_deserialize(store, &bytes));
  wasm_name_t name;
  ropewalk_module_name(module, &name);
  printf("the module is %s\n", name.data);
  wasm_byte_vec_delete(&name);
  run(engine, "from memory", module);
  wasm_module_delete(module);

  /* From a file. */
  char path[] = "/tmp/ropewalk-serialize-XXXXXX";
  int fd = mkstemp(path);
  FILE* file = fdopen(fd, "wb");
  if (!file || fwrite(bytes.data, 1, bytes.size, file) != bytes.size || fclose(file)) return 1;
  check("the file", ropewalk_module_deserialize_file(engine, path, &module));
  remove(path);
  run(engine, "from a file", module);
  wasm_module_delete(module);

  /* Damaged. */
  bytes.data[bytes.size / 2] ^= 1;
  module = wasm_module_deserialize(store, &bytes);
  ropewalk_error_t* error = ropewalk_last_error();
  printf("damaged: %s\n", module || !error ? "taken" : "refused");
  ropewalk_error_delete(error);

  wasm_byte_vec_delete(&bytes);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
