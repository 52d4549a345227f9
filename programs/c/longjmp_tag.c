// The tag of the exception that `longjmp` throws. clang's code and the C library
// refer to it; Zig's C library for WASI does not define it.
__asm__(".globl __c_longjmp\n"
        ".tagtype __c_longjmp i32\n"
        "__c_longjmp:\n");
