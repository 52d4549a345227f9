/*
 * What Ropewalk has beyond wasm.h: errors with messages, the text format, imports by name,
 * WASI, continuations, interruption, fuel and limits.
 *
 * Ownership, failure and threads are as wasm.h says. A function here that can fail returns
 * its error, or null if it did not fail.
 */

#ifndef ROPEWALK_H
#define ROPEWALK_H

#include "wasm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ---- */

typedef struct ropewalk_error_t ropewalk_error_t;

WASM_API_EXTERN void ropewalk_error_delete(own ropewalk_error_t*);
/* With a zero at its end. */
WASM_API_EXTERN void ropewalk_error_message(
  const ropewalk_error_t*, own wasm_message_t* out);

/*
 * Why a function failed that does not return its error: the newest of this thread that
 * nobody has asked for, or null.
 */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_last_error(void);

/* ---- Configuration ---- */

/* Whether stores can be interrupted. */
WASM_API_EXTERN void ropewalk_config_set_interruption(wasm_config_t*, bool);
/* Whether stores have fuel. */
WASM_API_EXTERN void ropewalk_config_set_consume_fuel(wasm_config_t*, bool);
/* Bytes that a stack may have, of a call or of a continuation. */
WASM_API_EXTERN void ropewalk_config_set_max_wasm_stack(wasm_config_t*, size_t);
/* Bytes that a linear memory may have, and all of a store. */
WASM_API_EXTERN void ropewalk_config_set_max_memory(wasm_config_t*, uint64_t);
WASM_API_EXTERN void ropewalk_config_set_max_total_memory(wasm_config_t*, uint64_t);
/* Bytes that the objects of a store may have. */
WASM_API_EXTERN void ropewalk_config_set_max_heap(wasm_config_t*, size_t);
/* Continuations that a store may have, bytes of all stacks, and of a new one. */
WASM_API_EXTERN void ropewalk_config_set_max_stacks(wasm_config_t*, size_t);
WASM_API_EXTERN void ropewalk_config_set_max_stack_memory(wasm_config_t*, size_t);
WASM_API_EXTERN void ropewalk_config_set_stack_size(wasm_config_t*, size_t);

/* ---- More kinds of values ---- */

/*
 * `of.ref` of each is owned, or null. A vector of 128 bits is such a reference too, since
 * a wasm_val_t has no room for it; its null is zero.
 */
enum ropewalk_valkind_enum {
  ROPEWALK_V128 = 200,
  ROPEWALK_ANYREF = 201,
  ROPEWALK_EXNREF = 202,
  ROPEWALK_CONTREF = 203
};

/* Lane 0 comes first. */
WASM_API_EXTERN own wasm_ref_t* ropewalk_v128_new(const uint8_t bytes[16]);
WASM_API_EXTERN bool ropewalk_v128_get(const wasm_ref_t*, uint8_t out[16]);

/* ---- Modules ---- */

/* Compiles a module in the binary or the text format, with the dialects of all designs. */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_module_new(
  wasm_engine_t*, const wasm_byte_vec_t*, own wasm_module_t** out);

/* The binary of a module in the text format. */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_wat2wasm(
  const wasm_byte_vec_t* text, own wasm_byte_vec_t* out);

/*
 * A module that wasm_module_serialize or `ropewalk compile` has written to a file, which
 * is mapped. The file becomes code: see wasm_module_deserialize. Nobody may change it as
 * long as the module is in use.
 */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_module_deserialize_file(
  wasm_engine_t*, const char* path, own wasm_module_t** out);

/* Its name, with a zero at its end; false if it has none. */
WASM_API_EXTERN bool ropewalk_module_name(const wasm_module_t*, own wasm_name_t* out);

/* ---- Instances ---- */

/* What an instance exports under a name; null if there is nothing. */
WASM_API_EXTERN own wasm_extern_t* ropewalk_instance_export(
  const wasm_instance_t*, const char* name);

/*
 * In a function of the host: what the instance that called it exports under a name. Null
 * if there is nothing, or it was not called through an import.
 */
WASM_API_EXTERN own wasm_extern_t* ropewalk_caller_export(
  wasm_store_t*, const char* name);

/* ---- Imports by name ---- */

typedef struct ropewalk_linker_t ropewalk_linker_t;

