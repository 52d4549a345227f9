/*
 * The C API that WebAssembly engines share, as Ropewalk implements it.
 *
 * Names and types are those of the common API, so programs written for it compile without
 * changes. Extensions of Ropewalk are in ropewalk.h.
 *
 * Ownership
 *
 * `own` marks ownership:
 *
 *   own T* as a result      the caller owns the object and must delete it
 *   own T* as a parameter   the function takes ownership, even if it fails
 *   own T* named out...     a location of the caller's, which the function initializes; the
 *                           caller then owns the contents
 *   own T_vec_t             the vector owns its elements
 *   T*, const T*            borrowed: valid as long as the object that it came from
 *
 * Each type has a function ending in `_delete`, which also accepts null. An object keeps its
 * store alive: a store is freed when it and all its objects are deleted, in any order.
 * Functions, memories, tables, globals, tags and instances live as long as their store, even
 * if all references to them are deleted.
 *
 * Vectors
 *
 * A vector, or an array with a size, is empty if its size is zero; its data is then ignored.
 * Otherwise its data must not be null. Null with another size, and a size beyond the address
 * space, are failures.
 *
 * Failure
 *
 * A function that fails returns null, false or zero, or stores an empty value in `out`;
 * ropewalk_last_error returns the error. Passing null for a required object is a failure.
 * Functions never panic, throw or abort.
 *
 * Threads
 *
 * Threads may share configurations, engines and shared modules. Only one thread at a time may
 * use a store and its objects. Any thread may delete references.
 */

#ifndef ROPEWALK_WASM_H
#define ROPEWALK_WASM_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifndef WASM_API_EXTERN
#define WASM_API_EXTERN
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define own

/* ---- Numbers and bytes ---- */

typedef char byte_t;
typedef float float32_t;
typedef double float64_t;

/* ---- Owned types and vectors ---- */

#define WASM_DECLARE_OWN(name)                                                  \
  typedef struct wasm_##name##_t wasm_##name##_t;                               \
  WASM_API_EXTERN void wasm_##name##_delete(own wasm_##name##_t*);

/*
 * For vectors of pointers, `new` takes ownership of the elements, `new_uninitialized` creates
 * nulls, and `copy` copies each element. `delete` leaves an empty vector.
 */
#define WASM_DECLARE_VEC(name, pointer)                                         \
  typedef struct wasm_##name##_vec_t {                                          \
    size_t size;                                                                \
    wasm_##name##_t pointer* data;                                              \
  } wasm_##name##_vec_t;                                                        \
  WASM_API_EXTERN void wasm_##name##_vec_new_empty(                             \
    own wasm_##name##_vec_t* out);                                              \
  WASM_API_EXTERN void wasm_##name##_vec_new_uninitialized(                     \
    own wasm_##name##_vec_t* out, size_t size);                                 \
  WASM_API_EXTERN void wasm_##name##_vec_new(                                   \
    own wasm_##name##_vec_t* out, size_t size,                                  \
    own wasm_##name##_t pointer const elements[]);                              \
  WASM_API_EXTERN void wasm_##name##_vec_copy(                                  \
    own wasm_##name##_vec_t* out, const wasm_##name##_vec_t*);                  \
  WASM_API_EXTERN void wasm_##name##_vec_delete(own wasm_##name##_vec_t*);

typedef byte_t wasm_byte_t;
WASM_DECLARE_VEC(byte, )

/* A name is a vector of bytes in UTF-8. */
typedef wasm_byte_vec_t wasm_name_t;

#define wasm_name_new wasm_byte_vec_new
#define wasm_name_new_empty wasm_byte_vec_new_empty
#define wasm_name_new_uninitialized wasm_byte_vec_new_uninitialized
#define wasm_name_new_new_uninitialized wasm_byte_vec_new_uninitialized
#define wasm_name_copy wasm_byte_vec_copy
#define wasm_name_delete wasm_byte_vec_delete

static inline void wasm_name_new_from_string(own wasm_name_t* out, const char* text) {
  wasm_name_new(out, strlen(text), text);
}

/* Includes the terminating zero. */
static inline void wasm_name_new_from_string_nt(own wasm_name_t* out, const char* text) {
  wasm_name_new(out, strlen(text) + 1, text);
}

/* ---- Configurations, engines, stores ---- */

WASM_DECLARE_OWN(config)
WASM_API_EXTERN own wasm_config_t* wasm_config_new(void);

