// Fibers for C programs: functions that stop in the middle and go on later.
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
// Each fiber has a stack of the engine, made by WebAssembly's stack switching, and
// a piece of linear memory for the variables whose addresses C takes. Compile with
// fiber.c, and give the engine fiber.wat:
//
//     ropewalk run --preload fiber=fiber.wat program.wasm
//
// A program that breaks a rule written here is told so, and aborts; but nothing
// notices an exception or a longjmp that leaves the body of a fiber, which may not be.

#ifndef ROPEWALK_FIBER_H
#define ROPEWALK_FIBER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fiber fiber;

// The function that a fiber runs. What it returns is the value of the last
// `fiber_resume`.
typedef void *fiber_body(void *argument);

// How much linear memory a fiber gets for its variables if nothing else is said.
// Printing a floating-point number takes about 8 KiB.
enum { FIBER_STACK = 64 << 10 };

// Makes a fiber that will call `body(argument)`. It does not run yet.
fiber *fiber_new(fiber_body *body, void *argument);

// The same with `size` bytes of linear memory for its variables.
fiber *fiber_new_sized(fiber_body *body, void *argument, size_t size);

// Runs a fiber until it yields or returns, and gives what it yielded or returned.
// The `fiber_yield` at which it waits gets `value`; the first time there is none,
// and the value is not used. The fiber must be neither running nor done.
void *fiber_resume(fiber *target, void *value);

// Stops the running fiber. Its resumer gets `value`. Gives the value of the next
// `fiber_resume`. Outside of any fiber it may not be called.
void *fiber_yield(void *value);

// Stops the running fiber and runs another in its place, which then has the same
// resumer. The target gets `value` as by `fiber_resume`. Gives the value by which
// this fiber is continued. Outside of any fiber it may not be called.
void *fiber_switch(fiber *target, void *value);

// Whether the body has returned.
bool fiber_done(const fiber *target);

// The fiber that runs, or NULL outside of any.
fiber *fiber_self(void);

// Frees a fiber. One that has not returned never goes on; it must not be running.
void fiber_free(fiber *target);

#ifdef __cplusplus
}
#endif

#endif
