/* Globals and tables that C or WebAssembly creates. */

#include "common.h"

static const char TEXT[] =
  "(module"
  "  (type $unary (func (param i32) (result i32)))"
  "  (import \"host\" \"factor\" (global $factor (mut i32)))"
  "  (global (export \"pi\") f64 (f64.const 3.5))"
  "  (table $t (export \"table\") 2 8 funcref)"
  "  (elem (table $t) (i32.const 0) func $times)"
  "  (func $times (export \"times\") (type $unary)"
  "    (i32.mul (local.get 0) (global.get $factor)))"
  "  (func (export \"call\") (param i32 i32) (result i32)"
  "    (call_indirect $t (type $unary) (local.get 1) (local.get 0))))";

static own wasm_trap_t* negate(const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  results->data[0].of.i32 = -args->data[0].of.i32;
  return NULL;
}

static wasm_func_t* call;

static void print_call(int32_t index, int32_t argument) {
  wasm_val_t args[] = {WASM_I32_VAL(index), WASM_I32_VAL(argument)};
  wasm_val_vec_t args_vec = WASM_ARRAY_VEC(args);
  wasm_val_t result;
  wasm_val_vec_t results = {1, &result};
  wasm_trap_t* trap = wasm_func_call(call, &args_vec, &results);
  if (!trap) {
    printf("element %d of %d: %d\n", index, argument, result.of.i32);
    return;
  }
  wasm_message_t message;
  wasm_trap_message(trap, &message);
  printf("element %d: %s\n", index, message.data);
  wasm_byte_vec_delete(&message);
  wasm_trap_delete(trap);
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_module_t* module = compile(engine, TEXT);

  wasm_globaltype_t* type = wasm_globaltype_new(wasm_valtype_new_i32(), WASM_VAR);
  wasm_val_t three = WASM_I32_VAL(3);
  wasm_global_t* factor = check_made("a global", wasm_global_new(store, type, &three));
  wasm_globaltype_delete(type);
  wasm_extern_t* imports[] = {wasm_global_as_extern(factor)};
  wasm_extern_vec_t imports_vec = WASM_ARRAY_VEC(imports);
  wasm_trap_t* trap;
  wasm_instance_t* instance = wasm_instance_new(store, module, &imports_vec, &trap);
  check_trap("instantiating", trap);
  call = exported_func(instance, "call");

  wasm_extern_t* pi = ropewalk_instance_export(instance, "pi");
  wasm_val_t value;
  wasm_global_get(wasm_extern_as_global(pi), &value);
  printf("pi = %.1f\n", value.of.f64);
  wasm_val_t four = WASM_F64_VAL(4);
  wasm_global_set(wasm_extern_as_global(pi), &four);
  ropewalk_error_t* error = ropewalk_last_error();
  wasm_message_t message;
  ropewalk_error_message(error, &message);
  printf("%s\n", message.data);
  wasm_byte_vec_delete(&message);
  ropewalk_error_delete(error);
  wasm_global_get(wasm_extern_as_global(pi), &value);
  printf("pi is still %.1f\n", value.of.f64);

  wasm_extern_t* exported = ropewalk_instance_export(instance, "table");
  wasm_table_t* table = wasm_extern_as_table(exported);
  printf("%u elements\n", wasm_table_size(table));
  print_call(0, 7);
  print_call(1, 7);
  wasm_val_t five = WASM_I32_VAL(5);
  wasm_global_set(factor, &five);
  print_call(0, 7);

  wasm_functype_t* unary = wasm_functype_new_1_1(wasm_valtype_new_i32(), wasm_valtype_new_i32());
  wasm_func_t* func = wasm_func_new(store, unary, negate);
  wasm_functype_delete(unary);
  wasm_table_set(table, 1, wasm_func_as_ref(func));
  print_call(1, 7);
  printf("grow: %s\n", wasm_table_grow(table, 3, wasm_func_as_ref(func)) ? "yes" : "no");
  print_call(4, 8);
  print_call(5, 8);

  wasm_ref_t* element = wasm_table_get(table, 0);
  wasm_func_t* times = exported_func(instance, "times");
  printf("element 0 is times: %s\n",
         wasm_func_same(wasm_ref_as_func(element), times) ? "yes" : "no");
  wasm_ref_delete(element);
  wasm_func_delete(times);
  wasm_table_set(table, 0, NULL);
  print_call(0, 7);

  wasm_func_delete(func);
  wasm_func_delete(call);
  wasm_extern_delete(pi);
  wasm_extern_delete(exported);
  wasm_global_delete(factor);
  wasm_instance_delete(instance);
  wasm_module_delete(module);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