WASM_API_EXTERN own ropewalk_linker_t* ropewalk_linker_new(wasm_engine_t*);
WASM_API_EXTERN void ropewalk_linker_delete(own ropewalk_linker_t*);
/* Whether a name may be defined again; it is an error otherwise. */
WASM_API_EXTERN void ropewalk_linker_allow_shadowing(ropewalk_linker_t*, bool);
WASM_API_EXTERN own ropewalk_error_t* ropewalk_linker_define(
  ropewalk_linker_t*, const char* module, const char* name, const wasm_extern_t*);
/* All exports of an instance, under their names. */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_linker_define_instance(
  ropewalk_linker_t*, const char* module, const wasm_instance_t*);
/* WASI preview 1, for stores that were given a context. */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_linker_define_wasi(ropewalk_linker_t*);
WASM_API_EXTERN own wasm_instance_t* ropewalk_linker_instantiate(
  const ropewalk_linker_t*, wasm_store_t*, const wasm_module_t*, own wasm_trap_t** trap);

/* ---- WASI ---- */

/* What a program gets to see of its host: nothing but what is said here. */
typedef struct ropewalk_wasi_t ropewalk_wasi_t;

WASM_API_EXTERN own ropewalk_wasi_t* ropewalk_wasi_new(void);
WASM_API_EXTERN void ropewalk_wasi_delete(own ropewalk_wasi_t*);
/* The first argument is the name of the program. */
WASM_API_EXTERN void ropewalk_wasi_add_arg(ropewalk_wasi_t*, const char*);
WASM_API_EXTERN void ropewalk_wasi_set_env(
  ropewalk_wasi_t*, const char* name, const char* value);
WASM_API_EXTERN void ropewalk_wasi_inherit_env(ropewalk_wasi_t*);
WASM_API_EXTERN void ropewalk_wasi_inherit_stdin(ropewalk_wasi_t*);
WASM_API_EXTERN void ropewalk_wasi_inherit_stdout(ropewalk_wasi_t*);
WASM_API_EXTERN void ropewalk_wasi_inherit_stderr(ropewalk_wasi_t*);
/* The bytes are copied. */
WASM_API_EXTERN void ropewalk_wasi_set_stdin_bytes(
  ropewalk_wasi_t*, const wasm_byte_vec_t*);
WASM_API_EXTERN own ropewalk_error_t* ropewalk_wasi_set_stdout_file(
  ropewalk_wasi_t*, const char* path);
/* Lets the program use a directory, under a name of its own. */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_wasi_preopen_dir(
  ropewalk_wasi_t*, const char* host_path, const char* guest_path, bool writable);
WASM_API_EXTERN own ropewalk_error_t* ropewalk_store_set_wasi(
  wasm_store_t*, own ropewalk_wasi_t*);

/* ---- Traps ---- */