WASM_DECLARE_OWN(engine)
WASM_API_EXTERN own wasm_engine_t* wasm_engine_new(void);
WASM_API_EXTERN own wasm_engine_t* wasm_engine_new_with_config(own wasm_config_t*);

WASM_DECLARE_OWN(store)
WASM_API_EXTERN own wasm_store_t* wasm_store_new(wasm_engine_t*);

/* ---- Types ---- */

typedef uint8_t wasm_mutability_t;
enum wasm_mutability_enum { WASM_CONST, WASM_VAR };

typedef struct wasm_limits_t {
  uint32_t min;
  uint32_t max;
} wasm_limits_t;

/* The value of `max` without a maximum. */
static const uint32_t wasm_limits_max_default = 0xffffffff;

#define WASM_DECLARE_TYPE(name)                                                 \
  WASM_DECLARE_OWN(name)                                                        \
  WASM_DECLARE_VEC(name, *)                                                     \
  WASM_API_EXTERN own wasm_##name##_t* wasm_##name##_copy(const wasm_##name##_t*);

WASM_DECLARE_TYPE(valtype)

/* ropewalk.h defines more kinds. */
typedef uint8_t wasm_valkind_t;
enum wasm_valkind_enum {
  WASM_I32,
  WASM_I64,
  WASM_F32,
  WASM_F64,
  WASM_EXTERNREF = 128,
  WASM_FUNCREF
};

/* An older name. */
#define WASM_ANYREF WASM_EXTERNREF

WASM_API_EXTERN own wasm_valtype_t* wasm_valtype_new(wasm_valkind_t);
WASM_API_EXTERN wasm_valkind_t wasm_valtype_kind(const wasm_valtype_t*);

static inline bool wasm_valkind_is_num(wasm_valkind_t kind) {
  return kind < WASM_EXTERNREF;
}
static inline bool wasm_valkind_is_ref(wasm_valkind_t kind) {
  return kind >= WASM_EXTERNREF;
}
static inline bool wasm_valtype_is_num(const wasm_valtype_t* type) {
  return wasm_valkind_is_num(wasm_valtype_kind(type));
}
static inline bool wasm_valtype_is_ref(const wasm_valtype_t* type) {
  return wasm_valkind_is_ref(wasm_valtype_kind(type));
}

WASM_DECLARE_TYPE(functype)
WASM_API_EXTERN own wasm_functype_t* wasm_functype_new(
  own wasm_valtype_vec_t* params, own wasm_valtype_vec_t* results);
WASM_API_EXTERN const wasm_valtype_vec_t* wasm_functype_params(const wasm_functype_t*);
WASM_API_EXTERN const wasm_valtype_vec_t* wasm_functype_results(const wasm_functype_t*);

WASM_DECLARE_TYPE(globaltype)
WASM_API_EXTERN own wasm_globaltype_t* wasm_globaltype_new(
  own wasm_valtype_t*, wasm_mutability_t);
WASM_API_EXTERN const wasm_valtype_t* wasm_globaltype_content(const wasm_globaltype_t*);
WASM_API_EXTERN wasm_mutability_t wasm_globaltype_mutability(const wasm_globaltype_t*);

WASM_DECLARE_TYPE(tabletype)
WASM_API_EXTERN own wasm_tabletype_t* wasm_tabletype_new(
  own wasm_valtype_t*, const wasm_limits_t*);
WASM_API_EXTERN const wasm_valtype_t* wasm_tabletype_element(const wasm_tabletype_t*);
WASM_API_EXTERN const wasm_limits_t* wasm_tabletype_limits(const wasm_tabletype_t*);

WASM_DECLARE_TYPE(memorytype)
WASM_API_EXTERN own wasm_memorytype_t* wasm_memorytype_new(const wasm_limits_t*);
WASM_API_EXTERN const wasm_limits_t* wasm_memorytype_limits(const wasm_memorytype_t*);

/* Tags of exceptions have no results; those of suspensions may have some. */
WASM_DECLARE_TYPE(tagtype)
WASM_API_EXTERN own wasm_tagtype_t* wasm_tagtype_new(own wasm_functype_t*);
WASM_API_EXTERN const wasm_functype_t* wasm_tagtype_functype(const wasm_tagtype_t*);

WASM_DECLARE_TYPE(externtype)

