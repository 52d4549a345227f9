/* Features of ropewalk.h that no example shows: settings, limits, fuel, copies of continuations,
 * and parts of WASI and of linkers. */

#include "expect.h"

static const char TEXT[] =
  "(module $features"
  "  (type $list (struct (field (ref null $list)) (field i64 i64 i64 i64)))"
  "  (type $body (func (result i32))) (type $k (cont $body))"
  "  (tag $ask (export \"ask\") (param i32) (result i32))"
  "  (memory (export \"memory\") 1)"
  "  (table (export \"table\") 1 funcref)"
  "  (func (export \"forever\") (loop (br 0)))"
  "  (func $deep (export \"deep\") (call $deep) (call $deep))"
  "  (type $nothing (func)) (type $rest (cont $nothing))"
  "  (elem declare func $deep)"
  "  (func (export \"deep_elsewhere\") (resume $rest (cont.new $rest (ref.func $deep))))"
  "  (func (export \"objects\") (local $list (ref null $list))"
  "    (loop"
  "      (local.set $list (struct.new $list (local.get $list)"
  "        (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4)))"
  "      (br 0)))"
  "  (func $asks (export \"asks\") (result i32)"
  "    (i32.add (suspend $ask (i32.const 1)) (suspend $ask (i32.const 2))))"
  "  (elem declare func $asks)"
  "  (func (export \"make\") (result (ref $k)) (cont.new $k (ref.func $asks))))";

/* A store of an engine with some settings, and an instance in it. */
typedef struct {
  wasm_engine_t* engine;
  wasm_store_t* store;
  wasm_instance_t* instance;
} program_t;

static program_t start(own wasm_config_t* config, const char* text) {
  program_t program;
  program.engine = check_made("an engine", wasm_engine_new_with_config(config));
  program.store = check_made("a store", wasm_store_new(program.engine));
  wasm_module_t* module = compile(program.engine, text);
  program.instance = instantiate(program.store, module);
  wasm_module_delete(module);
  return program;
}

static void end(program_t program) {
  wasm_instance_delete(program.instance);
  wasm_store_delete(program.store);
  wasm_engine_delete(program.engine);
}

static own wasm_trap_t* call(program_t program, const char* name) {
  wasm_func_t* func = exported_func(program.instance, name);
  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  wasm_trap_t* trap = wasm_func_call(func, &nothing, &nothing);
  wasm_func_delete(func);
  return trap;
}

static own ropewalk_error_t* begin(program_t program, own ropewalk_continuation_t** out) {
  wasm_func_t* func = exported_func(program.instance, "asks");
  ropewalk_error_t* error = ropewalk_continuation_new(func, out);
  wasm_func_delete(func);
  return error;
}

/* Creates continuations until it fails with a message. */
static void begin_too_many(program_t program, size_t most, const char* message) {
  ropewalk_continuation_t* all[1000];
  size_t count = 0;
  ropewalk_error_t* error = NULL;
  while (count < 1000 && !(error = begin(program, &all[count]))) count++;
  expect("so many continuations", count <= most);
  expect_this_error(error, message);
  while (count > 0) ropewalk_continuation_delete(all[--count]);
}

static bool grows(program_t program, wasm_memory_pages_t pages) {
  wasm_extern_t* memory = ropewalk_instance_export(program.instance, "memory");
  bool grew = wasm_memory_grow(wasm_extern_as_memory(memory), pages);
  wasm_extern_delete(memory);
  return grew;
}

static void settings(void) {
  wasm_config_t* config = wasm_config_new();
  ropewalk_config_set_max_wasm_stack(config, 1 << 20);
  ropewalk_config_set_max_memory(config, 0x20000);
  ropewalk_config_set_max_heap(config, 1 << 20);
  ropewalk_config_set_max_stacks(config, 10);
  ropewalk_config_set_stack_size(config, 64 << 10);
  program_t program = start(config, TEXT);
  expect_code(call(program, "deep"), ROPEWALK_TRAP_CALL_STACK_EXHAUSTED, "1048576 bytes");
  expect_code(call(program, "objects"), ROPEWALK_TRAP_OUT_OF_MEMORY, "1048576 bytes");
  expect("a memory of two pages", grows(program, 1) && !grows(program, 1));
  begin_too_many(program, 10, "too many stacks");
  end(program);

  config = wasm_config_new();
  /* Two pages, and one element of a table. */
  ropewalk_config_set_max_total_memory(config, 0x20000 + 8);
  ropewalk_config_set_max_stack_memory(config, 8 << 20);
  program = start(config, TEXT);
  expect_code(
    call(program, "deep_elsewhere"), ROPEWALK_TRAP_CALL_STACK_EXHAUSTED,
    "all stacks together may have at most 8388608");
  expect("memories of two pages", grows(program, 1) && !grows(program, 1));
  end(program);
}

