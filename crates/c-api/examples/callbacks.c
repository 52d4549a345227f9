/* Host functions: with state, with several results, and one that calls WebAssembly. */

#include "common.h"

static const char TEXT[] =
  "(module"
  "  (import \"host\" \"count\" (func $count (param i32) (result i32)))"
  "  (import \"host\" \"divide\" (func $divide (param i64 i64) (result i64 i64)))"
  "  (import \"host\" \"again\" (func $again (param i32) (result i32)))"
  "  (func (export \"run\") (result i32)"
  "    (drop (call $count (i32.const 5)))"
  "    (call $count (i32.const 37)))"
  "  (func (export \"divide\") (param i64 i64) (result i64 i64)"
  "    (call $divide (local.get 0) (local.get 1)))"
  "  (func (export \"down\") (param i32) (result i32)"
  "    (if (result i32) (i32.eqz (local.get 0))"
  "      (then (i32.const 1000))"
  "      (else (i32.add (i32.const 1) (call $again (i32.sub (local.get 0) (i32.const 1))))))))";

struct state {
  wasm_store_t* store;
  int32_t sum;
};

static own wasm_trap_t* count(void* env, const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  struct state* state = env;
  state->sum += args->data[0].of.i32;
  results->data[0].of.i32 = state->sum;
  return NULL;
}

static void state_ends(void* env) {
  printf("the sum was %d\n", ((struct state*)env)->sum);
}

static own wasm_trap_t* divide(const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  int64_t a = args->data[0].of.i64, b = args->data[1].of.i64;
  results->data[0].of.i64 = a / b;
  results->data[1].of.i64 = a % b;
  return NULL;
}

/* Calls `down` of its caller, so that both alternate. */
static own wasm_trap_t* again(void* env, const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  struct state* state = env;
  wasm_extern_t* down = ropewalk_caller_export(state->store, "down");
  wasm_trap_t* trap = wasm_func_call(wasm_extern_as_func(down), args, results);
  wasm_extern_delete(down);
  return trap;
}

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_module_t* module = compile(engine, TEXT);
  struct state state = {store, 0};

  wasm_functype_t* one = wasm_functype_new_1_1(wasm_valtype_new_i32(), wasm_valtype_new_i32());
  wasm_functype_t* two = wasm_functype_new_2_2(
    wasm_valtype_new_i64(), wasm_valtype_new_i64(), wasm_valtype_new_i64(),
    wasm_valtype_new_i64());
  wasm_func_t* funcs[] = {
    wasm_func_new_with_env(store, one, count, &state, state_ends),
    wasm_func_new(store, two, divide),
    wasm_func_new_with_env(store, one, again, &state, NULL),
  };
  printf("arity of divide: %zu -> %zu\n", wasm_func_param_arity(funcs[1]),
         wasm_func_result_arity(funcs[1]));
  wasm_functype_delete(one);
  wasm_functype_delete(two);

  wasm_extern_t* imports[3];
  for (int i = 0; i < 3; i++) imports[i] = wasm_func_as_extern(funcs[i]);
  wasm_extern_vec_t imports_vec = WASM_ARRAY_VEC(imports);
  wasm_trap_t* trap;
  wasm_instance_t* instance = wasm_instance_new(store, module, &imports_vec, &trap);
  check_trap("instantiating", trap);
  for (int i = 0; i < 3; i++) wasm_func_delete(funcs[i]);

  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  wasm_val_t results[2];
  wasm_val_vec_t one_result = {1, results}, two_results = {2, results};

  wasm_func_t* run = exported_func(instance, "run");
  check_trap("run", wasm_func_call(run, &nothing, &one_result));
  printf("run() = %d\n", results[0].of.i32);

  wasm_func_t* div = exported_func(instance, "divide");
  wasm_val_t numbers[] = {WASM_I64_VAL(47), WASM_I64_VAL(5)};
  wasm_val_vec_t numbers_vec = WASM_ARRAY_VEC(numbers);
  check_trap("divide", wasm_func_call(div, &numbers_vec, &two_results));
  printf("divide(47, 5) = %lld, %lld\n", (long long)results[0].of.i64,
         (long long)results[1].of.i64);

  wasm_func_t* down = exported_func(instance, "down");
  wasm_val_t depth[] = {WASM_I32_VAL(10)};
  wasm_val_vec_t depth_vec = WASM_ARRAY_VEC(depth);
  check_trap("down", wasm_func_call(down, &depth_vec, &one_result));
  printf("down(10) = %d\n", results[0].of.i32);

  wasm_func_delete(run);
  wasm_func_delete(div);
  wasm_func_delete(down);
  wasm_instance_delete(instance);
  wasm_module_delete(module);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
