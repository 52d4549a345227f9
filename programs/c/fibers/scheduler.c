// A scheduler: a thousand threads in a ring, each of which switches directly to the
// next.

#include <stdint.h>
#include <stdio.h>

#include "fiber.h"

enum { THREADS = 1000, ROUNDS = 10000 };

static fiber *threads[THREADS];
static int alive = THREADS;
static uint64_t work;

static void *thread(void *argument) {
    int number = (int)(intptr_t)argument;
    int rounds = ROUNDS - number;
    for (int i = 0; i < rounds; i++) {
        work += (uint64_t)number ^ (uint64_t)i;
        int next = (number + 1) % alive;
        fiber_switch(threads[next], NULL);
    }
    // The last thread of the ring ends first, since it has the fewest rounds.
    alive = number;
    return argument;
}

int main(void) {
    for (int i = 0; i < THREADS; i++) {
        threads[i] = fiber_new_sized(thread, (void *)(intptr_t)i, 4096);
    }
    int last = 0;
    // When a thread returns, control returns here, and the ring continues at its start.
    while (alive > 0) last = (int)(intptr_t)fiber_resume(threads[0], NULL);
    printf("work %llu, last %d\n", (unsigned long long)work, last);
    for (int i = 0; i < THREADS; i++) fiber_free(threads[i]);
    return 0;
}
