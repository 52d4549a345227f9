/*
 * Extensions of wasm.h: errors with messages, the text format, linkers, WASI, continuations and
 * other stacks, interruption, fuel and limits.
 *
 * wasm.h describes ownership, failure and threads. Many functions here return their error, or
 * null on success.
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
/* The message includes a terminating zero. */
WASM_API_EXTERN void ropewalk_error_message(
  const ropewalk_error_t*, own wasm_message_t* out);

/*
 * Takes the error of this thread's last function that failed and does not return its error;
 * null if there is none.
 */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_last_error(void);

/* ---- Configuration ---- */

/* Whether stores can be interrupted. */
WASM_API_EXTERN void ropewalk_config_set_interruption(wasm_config_t*, bool);
/* Whether stores have fuel. */
WASM_API_EXTERN void ropewalk_config_set_consume_fuel(wasm_config_t*, bool);
/* Maximum size of each stack in bytes. */
WASM_API_EXTERN void ropewalk_config_set_max_wasm_stack(wasm_config_t*, size_t);
/* Maximum size in bytes of each linear memory; of all memories and tables of a store. */
WASM_API_EXTERN void ropewalk_config_set_max_memory(wasm_config_t*, uint64_t);
WASM_API_EXTERN void ropewalk_config_set_max_total_memory(wasm_config_t*, uint64_t);
/* Maximum size in bytes of the garbage-collected heap of a store. */
WASM_API_EXTERN void ropewalk_config_set_max_heap(wasm_config_t*, size_t);
/* Maximum number of stacks of a store, their total size in bytes, initial size of a stack. */
WASM_API_EXTERN void ropewalk_config_set_max_stacks(wasm_config_t*, size_t);
WASM_API_EXTERN void ropewalk_config_set_max_stack_memory(wasm_config_t*, size_t);
WASM_API_EXTERN void ropewalk_config_set_stack_size(wasm_config_t*, size_t);
/* The designs of stack switching that modules may use, added; all by default. */
enum ropewalk_design_enum {
  ROPEWALK_DESIGN_CONTINUATIONS = 1,
  ROPEWALK_DESIGN_BAG = 2,
  ROPEWALK_DESIGN_TASKS = 4,
  ROPEWALK_DESIGN_FIBERS = 8,
  ROPEWALK_DESIGN_FIRST_CLASS = 16,
};
WASM_API_EXTERN void ropewalk_config_set_designs(wasm_config_t*, uint32_t);

/* ---- More kinds of values ---- */

/*
 * The value owns `of.ref`, which may be null. A 128-bit vector is a reference too, since it does
 * not fit into wasm_val_t; null means zero.
 */
enum ropewalk_valkind_enum {
  ROPEWALK_V128 = 200,
  ROPEWALK_ANYREF = 201,
  ROPEWALK_EXNREF = 202,
  ROPEWALK_CONTREF = 203
};

/* The bytes begin with lane 0. */
WASM_API_EXTERN own wasm_ref_t* ropewalk_v128_new(const uint8_t bytes[16]);
WASM_API_EXTERN bool ropewalk_v128_get(const wasm_ref_t*, uint8_t out[16]);

/* ---- Modules ---- */

/* Compiles a module in the binary or the text format, with the dialects of all designs. */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_module_new(
  wasm_engine_t*, const wasm_byte_vec_t*, own wasm_module_t** out);

/* Encodes a module in the text format as a binary. */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_wat2wasm(
  const wasm_byte_vec_t* text, own wasm_byte_vec_t* out);

/*
 * Maps a file that contains the bytes of wasm_module_serialize or that `ropewalk compile` wrote.
 * They are executed: see wasm_module_deserialize. The file must not change while the module is
 * in use.
 */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_module_deserialize_file(
  wasm_engine_t*, const char* path, own wasm_module_t** out);

/* The name, with a terminating zero; false if there is none. */
WASM_API_EXTERN bool ropewalk_module_name(const wasm_module_t*, own wasm_name_t* out);

/* ---- Instances ---- */

/* The export with a name; null if there is none. */
WASM_API_EXTERN own wasm_extern_t* ropewalk_instance_export(
  const wasm_instance_t*, const char* name);

/*
 * In a host function: the export of the calling instance. Null if there is none, or if the
 * function was not called through an import.
 */
WASM_API_EXTERN own wasm_extern_t* ropewalk_caller_export(
  wasm_store_t*, const char* name);

/* ---- Linkers, which resolve imports by name ---- */

typedef struct ropewalk_linker_t ropewalk_linker_t;

WASM_API_EXTERN own ropewalk_linker_t* ropewalk_linker_new(wasm_engine_t*);
WASM_API_EXTERN void ropewalk_linker_delete(own ropewalk_linker_t*);
/* Whether a name may be defined twice. The default is false. */
WASM_API_EXTERN void ropewalk_linker_allow_shadowing(ropewalk_linker_t*, bool);
WASM_API_EXTERN own ropewalk_error_t* ropewalk_linker_define(
  ropewalk_linker_t*, const char* module, const char* name, const wasm_extern_t*);