typedef uint8_t wasm_externkind_t;
enum wasm_externkind_enum {
  WASM_EXTERN_FUNC,
  WASM_EXTERN_GLOBAL,
  WASM_EXTERN_TABLE,
  WASM_EXTERN_MEMORY,
  WASM_EXTERN_TAG
};

WASM_API_EXTERN wasm_externkind_t wasm_externtype_kind(const wasm_externtype_t*);

/* Casts to externtype, and checked casts back, which return null for other kinds. */
#define WASM_DECLARE_EXTERNTYPE(name)                                           \
  WASM_API_EXTERN wasm_externtype_t* wasm_##name##_as_externtype(               \
    wasm_##name##_t*);                                                          \
  WASM_API_EXTERN wasm_##name##_t* wasm_externtype_as_##name(                   \
    wasm_externtype_t*);                                                        \
  WASM_API_EXTERN const wasm_externtype_t* wasm_##name##_as_externtype_const(   \
    const wasm_##name##_t*);                                                    \
  WASM_API_EXTERN const wasm_##name##_t* wasm_externtype_as_##name##_const(     \
    const wasm_externtype_t*);

WASM_DECLARE_EXTERNTYPE(functype)
WASM_DECLARE_EXTERNTYPE(globaltype)
WASM_DECLARE_EXTERNTYPE(tabletype)
WASM_DECLARE_EXTERNTYPE(memorytype)
WASM_DECLARE_EXTERNTYPE(tagtype)

WASM_DECLARE_TYPE(importtype)
WASM_API_EXTERN own wasm_importtype_t* wasm_importtype_new(
  own wasm_name_t* module, own wasm_name_t* name, own wasm_externtype_t*);
WASM_API_EXTERN const wasm_name_t* wasm_importtype_module(const wasm_importtype_t*);
WASM_API_EXTERN const wasm_name_t* wasm_importtype_name(const wasm_importtype_t*);
WASM_API_EXTERN const wasm_externtype_t* wasm_importtype_type(const wasm_importtype_t*);

WASM_DECLARE_TYPE(exporttype)
WASM_API_EXTERN own wasm_exporttype_t* wasm_exporttype_new(
  own wasm_name_t*, own wasm_externtype_t*);
WASM_API_EXTERN const wasm_name_t* wasm_exporttype_name(const wasm_exporttype_t*);
WASM_API_EXTERN const wasm_externtype_t* wasm_exporttype_type(const wasm_exporttype_t*);

/* ---- Values ---- */

struct wasm_ref_t;

/* For kinds of references, the value owns `of.ref`, which may be null. */
typedef struct wasm_val_t {
  wasm_valkind_t kind;
  union {
    int32_t i32;
    int64_t i64;
    float32_t f32;
    float64_t f64;
    struct wasm_ref_t* ref;
  } of;
} wasm_val_t;

/* Deletes the reference that a value owns, but not the value itself. */
WASM_API_EXTERN void wasm_val_delete(own wasm_val_t*);
WASM_API_EXTERN void wasm_val_copy(own wasm_val_t* out, const wasm_val_t*);

WASM_DECLARE_VEC(val, )

/* ---- References ---- */

/*
 * `same` returns whether both refer to the same object. Host info belongs to the object, not
 * to the reference. Its finalizer is called when the object is freed or the host info is
 * replaced. A finalizer must not use the store.
 */
#define WASM_DECLARE_REF_BASE(name)                                             \
  WASM_DECLARE_OWN(name)                                                        \
  WASM_API_EXTERN own wasm_##name##_t* wasm_##name##_copy(const wasm_##name##_t*); \
  WASM_API_EXTERN bool wasm_##name##_same(                                      \
    const wasm_##name##_t*, const wasm_##name##_t*);                            \
  WASM_API_EXTERN void* wasm_##name##_get_host_info(const wasm_##name##_t*);    \
  WASM_API_EXTERN void wasm_##name##_set_host_info(wasm_##name##_t*, void*);    \
  WASM_API_EXTERN void wasm_##name##_set_host_info_with_finalizer(              \
    wasm_##name##_t*, void*, void (*)(void*));

