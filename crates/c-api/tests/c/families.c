/* Tests the families of functions that wasm.h declares by macros, for every type. */

#include "expect.h"
#include "families.h"

static wasm_store_t* store;
static wasm_module_t* module;
static wasm_instance_t* instance;

/* ---- One of each type ---- */

static const wasm_limits_t LIMITS = {1, 3};

static own wasm_valtype_t* new_valtype(void) { return wasm_valtype_new_i64(); }
static own wasm_functype_t* new_functype(void) {
  return wasm_functype_new_1_1(wasm_valtype_new_i32(), wasm_valtype_new_f64());
}
static own wasm_globaltype_t* new_globaltype(void) {
  return wasm_globaltype_new(wasm_valtype_new_f32(), WASM_VAR);
}
static own wasm_tabletype_t* new_tabletype(void) {
  return wasm_tabletype_new(wasm_valtype_new_funcref(), &LIMITS);
}
static own wasm_memorytype_t* new_memorytype(void) { return wasm_memorytype_new(&LIMITS); }
static own wasm_tagtype_t* new_tagtype(void) {
  return wasm_tagtype_new(wasm_functype_new_1_0(wasm_valtype_new_i32()));
}
static own wasm_externtype_t* new_externtype(void) {
  return wasm_functype_as_externtype(new_functype());
}
static own wasm_importtype_t* new_importtype(void) {
  wasm_name_t from, name;
  wasm_name_new_from_string(&from, "from");
  wasm_name_new_from_string(&name, "name");
  return wasm_importtype_new(&from, &name, new_externtype());
}
static own wasm_exporttype_t* new_exporttype(void) {
  wasm_name_t name;
  wasm_name_new_from_string(&name, "name");
  return wasm_exporttype_new(&name, wasm_tagtype_as_externtype(new_tagtype()));
}

/* ---- One of each object ---- */

static own wasm_trap_t* called(const wasm_val_vec_t* args, own wasm_val_vec_t* results) {
  results->data[0].of.f64 = args->data[0].of.i32 / 2.0;
  return NULL;
}

static own wasm_trap_t* new_trap(void) {
  wasm_func_t* traps = exported_func(instance, "traps");
  wasm_val_vec_t nothing = WASM_EMPTY_VEC;
  wasm_trap_t* trap = wasm_func_call(traps, &nothing, &nothing);
  wasm_func_delete(traps);
  return trap;
}
static own wasm_frame_t* new_frame(void) {
  wasm_trap_t* trap = new_trap();
  wasm_frame_t* frame = wasm_trap_origin(trap);
  wasm_trap_delete(trap);
  return frame;
}
static own wasm_foreign_t* new_foreign(void) { return wasm_foreign_new(store); }
static own wasm_module_t* new_module(void) { return wasm_module_copy(module); }
static own wasm_instance_t* new_instance(void) { return instantiate(store, module); }
static own wasm_func_t* new_func(void) {
  wasm_functype_t* type = new_functype();
  wasm_func_t* func = wasm_func_new(store, type, called);
  wasm_functype_delete(type);
  return func;
}
static own wasm_global_t* new_global(void) {
  wasm_globaltype_t* type = new_globaltype();
  wasm_val_t value = WASM_F32_VAL(1.5f);
  wasm_global_t* global = wasm_global_new(store, type, &value);
  wasm_globaltype_delete(type);
  return global;
}
static own wasm_table_t* new_table(void) {
  wasm_tabletype_t* type = new_tabletype();
  wasm_table_t* table = wasm_table_new(store, type, NULL);
  wasm_tabletype_delete(type);
  return table;
}
static own wasm_memory_t* new_memory(void) {
  wasm_memorytype_t* type = new_memorytype();
  wasm_memory_t* memory = wasm_memory_new(store, type);
  wasm_memorytype_delete(type);
  return memory;
}
static own wasm_tag_t* new_tag(void) {
  wasm_tagtype_t* type = new_tagtype();
  wasm_tag_t* tag = wasm_tag_new(store, type);
  wasm_tagtype_delete(type);
  return tag;
}
static own wasm_extern_t* new_extern(void) { return wasm_memory_as_extern(new_memory()); }

/* ---- The families ---- */

