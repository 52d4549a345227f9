/* A WASI program: arguments, environment, standard streams, a directory, the exit code. */

#include "common.h"

static const char TEXT[] =
  "(module"
  "  (import \"wasi_snapshot_preview1\" \"args_sizes_get\""
  "    (func $args_sizes (param i32 i32) (result i32)))"
  "  (import \"wasi_snapshot_preview1\" \"args_get\" (func $args (param i32 i32) (result i32)))"
  "  (import \"wasi_snapshot_preview1\" \"fd_read\""
  "    (func $read (param i32 i32 i32 i32) (result i32)))"
  "  (import \"wasi_snapshot_preview1\" \"fd_write\""
  "    (func $write (param i32 i32 i32 i32) (result i32)))"
  "  (import \"wasi_snapshot_preview1\" \"fd_prestat_get\""
  "    (func $prestat (param i32 i32) (result i32)))"
  "  (import \"wasi_snapshot_preview1\" \"proc_exit\" (func $exit (param i32)))"
  "  (memory (export \"memory\") 1)"
  "  (data (i32.const 512) \"\\n\")"
  "  (func $print (param $at i32) (param $len i32)"
  "    (i32.store (i32.const 0) (local.get $at))"
  "    (i32.store (i32.const 4) (local.get $len))"
  "    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8))))"
  "  (func (export \"_start\")"
  "    (drop (call $args_sizes (i32.const 16) (i32.const 20)))"
  "    (drop (call $args (i32.const 32) (i32.const 64)))"
  "    (call $print (i32.const 64) (i32.load (i32.const 20)))"
  "    (call $print (i32.const 512) (i32.const 1))"
  "    (i32.store (i32.const 0) (i32.const 1024))"
  "    (i32.store (i32.const 4) (i32.const 100))"
  "    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 8)))"
  "    (call $print (i32.const 1024) (i32.load (i32.const 8)))"
  /* It exits with 3 if descriptor 3 is a directory. */
  "    (call $exit (i32.sub (i32.const 3) (call $prestat (i32.const 3) (i32.const 128))))))";

int main(void) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_module_t* module = compile(engine, TEXT);

  ropewalk_wasi_t* wasi = ropewalk_wasi_new();
  ropewalk_wasi_add_arg(wasi, "program");
  ropewalk_wasi_add_arg(wasi, "argument");
  ropewalk_wasi_set_env(wasi, "LANG", "C");
  ropewalk_wasi_inherit_stdout(wasi);
  ropewalk_wasi_inherit_stderr(wasi);
  wasm_byte_vec_t input;
  wasm_name_new_from_string(&input, "the standard input\n");
  ropewalk_wasi_set_stdin_bytes(wasi, &input);
  wasm_byte_vec_delete(&input);
  check("the directory", ropewalk_wasi_preopen_dir(wasi, "/tmp", "/", false));
  check("wasi", ropewalk_store_set_wasi(store, wasi));

  ropewalk_linker_t* linker = ropewalk_linker_new(engine);
  check("wasi", ropewalk_linker_define_wasi(linker));
  wasm_trap_t* trap;
  wasm_instance_t* instance = ropewalk_linker_instantiate(linker, store, module, &trap);
  check_trap("instantiating", trap);

  wasm_func_t* start = exported_func(instance, "_start");
  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  trap = wasm_func_call(start, &nothing, &nothing);
  int32_t status = 0;
  printf("it %s", trap && ropewalk_trap_exit_status(trap, &status) ? "ended" : "failed");
  printf(" with %d\n", status);
  wasm_trap_delete(trap);

  wasm_func_delete(start);
  wasm_instance_delete(instance);
  ropewalk_linker_delete(linker);
  wasm_module_delete(module);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  return 0;
}