/* Defines all exports of an instance. */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_linker_define_instance(
  ropewalk_linker_t*, const char* module, const wasm_instance_t*);
/* Defines WASI preview 1, for stores with a context. */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_linker_define_wasi(ropewalk_linker_t*);
WASM_API_EXTERN own wasm_instance_t* ropewalk_linker_instantiate(
  const ropewalk_linker_t*, wasm_store_t*, const wasm_module_t*, own wasm_trap_t** trap);

/* ---- WASI ---- */

/* A builder of contexts, which grant a program nothing by default. */
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
/* Gives the program access to a directory, under the name guest_path. */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_wasi_preopen_dir(
  ropewalk_wasi_t*, const char* host_path, const char* guest_path, bool writable);
WASM_API_EXTERN own ropewalk_error_t* ropewalk_store_set_wasi(
  wasm_store_t*, own ropewalk_wasi_t*);

/* ---- Traps ---- */

/* The code of a trap of WebAssembly; false for other traps. */
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

/* The exit code of a WASI program; false for other traps. */
WASM_API_EXTERN bool ropewalk_trap_exit_status(const wasm_trap_t*, int32_t* out);

/* The tag and values of an uncaught exception; false for other traps. */
WASM_API_EXTERN bool ropewalk_trap_exception(
  wasm_store_t*, const wasm_trap_t*, own wasm_tag_t** out_tag,
  own wasm_val_vec_t* out_values);

/* A trap for a host function to return, which throws an exception. */
WASM_API_EXTERN own wasm_trap_t* ropewalk_trap_new_exception(
  const wasm_tag_t*, const wasm_val_vec_t* values);

/*
 * A trap for a host function to return, which suspends its caller with a tag and values, as the
 * instruction `suspend` does. The values of the resumption become the results of the function,
 * so its results must be those of the tag.
 */
WASM_API_EXTERN own wasm_trap_t* ropewalk_trap_new_suspension(
  const wasm_tag_t*, const wasm_val_vec_t* values);

/* Names with a terminating zero; false if there is none. */
WASM_API_EXTERN bool ropewalk_frame_func_name(const wasm_frame_t*, own wasm_name_t* out);
WASM_API_EXTERN bool ropewalk_frame_module_name(const wasm_frame_t*, own wasm_name_t* out);
/* The position in the source, counted from 1. Zero if it is not known. */
WASM_API_EXTERN size_t ropewalk_frame_line(const wasm_frame_t*);
WASM_API_EXTERN size_t ropewalk_frame_column(const wasm_frame_t*);

/* ---- Continuations ---- */

/*
 * A continuation that has not started or is suspended. The host is its only owner. Resuming
 * consumes it; if it suspends again, the result contains a new continuation.
 */
typedef struct ropewalk_continuation_t ropewalk_continuation_t;

/* Creates a continuation that calls a function. */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_continuation_new(
  const wasm_func_t*, own ropewalk_continuation_t** out);
/* Frees the stacks of the continuation. */
WASM_API_EXTERN void ropewalk_continuation_delete(own ropewalk_continuation_t*);
/* The values that resuming it takes, and the results of its function. */
WASM_API_EXTERN own wasm_functype_t* ropewalk_continuation_type(
  const ropewalk_continuation_t*);

/*
 * Copies a continuation with all its stacks; objects and memories are shared. Fails if the
 * stacks include a task, a fiber, a host call or an owner of a first-class stack.
 */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_continuation_try_clone(
  const ropewalk_continuation_t*, own ropewalk_continuation_t** out);

/*
 * Takes the continuation of a reference (of.ref of a ROPEWALK_CONTREF). References that
 * WebAssembly has to it become consumed.
 */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_continuation_from_ref(
  const wasm_ref_t*, own ropewalk_continuation_t** out);
/* Returns a continuation to WebAssembly, as a reference. */
WASM_API_EXTERN own wasm_ref_t* ropewalk_continuation_into_ref(
  own ropewalk_continuation_t*);

enum ropewalk_resumed_enum {
  ROPEWALK_RETURNED,   /* `values` are the results of its function */
  ROPEWALK_SUSPENDED,  /* `tag` and `values` of the suspension, and the new `continuation` */
  ROPEWALK_TRAPPED     /* `trap` */
};

/* The result of resuming a continuation. Fields that the kind does not use are empty. */
typedef struct ropewalk_resumed_t {
  uint8_t kind;
  own wasm_val_vec_t values;
  own wasm_tag_t* tag;
  own ropewalk_continuation_t* continuation;
  own wasm_trap_t* trap;
} ropewalk_resumed_t;

