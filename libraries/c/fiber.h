// Fibers for C programs: functions that can be suspended and resumed.
//
//     void *count(void *argument) {
//         for (intptr_t i = 0; i < 10; i++) fiber_yield((void *)i);
//         return NULL;
//     }
//
//     fiber *counter = fiber_new(count, NULL);
//     for (void *i = fiber_resume(counter, NULL); !fiber_done(counter);
//          i = fiber_resume(counter, NULL)) { ... }
//     fiber_free(counter);
//
// Each fiber has a stack of WebAssembly's stack switching, and a block of linear
// memory for the variables whose addresses C takes. Compile with fiber.c, and
// preload fiber.wat:
//
//     ropewalk run --preload fiber=fiber.wat program.wasm
//
// A program that violates a rule below aborts with a message. Exceptions and longjmp
// must not leave the body of a fiber, which is not checked.

#ifndef ROPEWALK_FIBER_H
#define ROPEWALK_FIBER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fiber fiber;

// The function that a fiber runs. Its result is the result of the last
// `fiber_resume`.
typedef void *fiber_body(void *argument);

// The default size of a fiber's linear memory for variables. Printing a
// floating-point number takes about 8 KiB.
enum { FIBER_STACK = 64 << 10 };

// Creates a fiber that will call `body(argument)` when it is first resumed.
fiber *fiber_new(fiber_body *body, void *argument);

// Like fiber_new, with `size` bytes of linear memory for variables.
fiber *fiber_new_sized(fiber_body *body, void *argument, size_t size);

// Runs a fiber until it yields or returns; returns the yielded value or the result.
// `value` becomes the result of the `fiber_yield` that suspended the fiber, and is
// not used the first time. The fiber must be neither running nor done.
void *fiber_resume(fiber *target, void *value);

// Suspends the running fiber. Its resumer gets `value`. Returns the value of the next
// `fiber_resume`. Must be called in a fiber.
void *fiber_yield(void *value);

// Suspends the running fiber and runs another in its place, which gets the same
// resumer. The target gets `value` as in `fiber_resume`. Returns the value with which
// this fiber is resumed. Must be called in a fiber.
void *fiber_switch(fiber *target, void *value);

// Whether the body has returned.
bool fiber_done(const fiber *target);

// The running fiber, or NULL outside of fibers.
fiber *fiber_self(void);

// Frees a fiber, which need not have returned. It must not be running.
void fiber_free(fiber *target);

#ifdef __cplusplus
}
#endif

#endif
