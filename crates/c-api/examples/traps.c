/* Traps of WebAssembly and of host functions, exceptions, frames; the store remains usable. */

#include "common.h"

static const char TEXT[] =
  "(module $m\n"
  "  (import \"host\" \"fail\" (func $fail))\n"
  "  (import \"host\" \"throw\" (func $throw))\n"
  "  (import \"host\" \"oops\" (tag $oops (param i32)))\n"
  "  (func (export \"divide\") (param i32 i32) (result i32)\n"
  "    (i32.div_s (local.get 0) (local.get 1)))\n"
  "  (func $inner (call $fail))\n"
  "  (func (export \"fail\") (call $inner))\n"
  "  (func (export \"uncaught\") (call $throw))\n"
  "  (func (export \"caught\") (result i32)\n"
  "    (block $oops (result i32)\n"
  "      (try_table (catch $oops $oops) (call $throw))\n"
  "      (i32.const 0))))\n";

static own wasm_trap_t* fail(void* env, const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  (void)args, (void)results;
  wasm_message_t message;
  wasm_name_new_from_string_nt(&message, "C does not like it");
  wasm_trap_t* trap = wasm_trap_new(env, &message);
  wasm_byte_vec_delete(&message);
  wasm_trap_set_host_info(trap, (void*)"attached");
  return trap;
}

static own wasm_trap_t* throw(void* env, const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  (void)args, (void)results;
  wasm_val_t values[] = {WASM_I32_VAL(7)};
  wasm_val_vec_t values_vec = WASM_ARRAY_VEC(values);
  return ropewalk_trap_new_exception(env, &values_vec);
}

static void print_trap(const wasm_trap_t* trap) {
  wasm_message_t message;
  wasm_trap_message(trap, &message);
  printf("  %s\n", message.data);
  wasm_byte_vec_delete(&message);
  uint8_t code;
  if (ropewalk_trap_code(trap, &code)) printf("  code %d\n", code);
  wasm_frame_vec_t frames;
  wasm_trap_trace(trap, &frames);
  for (size_t i = 0; i < frames.size; i++) {
    wasm_name_t name;
    ropewalk_frame_func_name(frames.data[i], &name);
    printf("  at %s, function %u, line %zu\n", name.data, wasm_frame_func_index(frames.data[i]),
           ropewalk_frame_line(frames.data[i]));
    wasm_byte_vec_delete(&name);
  }
  wasm_frame_vec_delete(&frames);
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_module_t* module = compile(engine, TEXT);

  wasm_tagtype_t* tagtype = wasm_tagtype_new(wasm_functype_new_1_0(wasm_valtype_new_i32()));
  wasm_tag_t* oops = wasm_tag_new(store, tagtype);
  wasm_tagtype_delete(tagtype);
  wasm_functype_t* type = wasm_functype_new_0_0();
  wasm_func_t* fail_func = wasm_func_new_with_env(store, type, fail, store, NULL);
  wasm_func_t* throw_func = wasm_func_new_with_env(store, type, throw, oops, NULL);
  wasm_functype_delete(type);
  wasm_extern_t* imports[] = {
    wasm_func_as_extern(fail_func), wasm_func_as_extern(throw_func), wasm_tag_as_extern(oops)};
  wasm_extern_vec_t imports_vec = WASM_ARRAY_VEC(imports);
  wasm_trap_t* trap;
  wasm_instance_t* instance = wasm_instance_new(store, module, &imports_vec, &trap);
  check_trap("instantiating", trap);

  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  wasm_val_t result;
  wasm_val_vec_t results = {1, &result};

  wasm_func_t* divide = exported_func(instance, "divide");
  wasm_val_t by_zero[] = {WASM_I32_VAL(1), WASM_I32_VAL(0)};
  wasm_val_vec_t by_zero_vec = WASM_ARRAY_VEC(by_zero);
  trap = wasm_func_call(divide, &by_zero_vec, &results);
  printf("divide(1, 0):\n");
  print_trap(trap);
  wasm_trap_delete(trap);

  wasm_func_t* failing = exported_func(instance, "fail");
  trap = wasm_func_call(failing, &nothing, &nothing);
  printf("fail():\n");
  print_trap(trap);
  printf("  host info: %s\n", (const char*)wasm_trap_get_host_info(trap));
  wasm_frame_t* origin = wasm_trap_origin(trap);
  wasm_instance_t* where = wasm_frame_instance(origin);
  printf("  origin: function %u of %s, byte %zu of it\n", wasm_frame_func_index(origin),
         where && wasm_instance_same(where, instance) ? "our instance" : "another",
         wasm_frame_func_offset(origin));
  wasm_frame_t* copy = wasm_frame_copy(origin);
  wasm_frame_delete(origin);
  printf("  a copy of it: %s\n", wasm_frame_instance(copy) ? "with its instance" : "alone");
  wasm_frame_delete(copy);
  wasm_trap_delete(trap);

  wasm_func_t* uncaught = exported_func(instance, "uncaught");
  trap = wasm_func_call(uncaught, &nothing, &nothing);
  printf("uncaught():\n");
  print_trap(trap);
  wasm_tag_t* tag;
  wasm_val_vec_t values;
  if (ropewalk_trap_exception(store, trap, &tag, &values)) {
    printf("  an exception with %d, %s tag\n", values.data[0].of.i32,
           wasm_tag_same(tag, oops) ? "of our" : "of another");
    wasm_tag_delete(tag);
    wasm_val_vec_delete(&values);
  }
  wasm_trap_delete(trap);

  wasm_func_t* caught = exported_func(instance, "caught");
  check_trap("caught", wasm_func_call(caught, &nothing, &results));
  printf("caught() = %d\n", result.of.i32);

  /* With two instances of a module, a frame does not name its instance. */
  wasm_instance_t* second = wasm_instance_new(store, module, &imports_vec, &trap);
  check_trap("instantiating", trap);
  trap = wasm_func_call(failing, &nothing, &nothing);
  origin = wasm_trap_origin(trap);
  printf("with two instances: %s\n", wasm_frame_instance(origin) ? "known" : "unknown");
  wasm_frame_delete(origin);
  wasm_trap_delete(trap);
  wasm_instance_delete(second);

  /* Wrong arguments are a trap. */
  trap = wasm_func_call(divide, &nothing, &results);
  printf("divide():\n");
  print_trap(trap);
  wasm_trap_delete(trap);

  /* An invalid module: wasm_module_new returns null and sets the last error. */
  wasm_byte_vec_t bytes;
  wasm_byte_vec_new(&bytes, 8, "\0asm\2\0\0\0");
  wasm_module_t* bad = wasm_module_new(store, &bytes);
  ropewalk_error_t* error = ropewalk_last_error();
  wasm_message_t message;
  ropewalk_error_message(error, &message);
  printf("module: %s\n", bad ? "made" : message.data);
  wasm_byte_vec_delete(&message);
  ropewalk_error_delete(error);
  wasm_byte_vec_delete(&bytes);

  wasm_func_delete(divide);
  wasm_func_delete(failing);
  wasm_func_delete(uncaught);
  wasm_func_delete(caught);
  wasm_func_delete(fail_func);
  wasm_func_delete(throw_func);
  wasm_tag_delete(oops);
  wasm_instance_delete(instance);
  wasm_module_delete(module);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
