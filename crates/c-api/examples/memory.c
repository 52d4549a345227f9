/* A memory: reading, writing, growing, sharing with WebAssembly. */

#include "common.h"

static const char TEXT[] =
  "(module"
  "  (import \"host\" \"memory\" (memory 1 3))"
  "  (data (i32.const 16) \"upper case\")"
  "  (func (export \"upper\") (param $at i32) (param $len i32)"
  "    (loop $next"
  "      (if (local.get $len) (then"
  "        (local.set $len (i32.sub (local.get $len) (i32.const 1)))"
  "        (if (i32.gt_u (i32.load8_u (local.get $at)) (i32.const 96)) (then"
  "          (i32.store8 (local.get $at)"
  "            (i32.sub (i32.load8_u (local.get $at)) (i32.const 32)))))"
  "        (local.set $at (i32.add (local.get $at) (i32.const 1)))"
  "        (br $next))))))";

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);

  wasm_limits_t limits = {1, 3};
  wasm_memorytype_t* type = wasm_memorytype_new(&limits);
  wasm_memory_t* memory = check_made("a memory", wasm_memory_new(store, type));
  wasm_memorytype_delete(type);

  wasm_module_t* module = compile(engine, TEXT);
  wasm_extern_t* imports[] = {wasm_memory_as_extern(memory)};
  wasm_extern_vec_t imports_vec = WASM_ARRAY_VEC(imports);
  wasm_trap_t* trap;
  wasm_instance_t* instance = wasm_instance_new(store, module, &imports_vec, &trap);
  check_trap("instantiating", trap);

  printf("%u page, %zu bytes\n", wasm_memory_size(memory), wasm_memory_data_size(memory));
  printf("%.10s\n", wasm_memory_data(memory) + 16);
  memcpy(wasm_memory_data(memory) + 100, "from c", 6);

  wasm_func_t* upper = exported_func(instance, "upper");
  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  wasm_val_t args[] = {WASM_I32_VAL(16), WASM_I32_VAL(100)};
  wasm_val_vec_t args_vec = WASM_ARRAY_VEC(args);
  check_trap("upper", wasm_func_call(upper, &args_vec, &nothing));
  printf("%.10s, %.6s\n", wasm_memory_data(memory) + 16, wasm_memory_data(memory) + 100);

  printf("grow by 2: %s\n", wasm_memory_grow(memory, 2) ? "yes" : "no");
  printf("grow by 1: %s\n", wasm_memory_grow(memory, 1) ? "yes" : "no");
  wasm_memorytype_t* now = wasm_memory_type(memory);
  printf("%u pages of at most %u\n", wasm_memory_size(memory), wasm_memorytype_limits(now)->max);
  wasm_memorytype_delete(now);
  ropewalk_error_delete(ropewalk_last_error());

  wasm_func_delete(upper);
  wasm_instance_delete(instance);
  wasm_module_delete(module);
  wasm_memory_delete(memory);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