/* Deletes all fields. Set a field to null first to keep its object. */
WASM_API_EXTERN void ropewalk_resumed_delete(own ropewalk_resumed_t*);

/* Resumes a continuation with values. Suspensions with any tag return to the caller. */
WASM_API_EXTERN void ropewalk_continuation_resume(
  own ropewalk_continuation_t*, const wasm_val_vec_t*, own ropewalk_resumed_t* out);
/* Suspensions with these tags return to the caller; others trap. */
WASM_API_EXTERN void ropewalk_continuation_resume_on(
  own ropewalk_continuation_t*, size_t count, const wasm_tag_t* const tags[],
  const wasm_val_vec_t*, own ropewalk_resumed_t* out);
/* Resumes a continuation by throwing an exception in it. */
WASM_API_EXTERN void ropewalk_continuation_throw(
  own ropewalk_continuation_t*, const wasm_tag_t*, const wasm_val_vec_t*,
  own ropewalk_resumed_t* out);

/* ---- Tasks, fibers and stacks ---- */

/*
 * Handles of the stacks of the other designs. A handle is created from a reference (of.ref of a
 * ROPEWALK_CONTREF), such as the result of a function.
 *
 * WebAssembly shares a task or a fiber with the host: references to it remain valid, and deleting
 * the handle does not end it. The host is the only owner of a stack of a bag or of a first-class
 * stack: references of WebAssembly to it become used up. Switching to the stack consumes the
 * handle, and deleting the handle frees the stack.
 */
typedef struct ropewalk_task_t ropewalk_task_t;
typedef struct ropewalk_fiber_t ropewalk_fiber_t;
typedef struct ropewalk_bag_stack_t ropewalk_bag_stack_t;
typedef struct ropewalk_first_class_stack_t ropewalk_first_class_stack_t;

#define ROPEWALK_DECLARE_STACK(name) \
  WASM_API_EXTERN own ropewalk_error_t* ropewalk_##name##_from_ref( \
    const wasm_ref_t*, own ropewalk_##name##_t** out); \
  WASM_API_EXTERN void ropewalk_##name##_delete(own ropewalk_##name##_t*);

/*
 * A moribund task or fiber has ended. A suspended one can be resumed, mounted or released, also if
 * it has not started. To release it frees its stacks.
 */
#define ROPEWALK_DECLARE_SHARED_STACK(name) \
  ROPEWALK_DECLARE_STACK(name) \
  WASM_API_EXTERN own wasm_ref_t* ropewalk_##name##_reference(const ropewalk_##name##_t*); \
  WASM_API_EXTERN bool ropewalk_##name##_is_suspended(const ropewalk_##name##_t*); \
  WASM_API_EXTERN bool ropewalk_##name##_is_moribund(const ropewalk_##name##_t*); \
  WASM_API_EXTERN own ropewalk_error_t* ropewalk_##name##_release(const ropewalk_##name##_t*);

/* A stack returns to WebAssembly as a reference. It is copied as a continuation is. */
#define ROPEWALK_DECLARE_OWNED_STACK(name) \
  ROPEWALK_DECLARE_STACK(name) \
  WASM_API_EXTERN own wasm_ref_t* ropewalk_##name##_into_ref(own ropewalk_##name##_t*); \
  WASM_API_EXTERN own ropewalk_error_t* ropewalk_##name##_try_clone( \
    const ropewalk_##name##_t*, own ropewalk_##name##_t** out);

ROPEWALK_DECLARE_SHARED_STACK(task)
ROPEWALK_DECLARE_SHARED_STACK(fiber)
ROPEWALK_DECLARE_OWNED_STACK(bag_stack)
ROPEWALK_DECLARE_OWNED_STACK(first_class_stack)

/*
 * Creates a first-class stack. The ground is a function with the parameter exnref, which gets the
 * exceptions that arrive at the ground of the stack. Without a ground, such an exception traps.
 */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_first_class_stack_new(
  wasm_store_t*, const wasm_func_t* ground, own ropewalk_first_class_stack_t** out);

enum ropewalk_switched_enum {
  ROPEWALK_CAME_BACK,       /* `values` that were given or sent to the host */
  ROPEWALK_TASK_FINISHED,   /* `values` that the task has ended with */
  ROPEWALK_NOT_HANDLED,     /* the fiber does not expect the event; nothing has run */
  ROPEWALK_SWITCH_TRAPPED   /* `trap` */
};

/* What came back to the host. Fields that the kind or the design does not use are empty. */
typedef struct ropewalk_switched_t {
  uint8_t kind;
  own wasm_val_vec_t values;
  /* The event from a fiber or a first-class stack, or the tag of an exception. */
  own wasm_tag_t* tag;
  /* The stack that has switched to the host, unless it was freed. */
  own ropewalk_bag_stack_t* bag_stack;
  own ropewalk_first_class_stack_t* first_class_stack;
  own wasm_trap_t* trap;
} ropewalk_switched_t;

