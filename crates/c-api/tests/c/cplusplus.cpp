// The headers in C++: a module, a lambda as its import, and a call.

#include <cstdio>
#include <cstring>
#include <ropewalk.h>

int main() {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  const char text[] =
    "(module (import \"host\" \"double\" (func $d (param i32) (result i32)))"
    "  (func (export \"run\") (param i32) (result i32) (call $d (local.get 0))))";
  wasm_byte_vec_t bytes;
  wasm_byte_vec_new(&bytes, std::strlen(text), text);
  wasm_module_t* module = nullptr;
  ropewalk_error_t* error = ropewalk_module_new(engine, &bytes, &module);
  wasm_byte_vec_delete(&bytes);
  if (error) return 1;

  wasm_functype_t* type = wasm_functype_new_1_1(wasm_valtype_new_i32(), wasm_valtype_new_i32());
  wasm_func_t* twice = wasm_func_new(
    store, type, [](const wasm_val_vec_t* args, wasm_val_vec_t* results) -> wasm_trap_t* {
      results->data[0] = WASM_I32_VAL(2 * args->data[0].of.i32);
      return nullptr;
    });
  wasm_functype_delete(type);
  wasm_extern_t* imports[] = {wasm_func_as_extern(twice)};
  wasm_extern_vec_t imports_vec = WASM_ARRAY_VEC(imports);
  wasm_instance_t* instance = wasm_instance_new(store, module, &imports_vec, nullptr);
  wasm_extern_t* run = ropewalk_instance_export(instance, "run");

  wasm_val_t args[] = {WASM_I32_VAL(21)}, result;
  wasm_val_vec_t args_vec = WASM_ARRAY_VEC(args), results = {1, &result};
  wasm_trap_t* trap = wasm_func_call(wasm_extern_as_func(run), &args_vec, &results);
  if (trap) return 1;
  std::printf("%d\n", result.of.i32);

  wasm_extern_delete(run);
  wasm_instance_delete(instance);
  wasm_func_delete(twice);
  wasm_module_delete(module);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
