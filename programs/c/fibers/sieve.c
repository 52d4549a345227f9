// A sieve: a chain of fibers, one for each prime, each of which resumes the one
// before it.

#include <stdint.h>
#include <stdio.h>

#include "fiber.h"

enum { PRIMES = 1000 };

struct filter {
    fiber *source;
    intptr_t prime;
};

static void *numbers(void *argument) {
    (void)argument;
    for (intptr_t n = 2;; n++) fiber_yield((void *)n);
}

static void *filter(void *argument) {
    struct filter *self = argument;
    for (;;) {
        intptr_t n = (intptr_t)fiber_resume(self->source, NULL);
        if (n % self->prime != 0) fiber_yield((void *)n);
    }
}

int main(void) {
    static struct filter filters[PRIMES];
    fiber *source = fiber_new_sized(numbers, NULL, 4096);
    intptr_t sum = 0, prime = 0;
    for (int i = 0; i < PRIMES; i++) {
        prime = (intptr_t)fiber_resume(source, NULL);
        sum += prime;
        filters[i] = (struct filter){source, prime};
        source = fiber_new_sized(filter, &filters[i], 4096);
    }
    printf("prime %ld, sum %ld\n", (long)prime, (long)sum);
    return 0;
}