#define TYPE(name)                                                              \
  static void type_##name(void) {                                               \
    wasm_##name##_t* first = check_made(#name, new_##name());                   \
    wasm_##name##_t* second = check_made(#name, wasm_##name##_copy(first));     \
    expect("a copy of a " #name, first != second);                              \
    wasm_##name##_delete(first);                                                \
    wasm_##name##_delete(second);                                               \
  }
TYPES(TYPE)

#define EXTERNTYPE(name)                                                        \
  static void externtype_##name(wasm_externkind_t kind) {                       \
    wasm_##name##_t* type = check_made(#name, new_##name());                    \
    const wasm_##name##_t* const_type = type;                                   \
    wasm_externtype_t* as = wasm_##name##_as_externtype(type);                  \
    const wasm_externtype_t* const_as = wasm_##name##_as_externtype_const(const_type); \
    expect(#name " as an externtype", as == const_as && wasm_externtype_kind(as) == kind); \
    expect(#name " and back", wasm_externtype_as_##name(as) == type);           \
    expect(#name " and back", wasm_externtype_as_##name##_const(const_as) == type); \
    /* It is null, like the others. */                                            \
    int fit = !!wasm_externtype_as_functype(as) + !!wasm_externtype_as_globaltype(as) + \
      !!wasm_externtype_as_tabletype(as) + !!wasm_externtype_as_memorytype(as) + \
      !!wasm_externtype_as_tagtype(as);                                         \
    expect(#name " is of one kind", fit == 1);                                  \
    wasm_##name##_delete(type);                                                 \
  }
EXTERNTYPES(EXTERNTYPE)

#define VECTOR(name)                                                            \
  static void vector_##name(void) {                                             \
    wasm_##name##_t* elements[] = {new_##name(), new_##name()};                 \
    wasm_##name##_vec_t vec, copy, empty, blank;                                \
    wasm_##name##_vec_new(&vec, 2, elements);                                   \
    expect(#name " in a vector", vec.size == 2 && vec.data[1] == elements[1]);  \
    wasm_##name##_vec_copy(&copy, &vec);                                        \
    expect("a copy of a vector of " #name, copy.size == 2 && copy.data[0] &&    \
      copy.data[0] != vec.data[0]);                                             \
    wasm_##name##_vec_new_empty(&empty);                                        \
    expect("an empty vector of " #name, empty.size == 0);                       \
    wasm_##name##_vec_new_uninitialized(&blank, 3);                             \
    expect("nulls for " #name, blank.size == 3 && !blank.data[0] && !blank.data[2]); \
    wasm_##name##_vec_delete(&vec);                                             \
    expect("a vector that was deleted", vec.size == 0);                         \
    wasm_##name##_vec_delete(&vec);                                             \
    wasm_##name##_vec_delete(&copy);                                            \
    wasm_##name##_vec_delete(&empty);                                           \
    wasm_##name##_vec_delete(&blank);                                           \
  }
VECTORS_OF_POINTERS(VECTOR)

static int finalized;

static void finalize(void* data) { finalized += *(int*)data; }

#define REFERENCE(name)                                                         \
  static void reference_##name(void) {                                          \
    static int one = 1;                                                         \
    wasm_##name##_t* first = check_made(#name, new_##name());                   \
    wasm_##name##_t* second = check_made(#name, wasm_##name##_copy(first));     \
    expect(#name " is the same", wasm_##name##_same(first, second));            \
    expect(#name " has nothing", !wasm_##name##_get_host_info(first));          \
    wasm_##name##_set_host_info(first, &failures);                              \
    expect(#name " has it", wasm_##name##_get_host_info(second) == &failures);  \
    wasm_##name##_set_host_info_with_finalizer(second, &one, finalize);         \
    expect(#name " has another", wasm_##name##_get_host_info(first) == &one);   \
    wasm_ref_t* ref = wasm_##name##_as_ref(first);                              \
    const wasm_ref_t* const_ref = wasm_##name##_as_ref_const(first);            \
    expect(#name " as a reference", ref == const_ref);                          \
    expect(#name " and back", wasm_ref_as_##name(ref) == first);                \
    expect(#name " and back", wasm_ref_as_##name##_const(const_ref) == first);  \
    wasm_ref_t* third = check_made("a reference", wasm_ref_copy(ref));          \
    expect("references are the same", wasm_ref_same(third, ref));               \
    expect("references have it", wasm_ref_get_host_info(third) == &one);        \
    int before = finalized;                                                     \
    wasm_ref_set_host_info(third, &failures);                                   \
    expect(#name " has it by a reference", wasm_##name##_get_host_info(first) == &failures); \
    expect(#name " is finalized", finalized == before + 1);                     \
    wasm_ref_set_host_info_with_finalizer(third, &one, finalize);               \
    wasm_ref_delete(third);                                                     \
    wasm_##name##_set_host_info(first, NULL);                                   \
    expect(#name " is finalized again", finalized == before + 2);               \
    wasm_##name##_delete(first);                                                \
    wasm_##name##_delete(second);                                               \
  }
REFERENCES(REFERENCE)

#define EXTERN(name)                                                            \
  static void extern_##name(wasm_externkind_t kind) {                           \
    wasm_##name##_t* object = check_made(#name, new_##name());                  \
    wasm_extern_t* as = wasm_##name##_as_extern(object);                        \
    const wasm_extern_t* const_as = wasm_##name##_as_extern_const(object);      \
    expect(#name " as an extern", as == const_as && wasm_extern_kind(as) == kind); \
    expect(#name " and back", wasm_extern_as_##name(as) == object);             \
    expect(#name " and back", wasm_extern_as_##name##_const(const_as) == object); \
    int fit = !!wasm_extern_as_func(as) + !!wasm_extern_as_global(as) +         \
      !!wasm_extern_as_table(as) + !!wasm_extern_as_memory(as) + !!wasm_extern_as_tag(as); \
    expect(#name " is of one kind", fit == 1);                                  \
    wasm_externtype_t* type = check_made(#name, wasm_extern_type(as));          \
    expect(#name " has its type", wasm_externtype_kind(type) == kind);          \
    wasm_externtype_delete(type);                                               \
    wasm_##name##_delete(object);                                               \
  }
EXTERNS(EXTERN)

/* ---- Other functions ---- */

static bool is_text(const wasm_name_t* name, const char* text) {
  return name->size == strlen(text) && !memcmp(name->data, text, name->size);
}

static void parts_of_types(void) {
  wasm_functype_t* func = new_functype();
  expect("parameters", wasm_functype_params(func)->size == 1);
  expect("results", wasm_valtype_is_num(wasm_functype_results(func)->data[0]));
  wasm_functype_delete(func);
  wasm_globaltype_t* global = new_globaltype();
  expect("content", wasm_valtype_kind(wasm_globaltype_content(global)) == WASM_F32);
  expect("mutability", wasm_globaltype_mutability(global) == WASM_VAR);
  wasm_globaltype_delete(global);
  wasm_tabletype_t* table = new_tabletype();
  expect("element", wasm_valtype_is_ref(wasm_tabletype_element(table)));
  expect("limits", wasm_tabletype_limits(table)->max == 3);
  wasm_tabletype_delete(table);
  wasm_memorytype_t* memory = new_memorytype();
  expect("limits", wasm_memorytype_limits(memory)->min == 1);
  wasm_memorytype_delete(memory);
  wasm_tagtype_t* tag = new_tagtype();
  expect("of a tag", wasm_functype_params(wasm_tagtype_functype(tag))->size == 1);
  wasm_tagtype_delete(tag);
  wasm_importtype_t* import = new_importtype();
  expect("module", is_text(wasm_importtype_module(import), "from"));
  expect("name", is_text(wasm_importtype_name(import), "name"));
  expect("type", wasm_externtype_kind(wasm_importtype_type(import)) == WASM_EXTERN_FUNC);
  wasm_importtype_delete(import);
  wasm_exporttype_t* export = new_exporttype();
  expect("name", is_text(wasm_exporttype_name(export), "name"));
  expect("type", wasm_externtype_kind(wasm_exporttype_type(export)) == WASM_EXTERN_TAG);
  wasm_exporttype_delete(export);
}

static void bytes_and_values(void) {
  wasm_byte_vec_t bytes, copy, blank, empty;
  wasm_byte_vec_new(&bytes, 3, "abc");
  wasm_byte_vec_copy(&copy, &bytes);
  wasm_byte_vec_new_uninitialized(&blank, 7);
  wasm_byte_vec_new_empty(&empty);
  expect("bytes", is_text(&copy, "abc") && blank.size == 7 && empty.size == 0);
  wasm_byte_vec_delete(&bytes);
  wasm_byte_vec_delete(&copy);
  wasm_byte_vec_delete(&blank);
  wasm_byte_vec_delete(&empty);

  wasm_val_t list[] = {WASM_I64_VAL(-1), WASM_REF_VAL(wasm_foreign_as_ref(new_foreign()))};
  wasm_val_vec_t values, values_copy, values_blank, values_empty;
  wasm_val_vec_new(&values, 2, list);
  wasm_val_vec_copy(&values_copy, &values);
  wasm_val_vec_new_uninitialized(&values_blank, 2);
  wasm_val_vec_new_empty(&values_empty);
  expect("values", values_copy.data[0].of.i64 == -1 && values_blank.size == 2);
  expect("references", wasm_ref_same(values_copy.data[1].of.ref, values.data[1].of.ref));
  wasm_val_t value;
  wasm_val_copy(&value, &values.data[1]);
  expect("a value", value.kind == WASM_EXTERNREF && value.of.ref != values.data[1].of.ref);
  wasm_val_delete(&value);
  wasm_val_vec_delete(&values);
  wasm_val_vec_delete(&values_copy);
  wasm_val_vec_delete(&values_blank);
  wasm_val_vec_delete(&values_empty);
}

static void frames(void) {
  wasm_trap_t* trap = new_trap();
  wasm_frame_vec_t trace;
  wasm_trap_trace(trap, &trace);
  expect("frames", trace.size == 2);
  wasm_frame_t* frame = wasm_frame_copy(trace.data[0]);
  expect("index", wasm_frame_func_index(frame) == 0 && wasm_frame_func_index(trace.data[1]) == 1);
  size_t inside = wasm_frame_func_offset(frame), all = wasm_frame_module_offset(frame);
  expect("offsets", inside > 0 && all > inside);
  expect("line", ropewalk_frame_line(frame) == 2 && ropewalk_frame_column(frame) == 23);
  wasm_name_t name;
  expect("module", ropewalk_frame_module_name(frame, &name) && is_text(&name, "families") == 0);
  expect("module", !strcmp(name.data, "families"));
  wasm_name_delete(&name);
  expect("function", ropewalk_frame_func_name(frame, &name) && !strcmp(name.data, "inner"));
  wasm_name_delete(&name);
  expect("instance", wasm_frame_instance(frame) != NULL);
  wasm_frame_delete(frame);
  wasm_frame_vec_delete(&trace);
  wasm_trap_delete(trap);
}

static void objects(wasm_engine_t* engine) {
  wasm_memory_t* memory = new_memory();
  expect("memory", wasm_memory_size(memory) == 1 && wasm_memory_data_size(memory) == 0x10000);
  expect("memory grows", wasm_memory_grow(memory, 1) && !wasm_memory_grow(memory, 9));
  wasm_memorytype_t* memorytype = wasm_memory_type(memory);
  expect("memory", wasm_memorytype_limits(memorytype)->max == 3);
  wasm_memorytype_delete(memorytype);
  wasm_memory_delete(memory);

  wasm_table_t* table = new_table();
  wasm_func_t* func = new_func();
  expect("table grows", wasm_table_grow(table, 1, wasm_func_as_ref(func)));
  expect("table", wasm_table_size(table) == 2 && !wasm_table_grow(table, 9, NULL));
  wasm_ref_t* element = wasm_table_get(table, 1);
  expect("element", wasm_ref_same(element, wasm_func_as_ref(func)));
  wasm_ref_delete(element);
  expect("beyond", !wasm_table_set(table, 2, NULL) && wasm_table_set(table, 1, NULL));
  wasm_tabletype_t* tabletype = wasm_table_type(table);
  expect("table", wasm_tabletype_limits(tabletype)->max == 3);
  wasm_tabletype_delete(tabletype);
  wasm_table_delete(table);

  expect("arities", wasm_func_param_arity(func) == 1 && wasm_func_result_arity(func) == 1);
  wasm_functype_t* functype = wasm_func_type(func);
  wasm_functype_delete(functype);
  wasm_val_t argument = WASM_I32_VAL(5), result = WASM_INIT_VAL;
  wasm_val_vec_t arguments = {1, &argument}, results = {1, &result};
  check_trap("calling", wasm_func_call(func, &arguments, &results));
  expect("result", result.kind == WASM_F64 && result.of.f64 == 2.5);
  wasm_func_delete(func);

  wasm_global_t* global = new_global();
  wasm_val_t value = WASM_F32_VAL(2.5f);
  wasm_global_set(global, &value);
  value.of.f32 = 0;
  wasm_global_get(global, &value);
  expect("global", value.of.f32 == 2.5f);
  wasm_globaltype_t* globaltype = wasm_global_type(global);
  wasm_globaltype_delete(globaltype);
  wasm_global_delete(global);

  wasm_tag_t* tag = new_tag();
  wasm_tagtype_t* tagtype = wasm_tag_type(tag);
  expect("tag", wasm_functype_params(wasm_tagtype_functype(tagtype))->size == 1);
  wasm_tagtype_delete(tagtype);
  wasm_tag_delete(tag);

  wasm_byte_vec_t bytes;
  wasm_module_serialize(module, &bytes);
  wasm_module_t* again = check_made("a module", wasm_module_deserialize(store, &bytes));
  wasm_byte_vec_delete(&bytes);
  wasm_shared_module_t* shared = wasm_module_share(again);
  wasm_store_t* other = wasm_store_new(engine);
  wasm_module_t* obtained = check_made("a module", wasm_module_obtain(other, shared));
  wasm_importtype_vec_t imports;
  wasm_exporttype_vec_t exports;
  wasm_module_imports(obtained, &imports);
  wasm_module_exports(obtained, &exports);
  expect("imports and exports", imports.size == 0 && exports.size == 1);
  wasm_importtype_vec_delete(&imports);
  wasm_exporttype_vec_delete(&exports);
  wasm_extern_vec_t externs;
  wasm_instance_exports(instance, &externs);
  expect("exports", externs.size == 1);
  wasm_extern_vec_delete(&externs);
  wasm_module_delete(obtained);
  wasm_store_delete(other);
  wasm_shared_module_delete(shared);
  wasm_module_delete(again);

  wasm_message_t message;
  wasm_name_new_from_string_nt(&message, "by hand");
  wasm_trap_t* trap = wasm_trap_new(store, &message);
  wasm_byte_vec_delete(&message);
  expect_trap(trap, "by hand");
}

int main(void) {
  wasm_config_t* config = wasm_config_new();
  wasm_config_delete(config);
  wasm_engine_t* engine = wasm_engine_new_with_config(wasm_config_new());
  store = wasm_store_new(engine);
  module = compile(engine,
    "(module $families\n"
    "  (func $inner (nop) (unreachable))\n"
    "  (func (export \"traps\") (call $inner)))");
  instance = instantiate(store, module);

  /* Frames name the instance while there is only one. */
  frames();
#define RUN_TYPE(name) type_##name();
  TYPES(RUN_TYPE)
  externtype_functype(WASM_EXTERN_FUNC);
  externtype_globaltype(WASM_EXTERN_GLOBAL);
  externtype_tabletype(WASM_EXTERN_TABLE);
  externtype_memorytype(WASM_EXTERN_MEMORY);
  externtype_tagtype(WASM_EXTERN_TAG);
#define RUN_VECTOR(name) vector_##name();
  VECTORS_OF_POINTERS(RUN_VECTOR)
#define RUN_REFERENCE(name) reference_##name();
  REFERENCES(RUN_REFERENCE)
  extern_func(WASM_EXTERN_FUNC);
  extern_global(WASM_EXTERN_GLOBAL);
  extern_table(WASM_EXTERN_TABLE);
  extern_memory(WASM_EXTERN_MEMORY);
  extern_tag(WASM_EXTERN_TAG);
  parts_of_types();
  bytes_and_values();
  objects(engine);

  wasm_instance_delete(instance);
  wasm_module_delete(module);
  wasm_store_delete(store);
  wasm_engine_delete(engine);
  printf("%d failures\n", failures);
  return failures != 0;
}