/* Deletes all fields. Set a field to null first to keep its object. */
WASM_API_EXTERN void ropewalk_switched_delete(own ropewalk_switched_t*);

/* Resumes a task until it suspends or ends. */
WASM_API_EXTERN void ropewalk_task_resume(
  const ropewalk_task_t*, const wasm_val_vec_t*, own ropewalk_switched_t* out);
/* Mounts a fiber with an event. It can dismount or return with the events `on`. */
WASM_API_EXTERN void ropewalk_fiber_mount(
  const ropewalk_fiber_t*, const wasm_tag_t* event, const wasm_val_vec_t*,
  size_t count, const wasm_tag_t* const on[], own ropewalk_switched_t* out);
/* Switches to a stack of a bag. The host's stack is added to the values. */
WASM_API_EXTERN void ropewalk_bag_stack_switch(
  own ropewalk_bag_stack_t*, const wasm_val_vec_t*, own ropewalk_switched_t* out);
/* Sends an event to a first-class stack. The host's stack is added to the values. */
WASM_API_EXTERN void ropewalk_first_class_stack_switch(
  own ropewalk_first_class_stack_t*, const wasm_tag_t* event, const wasm_val_vec_t*,
  own ropewalk_switched_t* out);

/*
 * Traps for a host function to return, which suspend its caller. Each acts as an instruction of a
 * design. What the caller is continued with becomes the results of the function.
 */

/* task.suspend: the task is the one that has called the function, or an ancestor of it. */
WASM_API_EXTERN own wasm_trap_t* ropewalk_trap_new_task_suspension(
  const ropewalk_task_t*, const wasm_val_vec_t* values);
/*
 * fiber.dismount: the fiber is the one that has called the function, or an ancestor of it. It can
 * be continued with the event `on`. If the control parent does not expect the event, the call
 * ends with an error.
 */
WASM_API_EXTERN own wasm_trap_t* ropewalk_trap_new_fiber_suspension(
  const ropewalk_fiber_t*, const wasm_tag_t* event, const wasm_val_vec_t* values,
  const wasm_tag_t* on);
/* Whether a host function can dismount the fiber with an event. */
WASM_API_EXTERN bool ropewalk_fiber_can_dismount(const ropewalk_fiber_t*, const wasm_tag_t* event);
/*
 * switch: the reference names the stack, which may be the root of the running call. The stack that
 * is left is added to the values.
 */
WASM_API_EXTERN own wasm_trap_t* ropewalk_trap_new_bag_switch(
  const wasm_ref_t*, const wasm_val_vec_t* values);
/*
 * stack.switch: the stack that is left is added to the values. The function never returns: it throws
 * each event that is sent to that stack.
 */
WASM_API_EXTERN own wasm_trap_t* ropewalk_trap_new_first_class_switch(
  const wasm_ref_t*, const wasm_tag_t* event, const wasm_val_vec_t* values);

#undef ROPEWALK_DECLARE_STACK
#undef ROPEWALK_DECLARE_SHARED_STACK
#undef ROPEWALK_DECLARE_OWNED_STACK

/* ---- Interruption and fuel ---- */

/*
 * Calls in the store trap after this many milliseconds from now; UINT64_MAX for no limit. The
 * engine must be configured for interruption.
 */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_store_set_timeout_ms(
  wasm_store_t*, uint64_t milliseconds);

/* Interrupts calls in the store from another thread. It may outlive the store. */
typedef struct ropewalk_interrupt_handle_t ropewalk_interrupt_handle_t;
WASM_API_EXTERN own ropewalk_interrupt_handle_t* ropewalk_store_interrupt_handle(
  wasm_store_t*);
WASM_API_EXTERN void ropewalk_interrupt_handle_interrupt(
  const ropewalk_interrupt_handle_t*);
WASM_API_EXTERN void ropewalk_interrupt_handle_delete(own ropewalk_interrupt_handle_t*);

/* Sets the remaining fuel. The engine must be configured for fuel. */
WASM_API_EXTERN own ropewalk_error_t* ropewalk_store_set_fuel(wasm_store_t*, uint64_t);
WASM_API_EXTERN uint64_t ropewalk_store_get_fuel(wasm_store_t*);

/* ---- Limits ---- */

/* Limits of a store; UINT64_MAX for no limit. */
typedef struct ropewalk_limits_t {
  uint64_t memory_size;        /* bytes of each memory */
  uint64_t total_memory_size;  /* bytes of all memories */
  uint64_t table_elements;     /* elements of each table */
  uint64_t stacks;
  uint64_t stack_bytes;
  uint64_t heap_bytes;
  uint64_t host_values;        /* foreign objects and other values of externref */
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
