// fiber.h implemented by Binaryen's asyncify, for comparison with stack switching.
//
// asyncify rewrites a program so that its calls can be unwound into a buffer and
// rewound from it later. A yield unwinds all calls of a fiber down to
// `fiber_resume`, and resuming rewinds them. The cost depends on the depth of the
// calls.

#include "fiber.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// The minimum size of the buffer. Larger variables have a buffer of their own size.
enum { BUFFER = 512 };

enum state { NEW, SUSPENDED, RUNNING, DONE };

struct fiber {
    // The record of asyncify: the address of the next word, and the end of the
    // buffer.
    uintptr_t position, end;
    enum state state;
    bool rewinding;
    fiber_body *body;
    void *argument;
    fiber *resumer;
    fiber *next; // the fiber to run in place of this one
    void *value; // the value of a switch
    uintptr_t pointer; // the stack pointer when it was suspended, initially the fiber
    char *memory;      // variables, then this record, then the buffer
};

#define IMPORT(name) __attribute__((import_module("asyncify"), import_name(#name)))

IMPORT(start_unwind) void start_unwind(fiber *buffer);
IMPORT(stop_unwind) void stop_unwind(void);
IMPORT(start_rewind) void start_rewind(fiber *buffer);
IMPORT(stop_rewind) void stop_rewind(void);

static fiber *current;

static _Noreturn void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    abort();
}

static inline uintptr_t stack_pointer(void) {
    uintptr_t pointer;
    __asm__ volatile("global.get __stack_pointer\n\tlocal.set %0" : "=r"(pointer));
    return pointer;
}

static inline void set_stack_pointer(uintptr_t pointer) {
    __asm__ volatile("local.get %0\n\tglobal.set __stack_pointer" : : "r"(pointer) : "memory");
}

fiber *fiber_new(fiber_body *body, void *argument) {
    return fiber_new_sized(body, argument, FIBER_STACK);
}

fiber *fiber_new_sized(fiber_body *body, void *argument, size_t size) {
    size = (size + 15) & ~(size_t)15;
    size_t buffer = size < BUFFER ? BUFFER : size;
    char *memory = aligned_alloc(16, size + sizeof(fiber) + buffer);
    if (memory == NULL) fail("out of memory for a fiber");
    fiber *self = (fiber *)(memory + size);
    *self = (fiber){.body = body, .argument = argument, .state = NEW, .memory = memory};
    self->position = (uintptr_t)(self + 1);
    self->end = self->position + buffer;
    self->pointer = (uintptr_t)self;
    return self;
}

// Runs or rewinds a fiber until it unwinds or returns.
__attribute__((noinline)) static void enter(fiber *target) {
    enum state state = target->state;
    if (state == RUNNING || state == DONE) fail("a fiber that is running or done cannot be resumed");
    target->state = RUNNING;
    current = target;
    if (state == SUSPENDED) {
        target->rewinding = true;
        start_rewind(target);
    }
    set_stack_pointer(target->pointer);
    void *result = target->body(target->argument);
    if (target->state == SUSPENDED) {
        stop_unwind();
    } else {
        target->value = result;
        target->state = DONE;
        target->next = NULL;
    }
}

void *fiber_resume(fiber *target, void *value) {
    uintptr_t pointer = stack_pointer();
    fiber *self = current;
    for (;;) {
        target->value = value;
        target->resumer = self;
        enter(target);
        set_stack_pointer(pointer);
        value = target->value;
        if (target->next == NULL) break;
        target = target->next;
    }
    current = self;
    return value;
}

// Unwinds the running fiber. It is called again when the fiber is rewound.
__attribute__((noinline)) static void *leave(fiber *next, void *value) {
    fiber *self = current;
    if (self == NULL) fail("called outside of fibers");
    if (self->rewinding) {
        stop_rewind();
        self->rewinding = false;
        return self->value;
    }
    self->pointer = stack_pointer();
    self->next = next;
    self->value = value;
    self->state = SUSPENDED;
    start_unwind(self);
    return NULL;
}

void *fiber_yield(void *value) {
    return leave(NULL, value);
}

void *fiber_switch(fiber *target, void *value) {
    return leave(target, value);
}

bool fiber_done(const fiber *target) {
    return target->state == DONE;
}

fiber *fiber_self(void) {
    return current;
}

void fiber_free(fiber *target) {
    if (target != NULL) free(target->memory);
}
