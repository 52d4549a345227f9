// The same program in Zig. average-zig.wasm was built from it in a folder /src, with Zig 0.17:
//
//   zig build-exe -target wasm32-freestanding -O ReleaseFast -fno-strip -fno-entry -rdynamic \
//     --cache-dir /src/cache -femit-bin=average-zig.wasm average.zig

inline fn quotient(a: i32, b: i32) i32 {
    if (b == 0) {
        @trap();
    }
    return @divTrunc(a, b);
}

noinline fn average(sum: i32, count: i32) i32 {
    const rest = @rem(sum, 7);
    return quotient(sum, count) + rest;
}

export fn run(count: i32) i32 {
    return average(100, count) + 1;
}