/* Casts to ref, and checked casts back, which return null for other kinds. */
#define WASM_DECLARE_REF(name)                                                  \
  WASM_DECLARE_REF_BASE(name)                                                   \
  WASM_API_EXTERN wasm_ref_t* wasm_##name##_as_ref(wasm_##name##_t*);           \
  WASM_API_EXTERN wasm_##name##_t* wasm_ref_as_##name(wasm_ref_t*);             \
  WASM_API_EXTERN const wasm_ref_t* wasm_##name##_as_ref_const(                 \
    const wasm_##name##_t*);                                                    \
  WASM_API_EXTERN const wasm_##name##_t* wasm_ref_as_##name##_const(            \
    const wasm_ref_t*);

/* A form that threads can share. */
#define WASM_DECLARE_SHARABLE_REF(name)                                         \
  WASM_DECLARE_REF(name)                                                        \
  WASM_DECLARE_OWN(shared_##name)                                               \
  WASM_API_EXTERN own wasm_shared_##name##_t* wasm_##name##_share(              \
    const wasm_##name##_t*);                                                    \
  WASM_API_EXTERN own wasm_##name##_t* wasm_##name##_obtain(                    \
    wasm_store_t*, const wasm_shared_##name##_t*);

WASM_DECLARE_REF_BASE(ref)

/* ---- Frames and traps ---- */

WASM_DECLARE_OWN(frame)
WASM_DECLARE_VEC(frame, *)
WASM_API_EXTERN own wasm_frame_t* wasm_frame_copy(const wasm_frame_t*);

/* Borrowed from the frame. Null if the store has several instances of the module. */
WASM_API_EXTERN struct wasm_instance_t* wasm_frame_instance(const wasm_frame_t*);
WASM_API_EXTERN uint32_t wasm_frame_func_index(const wasm_frame_t*);
/* Byte offsets in the binary, from the start of the function or the module. */
WASM_API_EXTERN size_t wasm_frame_func_offset(const wasm_frame_t*);
WASM_API_EXTERN size_t wasm_frame_module_offset(const wasm_frame_t*);

/* Includes a terminating zero. */
typedef wasm_name_t wasm_message_t;

WASM_DECLARE_REF(trap)
WASM_API_EXTERN own wasm_trap_t* wasm_trap_new(wasm_store_t*, const wasm_message_t*);
WASM_API_EXTERN void wasm_trap_message(const wasm_trap_t*, own wasm_message_t* out);
/* The innermost frame; null if there are no frames. */
WASM_API_EXTERN own wasm_frame_t* wasm_trap_origin(const wasm_trap_t*);
/* The frames, innermost first. */
WASM_API_EXTERN void wasm_trap_trace(const wasm_trap_t*, own wasm_frame_vec_t* out);

/* ---- Objects of the host ---- */

/* An object for an externref. It has only host info. */
WASM_DECLARE_REF(foreign)
WASM_API_EXTERN own wasm_foreign_t* wasm_foreign_new(wasm_store_t*);

/* ---- Modules ---- */

WASM_DECLARE_SHARABLE_REF(module)
WASM_API_EXTERN own wasm_module_t* wasm_module_new(
  wasm_store_t*, const wasm_byte_vec_t* binary);
WASM_API_EXTERN bool wasm_module_validate(wasm_store_t*, const wasm_byte_vec_t* binary);
WASM_API_EXTERN void wasm_module_imports(
  const wasm_module_t*, own wasm_importtype_vec_t* out);
WASM_API_EXTERN void wasm_module_exports(
  const wasm_module_t*, own wasm_exporttype_vec_t* out);
WASM_API_EXTERN void wasm_module_serialize(const wasm_module_t*, own wasm_byte_vec_t* out);
/*
 * The bytes are executed: they must come unchanged from wasm_module_serialize. Bytes of another
 * version, configuration or machine are refused, and so are accidentally damaged ones.
 */
WASM_API_EXTERN own wasm_module_t* wasm_module_deserialize(
  wasm_store_t*, const wasm_byte_vec_t*);

/* ---- Functions ---- */

WASM_DECLARE_REF(func)

/*
 * A host function borrows its arguments and stores its results, which initially have the right
 * kinds and are zero or null. It returns null, or a trap. It may use the store. It must not
 * throw C++ exceptions or call longjmp.
 */
typedef own wasm_trap_t* (*wasm_func_callback_t)(
  const wasm_val_vec_t* args, own wasm_val_vec_t* results);
typedef own wasm_trap_t* (*wasm_func_callback_with_env_t)(
  void* env, const wasm_val_vec_t* args, own wasm_val_vec_t* results);

WASM_API_EXTERN own wasm_func_t* wasm_func_new(
  wasm_store_t*, const wasm_functype_t*, wasm_func_callback_t);
/* The finalizer, which may be null, is called when the store is freed or on failure. */
WASM_API_EXTERN own wasm_func_t* wasm_func_new_with_env(
  wasm_store_t*, const wasm_functype_t*, wasm_func_callback_with_env_t, void* env,
  void (*finalizer)(void*));

WASM_API_EXTERN own wasm_functype_t* wasm_func_type(const wasm_func_t*);
WASM_API_EXTERN size_t wasm_func_param_arity(const wasm_func_t*);
WASM_API_EXTERN size_t wasm_func_result_arity(const wasm_func_t*);

/*
 * The numbers of arguments and results must match the type. Results may be uninitialized. After
 * a trap they are unchanged.
 */
WASM_API_EXTERN own wasm_trap_t* wasm_func_call(
  const wasm_func_t*, const wasm_val_vec_t* args, own wasm_val_vec_t* results);

/* ---- Globals ---- */

WASM_DECLARE_REF(global)
WASM_API_EXTERN own wasm_global_t* wasm_global_new(
  wasm_store_t*, const wasm_globaltype_t*, const wasm_val_t*);
WASM_API_EXTERN own wasm_globaltype_t* wasm_global_type(const wasm_global_t*);
WASM_API_EXTERN void wasm_global_get(const wasm_global_t*, own wasm_val_t* out);
WASM_API_EXTERN void wasm_global_set(wasm_global_t*, const wasm_val_t*);

/* ---- Tables ---- */

WASM_DECLARE_REF(table)

typedef uint32_t wasm_table_size_t;

WASM_API_EXTERN own wasm_table_t* wasm_table_new(
  wasm_store_t*, const wasm_tabletype_t*, wasm_ref_t* init);
WASM_API_EXTERN own wasm_tabletype_t* wasm_table_type(const wasm_table_t*);
WASM_API_EXTERN own wasm_ref_t* wasm_table_get(const wasm_table_t*, wasm_table_size_t index);
WASM_API_EXTERN bool wasm_table_set(wasm_table_t*, wasm_table_size_t index, wasm_ref_t*);
WASM_API_EXTERN wasm_table_size_t wasm_table_size(const wasm_table_t*);
WASM_API_EXTERN bool wasm_table_grow(
  wasm_table_t*, wasm_table_size_t delta, wasm_ref_t* init);

/* ---- Memories ---- */

WASM_DECLARE_REF(memory)

typedef uint32_t wasm_memory_pages_t;
static const size_t MEMORY_PAGE_SIZE = 0x10000;

WASM_API_EXTERN own wasm_memory_t* wasm_memory_new(wasm_store_t*, const wasm_memorytype_t*);
WASM_API_EXTERN own wasm_memorytype_t* wasm_memory_type(const wasm_memory_t*);
/* Valid until the memory grows. */
WASM_API_EXTERN byte_t* wasm_memory_data(wasm_memory_t*);
WASM_API_EXTERN size_t wasm_memory_data_size(const wasm_memory_t*);
WASM_API_EXTERN wasm_memory_pages_t wasm_memory_size(const wasm_memory_t*);
WASM_API_EXTERN bool wasm_memory_grow(wasm_memory_t*, wasm_memory_pages_t delta);

/* ---- Tags ---- */

WASM_DECLARE_REF(tag)
WASM_API_EXTERN own wasm_tag_t* wasm_tag_new(wasm_store_t*, const wasm_tagtype_t*);
WASM_API_EXTERN own wasm_tagtype_t* wasm_tag_type(const wasm_tag_t*);

/* ---- External objects ---- */

WASM_DECLARE_REF(extern)
WASM_DECLARE_VEC(extern, *)
WASM_API_EXTERN wasm_externkind_t wasm_extern_kind(const wasm_extern_t*);
WASM_API_EXTERN own wasm_externtype_t* wasm_extern_type(const wasm_extern_t*);

#define WASM_DECLARE_EXTERN(name)                                               \
  WASM_API_EXTERN wasm_extern_t* wasm_##name##_as_extern(wasm_##name##_t*);     \
  WASM_API_EXTERN wasm_##name##_t* wasm_extern_as_##name(wasm_extern_t*);       \
  WASM_API_EXTERN const wasm_extern_t* wasm_##name##_as_extern_const(           \
    const wasm_##name##_t*);                                                    \
  WASM_API_EXTERN const wasm_##name##_t* wasm_extern_as_##name##_const(         \
    const wasm_extern_t*);