static void designs(void) {
  wasm_config_t* config = wasm_config_new();
  ropewalk_config_set_designs(config, ROPEWALK_DESIGN_TASKS | ROPEWALK_DESIGN_FIBERS);
  wasm_engine_t* engine = check_made("an engine", wasm_engine_new_with_config(config));
  wasm_byte_vec_t text;
  wasm_name_new_from_string(&text, "(module (tag $t) (func (suspend $t)))");
  wasm_module_t* module;
  expect_this_error(ropewalk_module_new(engine, &text, &module), "Designs::CONTINUATIONS");
  wasm_byte_vec_delete(&text);
  wasm_module_delete(compile(engine,
    "(module (type $t (task)) (func (param (ref null $t)) (task.resume $t (local.get 0))))"));
  wasm_engine_delete(engine);
  config = wasm_config_new();
  ropewalk_config_set_designs(config, 32);
  expect_error("expected designs, `ROPEWALK_DESIGN_..`, found 0x20");
  wasm_config_delete(config);
}

static void interruption_and_fuel(void) {
  wasm_config_t* config = wasm_config_new();
  ropewalk_config_set_interruption(config, true);
  program_t program = start(config, TEXT);
  check("a timeout", ropewalk_store_set_timeout_ms(program.store, 5));
  expect_code(call(program, "forever"), ROPEWALK_TRAP_INTERRUPT, "interrupt");
  check("no timeout", ropewalk_store_set_timeout_ms(program.store, UINT64_MAX));
  ropewalk_interrupt_handle_t* handle = ropewalk_store_interrupt_handle(program.store);
  ropewalk_interrupt_handle_interrupt(handle);
  expect_code(call(program, "forever"), ROPEWALK_TRAP_INTERRUPT, "interrupt");
  end(program);
  ropewalk_interrupt_handle_interrupt(handle);
  ropewalk_interrupt_handle_delete(handle);

  config = wasm_config_new();
  ropewalk_config_set_consume_fuel(config, true);
  program = start(config, TEXT);
  check("fuel", ropewalk_store_set_fuel(program.store, 1000));
  expect("fuel", ropewalk_store_get_fuel(program.store) == 1000);
  expect_code(call(program, "forever"), ROPEWALK_TRAP_OUT_OF_FUEL, "out of fuel");
  expect("it is used up", ropewalk_store_get_fuel(program.store) == 0);
  end(program);
}

static void limits(void) {
  program_t program = start(wasm_config_new(), TEXT);
  ropewalk_limits_t limits;
  memset(&limits, 0xff, sizeof(limits));
  limits.memory_size = 0x20000;
  limits.table_elements = 3;
  limits.stacks = 2;
  limits.heap_bytes = 1 << 20;
  limits.instances = 1;
  check("limits", ropewalk_store_set_limits(program.store, &limits));
  expect("a memory of two pages", grows(program, 1) && !grows(program, 1));
  wasm_extern_t* table = ropewalk_instance_export(program.instance, "table");
  expect("a table of three", wasm_table_grow(wasm_extern_as_table(table), 2, NULL));
  expect("and no more", !wasm_table_grow(wasm_extern_as_table(table), 1, NULL));
  wasm_extern_delete(table);
  begin_too_many(program, 2, "too many stacks");
  expect_code(call(program, "objects"), ROPEWALK_TRAP_OUT_OF_MEMORY, "limiter");
  wasm_module_t* module = compile(program.engine, "(module)");
  wasm_trap_t* trap;
  expect("an instance", !wasm_instance_new(program.store, module, NULL, &trap));
  expect_trap(trap, "instance");
  wasm_module_delete(module);
  end(program);
}

