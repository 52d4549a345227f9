// A program with debug information. average.wasm was built from it in this folder, with Debian's
// clang and lld:
//
//   clang --target=wasm32 -O1 -g -ffile-prefix-map=$PWD=. -nostdlib -Wl,--no-entry \
//     -o average.wasm average.c

static inline __attribute__((always_inline)) int quotient(int a, int b) {
  return a / b;
}

__attribute__((noinline)) int average(int sum, int count) {
  int rest = sum % 7;
  return quotient(sum, count) + rest;
}

__attribute__((export_name("run"))) int run(int count) {
  return average(100, count) + 1;
}