/* The number of the trap of WebAssembly that it is; false if it is something else. */
WASM_API_EXTERN bool ropewalk_trap_code(const wasm_trap_t*, uint8_t* out);
enum ropewalk_trapcode_enum {
  ROPEWALK_TRAP_UNREACHABLE = 1,
  ROPEWALK_TRAP_MEMORY_OUT_OF_BOUNDS = 2,
  ROPEWALK_TRAP_TABLE_OUT_OF_BOUNDS = 3,
  ROPEWALK_TRAP_UNDEFINED_ELEMENT = 4,
  ROPEWALK_TRAP_UNINITIALIZED_ELEMENT = 5,
  ROPEWALK_TRAP_INDIRECT_CALL_TYPE_MISMATCH = 6,
  ROPEWALK_TRAP_INTEGER_DIVIDE_BY_ZERO = 7,
  ROPEWALK_TRAP_INTEGER_OVERFLOW = 8,
  ROPEWALK_TRAP_INVALID_CONVERSION_TO_INTEGER = 9,
  ROPEWALK_TRAP_CALL_STACK_EXHAUSTED = 10,
  ROPEWALK_TRAP_TOO_MANY_STACKS = 11,
  ROPEWALK_TRAP_NULL_REFERENCE = 12,
  ROPEWALK_TRAP_NULL_FUNCTION_REFERENCE = 13,
  ROPEWALK_TRAP_NULL_STRUCT_REFERENCE = 14,
  ROPEWALK_TRAP_NULL_ARRAY_REFERENCE = 15,
  ROPEWALK_TRAP_NULL_I31_REFERENCE = 16,
  ROPEWALK_TRAP_NULL_EXCEPTION_REFERENCE = 17,
  ROPEWALK_TRAP_ARRAY_OUT_OF_BOUNDS = 18,
  ROPEWALK_TRAP_CAST_FAILURE = 19,
  ROPEWALK_TRAP_OUT_OF_MEMORY = 20,
  ROPEWALK_TRAP_NULL_CONTINUATION = 21,
  ROPEWALK_TRAP_CONTINUATION_CONSUMED = 22,
  ROPEWALK_TRAP_UNHANDLED_TAG = 23,
  ROPEWALK_TRAP_OTHER_DESIGN = 24,
  ROPEWALK_TRAP_NULL_STACK = 25,
  ROPEWALK_TRAP_STACK_USED = 26,
  ROPEWALK_TRAP_COROUTINE_RETURNED = 27,
  ROPEWALK_TRAP_COROUTINE_EXCEPTION = 28,
  ROPEWALK_TRAP_ACROSS_HOST_FRAME = 29,
  ROPEWALK_TRAP_NULL_TASK = 30,
  ROPEWALK_TRAP_TASK_MORIBUND = 31,
  ROPEWALK_TRAP_TASK_NOT_SUSPENDED = 32,
  ROPEWALK_TRAP_TASK_NOT_RUNNING = 33,
  ROPEWALK_TRAP_NULL_FIBER = 34,
  ROPEWALK_TRAP_FIBER_MORIBUND = 35,
  ROPEWALK_TRAP_FIBER_NOT_RUNNING = 36,
  ROPEWALK_TRAP_FIBER_HAS_PARENT = 37,
  ROPEWALK_TRAP_UNHANDLED_RETURN = 38,
  ROPEWALK_TRAP_FIBER_RETURNED = 39,
  ROPEWALK_TRAP_SLOT_NOT_EMPTY = 40,
  ROPEWALK_TRAP_ROUT_RETURNED = 41,
  ROPEWALK_TRAP_RETURNED_TO_SUSPENDED = 42,
  ROPEWALK_TRAP_NO_ANSWER = 43,
  ROPEWALK_TRAP_EVENT_REACHED_GROUND = 44,
  ROPEWALK_TRAP_UNCAUGHT_ON_STACK = 45,
  ROPEWALK_TRAP_NOT_EXTENDED = 46,
  ROPEWALK_TRAP_MISTYPED_TRANSFER = 47,
  ROPEWALK_TRAP_INTERRUPT = 48,
  ROPEWALK_TRAP_OUT_OF_FUEL = 49,
  ROPEWALK_TRAP_NOT_COPIED = 50,
  ROPEWALK_TRAP_DAMAGED_CODE = 51
};

/* The code with which a program of WASI has ended; false if that is not what it is. */
WASM_API_EXTERN bool ropewalk_trap_exit_status(const wasm_trap_t*, int32_t* out);

/* The exception that nothing caught; false if that is not what it is. */
WASM_API_EXTERN bool ropewalk_trap_exception(
  wasm_store_t*, const wasm_trap_t*, own wasm_tag_t** out_tag,
  own wasm_val_vec_t* out_values);

/* For a function of the host to return: throws an exception. */
WASM_API_EXTERN own wasm_trap_t* ropewalk_trap_new_exception(
  const wasm_tag_t*, const wasm_val_vec_t* values);

/*
 * For a function of the host to return: suspends whatever has called it, with a tag and
 * its values, as the instruction `suspend` does. What it is resumed with are the results
 * of the function, so the results of the tag must fit.
 */
WASM_API_EXTERN own wasm_trap_t* ropewalk_trap_new_suspension(
  const wasm_tag_t*, const wasm_val_vec_t* values);

/* Names, with a zero at the end; false if there is none. */
WASM_API_EXTERN bool ropewalk_frame_func_name(const wasm_frame_t*, own wasm_name_t* out);
WASM_API_EXTERN bool ropewalk_frame_module_name(const wasm_frame_t*, own wasm_name_t* out);
/* Of a module in the text format; the first ones are 1. Zero if it is not known. */
WASM_API_EXTERN size_t ropewalk_frame_line(const wasm_frame_t*);
WASM_API_EXTERN size_t ropewalk_frame_column(const wasm_frame_t*);

/* ---- Continuations ---- */

/*
 * A computation on stacks of its own, which has not begun or is suspended. Nobody else can
 * resume it, and resuming it takes it: what is left of it comes back as another.
 */
typedef struct ropewalk_continuation_t ropewalk_continuation_t;

/* One that will call a function. */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_continuation_new(
  const wasm_func_t*, own ropewalk_continuation_t** out);
/* Frees its stacks. */
WASM_API_EXTERN void ropewalk_continuation_delete(own ropewalk_continuation_t*);
/* What it takes when it is resumed, and what its function returns in the end. */
WASM_API_EXTERN own wasm_functype_t* ropewalk_continuation_type(
  const ropewalk_continuation_t*);

