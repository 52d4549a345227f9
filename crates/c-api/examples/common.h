/* Functions of all examples: each exits with a message on failure. */

#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <ropewalk.h>
#include <stdio.h>
#include <stdlib.h>

static inline void fail_with(const char* what, wasm_message_t* message) {
  fprintf(stderr, "%s: %s\n", what, message->size ? message->data : "");
  wasm_byte_vec_delete(message);
  exit(1);
}

/* Exits if there is an error. */
static inline void check(const char* what, own ropewalk_error_t* error) {
  if (!error) return;
  wasm_message_t message;
  ropewalk_error_message(error, &message);
  ropewalk_error_delete(error);
  fail_with(what, &message);
}

/* Exits if there is a trap. */
static inline void check_trap(const char* what, own wasm_trap_t* trap) {
  if (!trap) return;
  wasm_message_t message;
  wasm_trap_message(trap, &message);
  wasm_trap_delete(trap);
  fail_with(what, &message);
}

/* Exits if a pointer is null. */
static inline void* check_made(const char* what, void* object) {
  if (!object) {
    check(what, ropewalk_last_error());
    fprintf(stderr, "%s failed\n", what);
    exit(1);
  }
  return object;
}

/* Compiles a module in the text format. */
static inline own wasm_module_t* compile(wasm_engine_t* engine, const char* text) {
  wasm_byte_vec_t bytes;
  wasm_module_t* module;
  wasm_byte_vec_new(&bytes, strlen(text), text);
  check("compiling", ropewalk_module_new(engine, &bytes, &module));
  wasm_byte_vec_delete(&bytes);
  return module;
}

/* Creates an instance without imports. */
static inline own wasm_instance_t* instantiate(wasm_store_t* store, const wasm_module_t* module) {
  wasm_extern_vec_t imports = WASM_EMPTY_VEC;
  wasm_trap_t* trap;
  wasm_instance_t* instance = wasm_instance_new(store, module, &imports, &trap);
  check_trap("instantiating", trap);
  return instance;
}

/* Returns an exported function. */
static inline own wasm_func_t* exported_func(const wasm_instance_t* instance, const char* name) {
  wasm_extern_t* item = ropewalk_instance_export(instance, name);
  return check_made(name, wasm_extern_as_func(item));
}

#endif