WASM_DECLARE_EXTERN(func)
WASM_DECLARE_EXTERN(global)
WASM_DECLARE_EXTERN(table)
WASM_DECLARE_EXTERN(memory)
WASM_DECLARE_EXTERN(tag)

/* ---- Instances ---- */

WASM_DECLARE_REF(instance)
/* On failure, stores a trap in `trap`, which may be null. The caller keeps the imports. */
WASM_API_EXTERN own wasm_instance_t* wasm_instance_new(
  wasm_store_t*, const wasm_module_t*, const wasm_extern_vec_t* imports,
  own wasm_trap_t** trap);
WASM_API_EXTERN void wasm_instance_exports(
  const wasm_instance_t*, own wasm_extern_vec_t* out);

/* ---- Convenience functions ---- */

#define WASM_DECLARE_VALTYPE_NEW(name, kind)                                    \
  static inline own wasm_valtype_t* wasm_valtype_new_##name(void) {             \
    return wasm_valtype_new(kind);                                              \
  }

WASM_DECLARE_VALTYPE_NEW(i32, WASM_I32)
WASM_DECLARE_VALTYPE_NEW(i64, WASM_I64)
WASM_DECLARE_VALTYPE_NEW(f32, WASM_F32)
WASM_DECLARE_VALTYPE_NEW(f64, WASM_F64)
WASM_DECLARE_VALTYPE_NEW(externref, WASM_EXTERNREF)
WASM_DECLARE_VALTYPE_NEW(anyref, WASM_EXTERNREF)
WASM_DECLARE_VALTYPE_NEW(funcref, WASM_FUNCREF)