/*
 * Another one that goes on where this one would, which stays as it is: all its stacks are
 * copied, and objects and memories are shared. Fails if a task, a fiber, a call of the host or
 * an owner of a first-class stack is among them, and says which.
 */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_continuation_try_clone(
  const ropewalk_continuation_t*, own ropewalk_continuation_t** out);

/*
 * Takes the one that a reference (of.ref of a ROPEWALK_CONTREF) names: the references to
 * it that WebAssembly has are used up.
 */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_continuation_from_ref(
  const wasm_ref_t*, own ropewalk_continuation_t** out);
/* Gives one to WebAssembly, as a reference. */
WASM_API_EXTERN own wasm_ref_t* ropewalk_continuation_into_ref(
  own ropewalk_continuation_t*);

enum ropewalk_resumed_enum {
  ROPEWALK_RETURNED,   /* `values` are the results of its function */
  ROPEWALK_SUSPENDED,  /* `tag`, `values` that go with it, `continuation`: the rest of it */
  ROPEWALK_TRAPPED     /* `trap` */
};

/* What came of resuming one. What its kind does not have is empty or null. */
typedef struct ropewalk_resumed_t {
  uint8_t kind;
  own wasm_val_vec_t values;
  own wasm_tag_t* tag;
  own ropewalk_continuation_t* continuation;
  own wasm_trap_t* trap;
} ropewalk_resumed_t;

/* Deletes all that it has. A part that is taken out of it is set to null before. */
WASM_API_EXTERN void ropewalk_resumed_delete(own ropewalk_resumed_t*);

/* Resumes it with values. Every suspension that nothing inside handles comes back. */
WASM_API_EXTERN void ropewalk_continuation_resume(
  own ropewalk_continuation_t*, const wasm_val_vec_t*, own ropewalk_resumed_t* out);
/* The same, of suspensions with these tags; with others it traps. */
WASM_API_EXTERN void ropewalk_continuation_resume_on(
  own ropewalk_continuation_t*, size_t count, const wasm_tag_t* const tags[],
  const wasm_val_vec_t*, own ropewalk_resumed_t* out);
/* Throws an exception where it is suspended. */
WASM_API_EXTERN void ropewalk_continuation_throw(
  own ropewalk_continuation_t*, const wasm_tag_t*, const wasm_val_vec_t*,
  own ropewalk_resumed_t* out);

/* ---- Interruption and fuel ---- */

/*
 * What runs in the store so many milliseconds from now ends with a trap; UINT64_MAX for
 * no such time. The engine must be configured for interruption.
 */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_store_set_timeout_ms(
  wasm_store_t*, uint64_t milliseconds);

/* For another thread: ends what runs in the store. It may outlive the store. */
typedef struct ropewalk_interrupt_handle_t ropewalk_interrupt_handle_t;
WASM_API_EXTERN own ropewalk_interrupt_handle_t* ropewalk_store_interrupt_handle(
  wasm_store_t*);
WASM_API_EXTERN void ropewalk_interrupt_handle_interrupt(
  const ropewalk_interrupt_handle_t*);
WASM_API_EXTERN void ropewalk_interrupt_handle_delete(own ropewalk_interrupt_handle_t*);

/* How much may be executed. The engine must be configured for fuel. */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_store_set_fuel(wasm_store_t*, uint64_t);
WASM_API_EXTERN uint64_t ropewalk_store_get_fuel(wasm_store_t*);

/* ---- Limits ---- */

/* How much a store may have; UINT64_MAX for no limit. */
typedef struct ropewalk_limits_t {
  uint64_t memory_size;        /* bytes of each memory */
  uint64_t total_memory_size;  /* bytes of all memories */
  uint64_t table_elements;     /* elements of each table */
  uint64_t stacks;
  uint64_t stack_bytes;
  uint64_t heap_bytes;
  uint64_t host_values;        /* foreign objects and others that WebAssembly refers to */
  uint64_t handles;            /* references that the host owns */
  uint64_t instances;
  uint64_t memories;
  uint64_t tables;
} ropewalk_limits_t;

WASM_API_EXTERN own ropewalk_error_t* ropewalk_store_set_limits(
  wasm_store_t*, const ropewalk_limits_t*);

/* Collects garbage. */
WASM_API_EXTERN void ropewalk_store_gc(wasm_store_t*);

#ifdef __cplusplus
}
#endif

#endif