/* Answers both questions of a continuation; returns its result. */
static int32_t answer(own ropewalk_continuation_t* rest, int32_t first, int32_t second) {
  wasm_val_t answers[] = {WASM_I32_VAL(first), WASM_I32_VAL(second)};
  for (int i = 0; i < 2; i++) {
    wasm_val_vec_t values = {1, &answers[i]};
    ropewalk_resumed_t resumed;
    ropewalk_continuation_resume(rest, &values, &resumed);
    check_trap("resuming", resumed.trap);
    if (resumed.kind == ROPEWALK_RETURNED) {
      int32_t result = resumed.values.data[0].of.i32;
      ropewalk_resumed_delete(&resumed);
      return result;
    }
    rest = resumed.continuation;
    resumed.continuation = NULL;
    ropewalk_resumed_delete(&resumed);
  }
  ropewalk_continuation_delete(rest);
  return -1;
}

static void continuations(void) {
  program_t program = start(wasm_config_new(), TEXT);
  ropewalk_continuation_t *first, *second, *third;
  check("a continuation", begin(program, &first));
  wasm_functype_t* type = ropewalk_continuation_type(first);
  expect("it takes nothing", wasm_functype_params(type)->size == 0);
  expect("it returns a number", wasm_functype_results(type)->size == 1);
  wasm_functype_delete(type);

  /* Copies of a new and of a suspended continuation. */
  check("a copy", ropewalk_continuation_try_clone(first, &second));
  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  ropewalk_resumed_t resumed;
  ropewalk_continuation_resume(first, &nothing, &resumed);
  expect("it asks", resumed.kind == ROPEWALK_SUSPENDED);
  check("a copy", ropewalk_continuation_try_clone(resumed.continuation, &third));
  expect("one", answer(resumed.continuation, 1, 10) == 11);
  resumed.continuation = NULL;
  ropewalk_resumed_delete(&resumed);
  expect("its copy", answer(third, 2, 20) == 22);
  ropewalk_continuation_resume(second, &nothing, &resumed);
  expect("a copy of what had not begun", resumed.kind == ROPEWALK_SUSPENDED);
  expect("asks too", answer(resumed.continuation, 3, 30) == 33);
  resumed.continuation = NULL;
  ropewalk_resumed_delete(&resumed);

  /* To WebAssembly and back, as a reference. */
  check("a continuation", begin(program, &first));
  wasm_ref_t* ref = check_made("a reference", ropewalk_continuation_into_ref(first));
  check("back", ropewalk_continuation_from_ref(ref, &first));
  expect_this_error(ropewalk_continuation_from_ref(ref, &second), "");
  expect("nothing", !second);
  wasm_ref_delete(ref);

  /* An exception, and tags. */
  wasm_extern_t* ask = ropewalk_instance_export(program.instance, "ask");
  const wasm_tag_t* tags[] = {wasm_extern_as_tag(ask)};
  ropewalk_continuation_resume_on(first, 1, tags, &nothing, &resumed);
  expect("it asks", resumed.kind == ROPEWALK_SUSPENDED);
  wasm_tagtype_t* tagtype = wasm_tagtype_new(wasm_functype_new_1_0(wasm_valtype_new_i32()));
  wasm_tag_t* wrong = wasm_tag_new(program.store, tagtype);
  wasm_tagtype_delete(tagtype);
  wasm_val_t value = WASM_I32_VAL(7);
  wasm_val_vec_t values = {1, &value};
  ropewalk_resumed_t thrown;
  ropewalk_continuation_throw(resumed.continuation, wrong, &values, &thrown);
  resumed.continuation = NULL;
  ropewalk_resumed_delete(&resumed);
  wasm_tag_t* found;
  wasm_val_vec_t with;
  expect("it is thrown", ropewalk_trap_exception(program.store, thrown.trap, &found, &with));
  expect("with its tag", wasm_tag_same(found, wrong) && with.data[0].of.i32 == 7);
  wasm_tag_delete(found);
  wasm_val_vec_delete(&with);
  ropewalk_resumed_delete(&thrown);
  wasm_tag_delete(wrong);
  wasm_extern_delete(ask);
  end(program);
}

static void linkers(void) {
  program_t program = start(wasm_config_new(), TEXT);
  ropewalk_linker_t* linker = ropewalk_linker_new(program.engine);
  wasm_extern_t* memory = ropewalk_instance_export(program.instance, "memory");
  check("a name", ropewalk_linker_define(linker, "features", "memory", memory));
  expect_this_error(ropewalk_linker_define(linker, "features", "memory", memory), "memory");
  ropewalk_linker_allow_shadowing(linker, true);
  check("all names", ropewalk_linker_define_instance(linker, "features", program.instance));
  wasm_module_t* module = compile(program.engine,
    "(module (import \"features\" \"memory\" (memory 1))"
    "  (import \"features\" \"forever\" (func)))");
  wasm_trap_t* trap;
  wasm_instance_t* instance =
    ropewalk_linker_instantiate(linker, program.store, module, &trap);
  check_trap("instantiating", trap);
  wasm_instance_delete(instance);
  wasm_module_delete(module);
  wasm_extern_delete(memory);
  ropewalk_linker_delete(linker);
  end(program);
}

