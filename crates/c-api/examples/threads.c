/* Threads that share an engine and a module, each with its own store, and an endless loop that
 * another thread interrupts. */

#define _DEFAULT_SOURCE

#include "common.h"

#include <pthread.h>
#include <unistd.h>

enum { THREADS = 4 };

static const char TEXT[] =
  "(module"
  "  (func $fib (export \"fib\") (param $n i32) (result i32)"
  "    (if (result i32) (i32.lt_s (local.get $n) (i32.const 2))"
  "      (then (local.get $n))"
  "      (else (i32.add"
  "        (call $fib (i32.sub (local.get $n) (i32.const 1)))"
  "        (call $fib (i32.sub (local.get $n) (i32.const 2)))))))"
  "  (func (export \"spin\") (loop $l (br $l))))";

struct job {
  wasm_engine_t* engine;
  const wasm_shared_module_t* module;
  int32_t argument, result;
};

static void* work(void* data) {
  struct job* job = data;
  wasm_store_t* store = wasm_store_new(job->engine);
  wasm_module_t* module = check_made("the module", wasm_module_obtain(store, job->module));
  wasm_instance_t* instance = instantiate(store, module);
  wasm_func_t* fib = exported_func(instance, "fib");
  wasm_val_t args[] = {WASM_I32_VAL(job->argument)};
  wasm_val_vec_t args_vec = WASM_ARRAY_VEC(args);
  wasm_val_t result;
  wasm_val_vec_t results = {1, &result};
  check_trap("fib", wasm_func_call(fib, &args_vec, &results));
  job->result = result.of.i32;
  wasm_func_delete(fib);
  wasm_instance_delete(instance);
  wasm_module_delete(module);
  wasm_store_delete(store);
  return NULL;
}

static void* interrupt(void* handle) {
  usleep(20 * 1000);
  ropewalk_interrupt_handle_interrupt(handle);
  return NULL;
}

int main(void) {
  wasm_config_t* config = wasm_config_new();
  ropewalk_config_set_interruption(config, true);
  wasm_engine_t* engine = check_made("the engine", wasm_engine_new_with_config(config));
  wasm_store_t* store = wasm_store_new(engine);
  wasm_module_t* module = compile(engine, TEXT);
  wasm_shared_module_t* shared = wasm_module_share(module);

  pthread_t threads[THREADS];
  struct job jobs[THREADS];
  for (int i = 0; i < THREADS; i++) {
    jobs[i] = (struct job){engine, shared, 18 + i, 0};
    if (pthread_create(&threads[i], NULL, work, &jobs[i])) return 1;
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    printf("fib(%d) = %d\n", jobs[i].argument, jobs[i].result);
  }
  wasm_shared_module_delete(shared);

  wasm_instance_t* instance = instantiate(store, module);
  wasm_func_t* spin = exported_func(instance, "spin");
  ropewalk_interrupt_handle_t* handle =
    check_made("a handle", ropewalk_store_interrupt_handle(store));
  pthread_t other;
  if (pthread_create(&other, NULL, interrupt, handle)) return 1;
  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  wasm_trap_t* trap = wasm_func_call(spin, &nothing, &nothing);
  pthread_join(other, NULL);
  uint8_t code = 0;
  printf("interrupted: %d\n", ropewalk_trap_code(trap, &code) && code == ROPEWALK_TRAP_INTERRUPT);
  wasm_trap_delete(trap);

  check("a timeout", ropewalk_store_set_timeout_ms(store, 20));
  trap = wasm_func_call(spin, &nothing, &nothing);
  printf("timed out: %d\n", ropewalk_trap_code(trap, &code) && code == ROPEWALK_TRAP_INTERRUPT);
  wasm_trap_delete(trap);

  ropewalk_interrupt_handle_delete(handle);
  wasm_func_delete(spin);
  wasm_instance_delete(instance);
  wasm_module_delete(module);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
