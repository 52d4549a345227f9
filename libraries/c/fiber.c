// The part of the fiber library that manages memory and the states of fibers. The
// other part, fiber.wat, switches stacks.
//
// A fiber is a block of linear memory with its record at the upper end, next to the
// variables of its outermost functions:
//
//     | ..... variables whose addresses are taken ..... | record |
//     ^ limit                          they grow down   ^ the fiber
//
// clang keeps the lower end of those variables in the global `__stack_pointer`. A
// function that switches saves it in a local, and restores it when control returns.

#include "fiber.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum state { NEW, SUSPENDED, RUNNING, DONE };

struct fiber {
    char *limit;
    enum state state;
    uint32_t slot; // its slot in fiber.wat
    fiber_body *body;
    void *argument;
    fiber *resumer; // NULL for code outside of fibers
};

#define IMPORT(name) __attribute__((import_module("fiber"), import_name(#name)))

IMPORT(grow) uint32_t fiber_import_grow(uint32_t slots);
IMPORT(create) void fiber_import_create(uint32_t slot);
IMPORT(drop) void fiber_import_drop(uint32_t slot);
IMPORT(resume) void *fiber_import_resume(uint32_t slot, void *value);
IMPORT(yield) void *fiber_import_yield(uint32_t slot, void *value);
IMPORT(switch) void *fiber_import_switch(uint32_t slot, uint32_t target, void *value);

static fiber *current;

// A stack of the free slots, with room for all slots.
static uint32_t *free_slots, free_count, slot_count;

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

// Checks for overflow at each switch, since no guard page detects it. A fiber that
// overflows has already overwritten the memory below.
static inline void check_overflow(const fiber *self, uintptr_t pointer) {
    if (pointer < (uintptr_t)self->limit) fail("a fiber has overflowed its memory");
}

// The start of a new stack, which fiber.wat calls with the fiber. It has no variables
// in memory until it sets the stack pointer.
void *fiber_start(fiber *self);
__asm__(".globaltype __stack_pointer, i32\n"
        ".functype fiber_run (i32) -> (i32)\n"
        ".globl fiber_start\n"
        ".type fiber_start,@function\n"
        "fiber_start:\n"
        "  .functype fiber_start (i32) -> (i32)\n"
        "  local.get 0\n"
        "  global.set __stack_pointer\n"
        "  local.get 0\n"
        "  call fiber_run\n"
        "  end_function\n");

// Passes a function to fiber.wat by its address.
void fiber_import_begin_with(void *(*start)(fiber *));
__asm__(".tabletype __indirect_function_table, funcref\n"
        ".functype fiber_import_start (funcref) -> ()\n"
        ".import_module fiber_import_start, fiber\n"
        ".import_name fiber_import_start, start\n"
        ".globl fiber_import_begin_with\n"
        ".type fiber_import_begin_with,@function\n"
        "fiber_import_begin_with:\n"
        "  .functype fiber_import_begin_with (i32) -> ()\n"
        "  local.get 0\n"
        "  table.get __indirect_function_table\n"
        "  call fiber_import_start\n"
        "  end_function\n");

__attribute__((used)) void *fiber_run(fiber *self) {
    void *result = self->body(self->argument);
    self->state = DONE;
    current = self->resumer;
    return result;
}

static uint32_t take_slot(void) {
    if (free_count == 0) {
        uint32_t more = slot_count == 0 ? 64 : slot_count;
        uint32_t *slots = realloc(free_slots, (slot_count + more) * sizeof *slots);
        uint32_t first = slots == NULL ? UINT32_MAX : fiber_import_grow(more);
        if (first == UINT32_MAX) fail("out of memory for more fibers");
        if (slot_count == 0) fiber_import_begin_with(fiber_start);
        free_slots = slots;
        slot_count += more;
        for (uint32_t i = 0; i < more; i++) free_slots[free_count++] = first + more - 1 - i;
    }
    return free_slots[--free_count];
}

fiber *fiber_new(fiber_body *body, void *argument) {
    return fiber_new_sized(body, argument, FIBER_STACK);
}

fiber *fiber_new_sized(fiber_body *body, void *argument, size_t size) {
    // The fiber's address is its initial stack pointer, which must be aligned.
    size = (size + 15) & ~(size_t)15;
    char *limit = aligned_alloc(16, size + sizeof(fiber));
    if (limit == NULL) fail("out of memory for a fiber");
    fiber *self = (fiber *)(limit + size);
    self->limit = limit;
    self->state = NEW;
    self->slot = take_slot();
    self->body = body;
    self->argument = argument;
    self->resumer = NULL;
    fiber_import_create(self->slot);
    return self;
}

// Marks a fiber as running; returns the value to resume it with.
static inline void *begin(fiber *target, void *value) {
    enum state state = target->state;
    target->state = RUNNING;
    current = target;
    if (state == SUSPENDED) return value;
    if (state == NEW) return target;
    fail(state == DONE ? "a fiber that is done cannot be resumed" : "a running fiber cannot be resumed");
}

void *fiber_resume(fiber *target, void *value) {
    uintptr_t pointer = stack_pointer();
    fiber *self = current;
    if (self != NULL) check_overflow(self, pointer);
    value = begin(target, value);
    target->resumer = self;
    value = fiber_import_resume(target->slot, value);
    set_stack_pointer(pointer);
    return value;
}

void *fiber_yield(void *value) {
    uintptr_t pointer = stack_pointer();
    fiber *self = current;
    if (self == NULL) fail("fiber_yield called outside of fibers");
    check_overflow(self, pointer);
    self->state = SUSPENDED;
    current = self->resumer;
    value = fiber_import_yield(self->slot, value);
    set_stack_pointer(pointer);
    return value;
}

void *fiber_switch(fiber *target, void *value) {
    uintptr_t pointer = stack_pointer();
    fiber *self = current;
    if (self == NULL) fail("fiber_switch called outside of fibers");
    if (self == target) return value;
    check_overflow(self, pointer);
    value = begin(target, value);
    self->state = SUSPENDED;
    target->resumer = self->resumer;
    value = fiber_import_switch(self->slot, target->slot, value);
    set_stack_pointer(pointer);
    return value;
}

bool fiber_done(const fiber *target) {
    return target->state == DONE;
}

fiber *fiber_self(void) {
    return current;
}

void fiber_free(fiber *target) {
    if (target == NULL) return;
    if (target->state == RUNNING) fail("a running fiber cannot be freed");
    if (target->state != DONE) fiber_import_drop(target->slot);
    free_slots[free_count++] = target->slot;
    free(target->limit);
}
