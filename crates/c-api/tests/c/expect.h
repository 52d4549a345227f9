/* Functions of all tests, which print and count failures. */

#ifndef TESTS_EXPECT_H
#define TESTS_EXPECT_H

#include "../../examples/common.h"

static int failures;

static inline void expect(const char* what, bool holds) {
  if (holds) return;
  printf("%s\n", what);
  failures++;
}

/* Expects an error with this text. */
static inline void expect_this_error(own ropewalk_error_t* error, const char* part) {
  wasm_message_t message;
  ropewalk_error_message(error, &message);
  if (!error || !strstr(message.data, part)) {
    printf("expected an error with \"%s\", found \"%s\"\n", part, error ? message.data : "");
    failures++;
  }
  wasm_byte_vec_delete(&message);
  ropewalk_error_delete(error);
}

/* Expects a last error with this text. */
static inline void expect_error(const char* part) {
  expect_this_error(ropewalk_last_error(), part);
}

static inline void expect_trap(own wasm_trap_t* trap, const char* part) {
  wasm_message_t message = WASM_EMPTY_VEC;
  if (trap) wasm_trap_message(trap, &message);
  if (!trap || !strstr(message.data, part)) {
    printf("expected a trap with \"%s\", found \"%s\"\n", part, trap ? message.data : "");
    failures++;
  }
  wasm_byte_vec_delete(&message);
  wasm_trap_delete(trap);
}

/* Expects a trap with this code and text. */
static inline void expect_code(own wasm_trap_t* trap, uint8_t code, const char* part) {
  uint8_t found = 0;
  if (!ropewalk_trap_code(trap, &found) || found != code) {
    printf("expected the trap %d, found %d\n", code, found);
    failures++;
  }
  expect_trap(trap, part);
}

#endif
