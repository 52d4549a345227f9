// Ten thousand connections: each waits for requests that arrive in pieces, computes,
// and waits until its response can be sent. An event loop schedules them.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fiber.h"

enum { CONNECTIONS = 10000, REQUESTS = 100, PIECE = 16 };

struct connection {
    fiber *fiber;
    uint32_t number;
    char piece[PIECE]; // the received part of a request
    uint32_t answered;
};

static uint32_t sent;

// Waits for an event of the connection.
static void wait(void) {
    fiber_yield(NULL);
}

static void receive(struct connection *self, char *buffer) {
    for (int i = 0; i < 2; i++) {
        wait();
        memcpy(buffer + i * PIECE, self->piece, PIECE);
    }
}

static void answer(struct connection *self, const char *buffer) {
    uint32_t hash = 2166136261u;
    for (int i = 0; i < 2 * PIECE; i++) hash = (hash ^ (uint8_t)buffer[i]) * 16777619u;
    wait();
    sent ^= hash;
    self->answered++;
}

static void *serve(void *argument) {
    struct connection *self = argument;
    char buffer[2 * PIECE];
    for (int i = 0; i < REQUESTS; i++) {
        receive(self, buffer);
        answer(self, buffer);
    }
    return NULL;
}

int main(void) {
    struct connection *connections = calloc(CONNECTIONS, sizeof *connections);
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        connections[i].number = i;
        connections[i].fiber = fiber_new_sized(serve, &connections[i], 4096);
        fiber_resume(connections[i].fiber, NULL);
    }
    uint32_t alive = CONNECTIONS, events = 0;
    for (uint32_t i = 0; alive > 0; i = (i + 7919) % CONNECTIONS) {
        struct connection *connection = &connections[i];
        if (fiber_done(connection->fiber)) continue;
        memset(connection->piece, 'a' + (int)(events % 26), PIECE);
        events++;
        fiber_resume(connection->fiber, NULL);
        if (fiber_done(connection->fiber)) alive--;
    }
    uint32_t answered = 0;
    for (uint32_t i = 0; i < CONNECTIONS; i++) {
        answered += connections[i].answered;
        fiber_free(connections[i].fiber);
    }
    printf("events %u, answered %u, sent %08x\n", (unsigned)events, (unsigned)answered, (unsigned)sent);
    return 0;
}
