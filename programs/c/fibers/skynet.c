// Skynet: a fiber creates ten fibers, each of them ten, and so on to a million leaves.
// Every fiber sends a number to its creator, which waits for ten numbers.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fiber.h"

enum { LEAVES = 1000000, CHILDREN = 10, STACK = 512 };

struct node {
    fiber *fiber;
    struct node *parent;
    uint32_t number, size;
    uint32_t missing; // the children that have not sent a number
    uint64_t sum;
};

// The fibers that can run, newest first.
static struct node *ready[4096];
static int ready_count;

static void *run(void *argument);

static void spawn(struct node *parent, uint32_t number, uint32_t size) {
    struct node *node = malloc(sizeof *node);
    *node = (struct node){NULL, parent, number, size, 0, 0};
    node->fiber = fiber_new_sized(run, node, STACK);
    ready[ready_count++] = node;
}

static void *run(void *argument) {
    struct node *self = argument;
    if (self->size == 1) {
        self->sum = self->number;
    } else {
        uint32_t part = self->size / CHILDREN;
        self->missing = CHILDREN;
        for (uint32_t i = 0; i < CHILDREN; i++) spawn(self, self->number + i * part, part);
        while (self->missing > 0) fiber_yield(NULL);
    }
    struct node *parent = self->parent;
    if (parent != NULL) {
        parent->sum += self->sum;
        if (--parent->missing == 0) ready[ready_count++] = parent;
    }
    return NULL;
}

int main(void) {
    uint64_t sum = 0;
    uint32_t fibers = 0;
    for (int round = 0; round < 3; round++) {
        spawn(NULL, 0, LEAVES);
        while (ready_count > 0) {
            struct node *node = ready[--ready_count];
            fiber_resume(node->fiber, NULL);
            if (!fiber_done(node->fiber)) continue;
            if (node->parent == NULL) sum = node->sum;
            fiber_free(node->fiber);
            free(node);
            fibers++;
        }
    }
    printf("sum %llu, fibers %u\n", (unsigned long long)sum, (unsigned)fibers);
    return 0;
}