static void text(wasm_store_t* store) {
  wasm_byte_vec_t text, binary;
  wasm_name_new_from_string(&text, "(module $named (func (export \"f\")))");
  check("a text", ropewalk_wat2wasm(&text, &binary));
  wasm_byte_vec_delete(&text);
  expect("a binary", binary.size > 8 && !memcmp(binary.data, "\0asm", 4));
  expect("it is valid", wasm_module_validate(store, &binary));
  wasm_module_t* module = check_made("a module", wasm_module_new(store, &binary));
  wasm_byte_vec_delete(&binary);
  wasm_name_t name;
  expect("its name", ropewalk_module_name(module, &name) && !strcmp(name.data, "named"));
  wasm_name_delete(&name);
  wasm_module_delete(module);
}

static const char WASI[] =
  "(module"
  "  (import \"wasi_snapshot_preview1\" \"fd_read\""
  "    (func $read (param i32 i32 i32 i32) (result i32)))"
  "  (import \"wasi_snapshot_preview1\" \"fd_write\""
  "    (func $write (param i32 i32 i32 i32) (result i32)))"
  "  (import \"wasi_snapshot_preview1\" \"environ_sizes_get\""
  "    (func $environment (param i32 i32) (result i32)))"
  "  (memory (export \"memory\") 1)"
  "  (data (i32.const 0) \"\\40\\00\\00\\00\\08\\00\\00\\00\") (data (i32.const 64) \"to file\\n\")"
  "  (func (export \"run\") (result i32)"
  "    (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16)))"
  /* The standard input of a test is empty. */
  "    (drop (call $read (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 24)))"
  "    (drop (call $environment (i32.const 32) (i32.const 36)))"
  "    (i32.and (i32.eqz (i32.load (i32.const 24)))"
  "      (i32.gt_u (i32.load (i32.const 32)) (i32.const 0)))))";

static void wasi(const char* path) {
  wasm_engine_t* engine = wasm_engine_new();
  wasm_store_t* store = wasm_store_new(engine);
  wasm_module_t* module = compile(engine, WASI);
  ropewalk_wasi_delete(ropewalk_wasi_new());
  ropewalk_wasi_t* wasi = ropewalk_wasi_new();
  ropewalk_wasi_inherit_env(wasi);
  ropewalk_wasi_set_env(wasi, "MORE", "1");
  ropewalk_wasi_inherit_stdin(wasi);
  check("a file", ropewalk_wasi_set_stdout_file(wasi, path));
  check("wasi", ropewalk_store_set_wasi(store, wasi));
  ropewalk_linker_t* linker = ropewalk_linker_new(engine);
  check("wasi", ropewalk_linker_define_wasi(linker));
  wasm_trap_t* trap;
  wasm_instance_t* instance = ropewalk_linker_instantiate(linker, store, module, &trap);
  check_trap("instantiating", trap);
  wasm_func_t* run = exported_func(instance, "run");
  wasm_val_t result = WASM_I32_VAL(0);
  wasm_val_vec_t nothing = WASM_EMPTY_VEC, results = {1, &result};
  check_trap("running", wasm_func_call(run, &nothing, &results));
  expect("the environment, and no input", result.of.i32 == 1);
  char written[16] = {0};
  FILE* file = fopen(path, "rb");
  expect("a file", file && fread(written, 1, 15, file) == 8 && !strcmp(written, "to file\n"));
  if (file) fclose(file);
  remove(path);
  wasm_func_delete(run);
  wasm_instance_delete(instance);
  ropewalk_linker_delete(linker);
  wasm_module_delete(module);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
}

int main(int count, char** arguments) {
  settings();
  designs();
  interruption_and_fuel();
  limits();
  continuations();
  linkers();
  program_t program = start(wasm_config_new(), TEXT);
  text(program.store);
  end(program);
  char path[4096];
  snprintf(path, sizeof(path), "%s.out", count > 0 ? arguments[0] : "features");
  wasi(path);
  printf("%d failures\n", failures);
  return failures != 0;
}