/* Function types with the first parameters and results of those given. */
static inline own wasm_functype_t* wasm_functype_new_of(
  size_t param_count, own wasm_valtype_t* const params[], size_t result_count,
  own wasm_valtype_t* const results[]
) {
  wasm_valtype_vec_t p, r;
  wasm_valtype_vec_new(&p, param_count, params);
  wasm_valtype_vec_new(&r, result_count, results);
  return wasm_functype_new(&p, &r);
}

static inline own wasm_functype_t* wasm_functype_new_0_0(void) {
  return wasm_functype_new_of(0, NULL, 0, NULL);
}
static inline own wasm_functype_t* wasm_functype_new_1_0(own wasm_valtype_t* p) {
  wasm_valtype_t* ps[1] = {p};
  return wasm_functype_new_of(1, ps, 0, NULL);
}
static inline own wasm_functype_t* wasm_functype_new_2_0(
  own wasm_valtype_t* p1, own wasm_valtype_t* p2
) {
  wasm_valtype_t* ps[2] = {p1, p2};
  return wasm_functype_new_of(2, ps, 0, NULL);
}
static inline own wasm_functype_t* wasm_functype_new_3_0(
  own wasm_valtype_t* p1, own wasm_valtype_t* p2, own wasm_valtype_t* p3
) {
  wasm_valtype_t* ps[3] = {p1, p2, p3};
  return wasm_functype_new_of(3, ps, 0, NULL);
}
static inline own wasm_functype_t* wasm_functype_new_0_1(own wasm_valtype_t* r) {
  wasm_valtype_t* rs[1] = {r};
  return wasm_functype_new_of(0, NULL, 1, rs);
}
static inline own wasm_functype_t* wasm_functype_new_1_1(
  own wasm_valtype_t* p, own wasm_valtype_t* r
) {
  wasm_valtype_t* ps[1] = {p};
  wasm_valtype_t* rs[1] = {r};
  return wasm_functype_new_of(1, ps, 1, rs);
}
static inline own wasm_functype_t* wasm_functype_new_2_1(
  own wasm_valtype_t* p1, own wasm_valtype_t* p2, own wasm_valtype_t* r
) {
  wasm_valtype_t* ps[2] = {p1, p2};
  wasm_valtype_t* rs[1] = {r};
  return wasm_functype_new_of(2, ps, 1, rs);
}
static inline own wasm_functype_t* wasm_functype_new_3_1(
  own wasm_valtype_t* p1, own wasm_valtype_t* p2, own wasm_valtype_t* p3,
  own wasm_valtype_t* r
) {
  wasm_valtype_t* ps[3] = {p1, p2, p3};
  wasm_valtype_t* rs[1] = {r};
  return wasm_functype_new_of(3, ps, 1, rs);
}
static inline own wasm_functype_t* wasm_functype_new_0_2(
  own wasm_valtype_t* r1, own wasm_valtype_t* r2
) {
  wasm_valtype_t* rs[2] = {r1, r2};
  return wasm_functype_new_of(0, NULL, 2, rs);
}
static inline own wasm_functype_t* wasm_functype_new_1_2(
  own wasm_valtype_t* p, own wasm_valtype_t* r1, own wasm_valtype_t* r2
) {
  wasm_valtype_t* ps[1] = {p};
  wasm_valtype_t* rs[2] = {r1, r2};
  return wasm_functype_new_of(1, ps, 2, rs);
}
static inline own wasm_functype_t* wasm_functype_new_2_2(
  own wasm_valtype_t* p1, own wasm_valtype_t* p2, own wasm_valtype_t* r1,
  own wasm_valtype_t* r2
) {
  wasm_valtype_t* ps[2] = {p1, p2};
  wasm_valtype_t* rs[2] = {r1, r2};
  return wasm_functype_new_of(2, ps, 2, rs);
}
static inline own wasm_functype_t* wasm_functype_new_3_2(
  own wasm_valtype_t* p1, own wasm_valtype_t* p2, own wasm_valtype_t* p3,
  own wasm_valtype_t* r1, own wasm_valtype_t* r2
) {
  wasm_valtype_t* ps[3] = {p1, p2, p3};
  wasm_valtype_t* rs[2] = {r1, r2};
  return wasm_functype_new_of(3, ps, 2, rs);
}

