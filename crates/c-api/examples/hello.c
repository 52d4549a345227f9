/* A module with an import and an export, using only wasm.h. */

#include <stdio.h>
#include <wasm.h>

/* (module
 *   (import "" "hello" (func $hello))
 *   (func (export "run") (call $hello))) */
static const char BINARY[] =
  "\0asm\1\0\0\0"
  "\1\4\1\x60\0\0"
  "\2\x0a\1\0\5hello\0\0"
  "\3\2\1\0"
  "\7\7\1\3run\0\1"
  "\x0a\6\1\4\0\x10\0\x0b";

static own wasm_trap_t* hello(const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  (void)args, (void)results;
  printf("Hello from C, called by WebAssembly.\n");
  return NULL;
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);

  wasm_byte_vec_t binary;
  wasm_byte_vec_new(&binary, sizeof(BINARY) - 1, BINARY);
  printf("valid: %s\n", wasm_module_validate(store, &binary) ? "yes" : "no");
  wasm_module_t* module = wasm_module_new(store, &binary);
  wasm_byte_vec_delete(&binary);
  if (!module) return 1;

  wasm_importtype_vec_t imports;
  wasm_module_imports(module, &imports);
  for (size_t i = 0; i < imports.size; i++) {
    const wasm_name_t* name = wasm_importtype_name(imports.data[i]);
    printf("imports \"%.*s\"\n", (int)name->size, name->data);
  }
  wasm_importtype_vec_delete(&imports);

  wasm_functype_t* type = wasm_functype_new_0_0();
  wasm_func_t* func = wasm_func_new(store, type, hello);
  wasm_functype_delete(type);

  wasm_extern_t* given[] = {wasm_func_as_extern(func)};
  wasm_extern_vec_t given_vec = WASM_ARRAY_VEC(given);
  wasm_instance_t* instance = wasm_instance_new(store, module, &given_vec, NULL);
  wasm_func_delete(func);
  wasm_module_delete(module);
  if (!instance) return 1;

  wasm_extern_vec_t exports;
  wasm_instance_exports(instance, &exports);
  wasm_instance_delete(instance);
  const wasm_func_t* run = wasm_extern_as_func(exports.data[0]);

  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  wasm_trap_t* trap = wasm_func_call(run, &nothing, &nothing);
  if (trap) return 1;
  wasm_extern_vec_delete(&exports);

  wasm_store_delete(store);
  wasm_engine_delete(engine);
  printf("Done.\n");
  return 0;
}