/* Pointers as numbers, for programs that pass pointers of the host. */
static inline void wasm_val_init_ptr(own wasm_val_t* out, void* pointer) {
  out->kind = WASM_I64;
  out->of.i64 = (int64_t)(intptr_t)pointer;
}
static inline void* wasm_val_ptr(const wasm_val_t* value) {
  return (void*)(intptr_t)value->of.i64;
}

/* Initializers of values and vectors. */
#ifdef __cplusplus
static inline wasm_val_t wasm_val_of_i32(int32_t x) {
  wasm_val_t v; v.kind = WASM_I32; v.of.i64 = 0; v.of.i32 = x; return v;
}
static inline wasm_val_t wasm_val_of_i64(int64_t x) {
  wasm_val_t v; v.kind = WASM_I64; v.of.i64 = x; return v;
}
static inline wasm_val_t wasm_val_of_f32(float32_t x) {
  wasm_val_t v; v.kind = WASM_F32; v.of.i64 = 0; v.of.f32 = x; return v;
}
static inline wasm_val_t wasm_val_of_f64(float64_t x) {
  wasm_val_t v; v.kind = WASM_F64; v.of.f64 = x; return v;
}
static inline wasm_val_t wasm_val_of_ref(struct wasm_ref_t* x) {
  wasm_val_t v; v.kind = WASM_EXTERNREF; v.of.ref = x; return v;
}
#define WASM_I32_VAL(x) wasm_val_of_i32(x)
#define WASM_I64_VAL(x) wasm_val_of_i64(x)
#define WASM_F32_VAL(x) wasm_val_of_f32(x)
#define WASM_F64_VAL(x) wasm_val_of_f64(x)
#define WASM_REF_VAL(x) wasm_val_of_ref(x)
#define WASM_INIT_VAL wasm_val_of_ref(NULL)
#else
#define WASM_I32_VAL(x) {.kind = WASM_I32, .of = {.i32 = (x)}}
#define WASM_I64_VAL(x) {.kind = WASM_I64, .of = {.i64 = (x)}}
#define WASM_F32_VAL(x) {.kind = WASM_F32, .of = {.f32 = (x)}}
#define WASM_F64_VAL(x) {.kind = WASM_F64, .of = {.f64 = (x)}}
#define WASM_REF_VAL(x) {.kind = WASM_EXTERNREF, .of = {.ref = (x)}}
#define WASM_INIT_VAL {.kind = WASM_EXTERNREF, .of = {.ref = NULL}}
#endif

#define WASM_EMPTY_VEC {0, NULL}
#define WASM_ARRAY_VEC(array) {sizeof(array) / sizeof(*(array)), array}

#ifdef __cplusplus
}
#endif

#endif
