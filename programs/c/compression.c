// zlib: compresses and expands text and noise at several levels, in chunks, and
// prints sizes and checksums.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "zlib.h"

enum { SIZE = 6 << 20, PIECE = 10007 };

static unsigned char input[SIZE], packed[SIZE + SIZE / 8], output[SIZE];

static uint32_t next_random(void) {
    static uint32_t state = 88172645u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static void fill_with_words(void) {
    static const char *words[] = {"rope", "walk", "strand", "laid", "into", "a", "long", "lane",
                                  "the", "of", "hemp", "and", "tar", "turn", "twist", "yarn"};
    size_t at = 0;
    while (at + 16 < SIZE) {
        const char *word = words[next_random() % 16];
        at += (size_t)sprintf((char *)input + at, "%s%s", word, next_random() % 9 ? " " : ".\n");
    }
    memset(input + at, ' ', SIZE - at);
}

static void fill_with_noise(void) {
    for (size_t i = 0; i < SIZE; i++) input[i] = (unsigned char)(next_random() >> (i % 3 ? 28 : 24));
}

static void check(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

static size_t pack(int level, int strategy) {
    z_stream stream = {0};
    check(deflateInit2(&stream, level, Z_DEFLATED, 15, 8, strategy) == Z_OK, "deflateInit2");
    stream.next_out = packed;
    stream.avail_out = sizeof packed;
    for (size_t at = 0; at < SIZE; at += PIECE) {
        stream.next_in = input + at;
        stream.avail_in = SIZE - at < PIECE ? (uInt)(SIZE - at) : PIECE;
        int last = at + PIECE >= SIZE;
        int result = deflate(&stream, last ? Z_FINISH : Z_NO_FLUSH);
        check(result == (last ? Z_STREAM_END : Z_OK), "deflate");
    }
    size_t size = stream.total_out;
    deflateEnd(&stream);
    return size;
}

static void unpack(size_t size) {
    z_stream stream = {0};
    check(inflateInit(&stream) == Z_OK, "inflateInit");
    stream.next_in = packed;
    stream.avail_in = (uInt)size;
    stream.next_out = output;
    stream.avail_out = SIZE;
    check(inflate(&stream, Z_FINISH) == Z_STREAM_END, "inflate");
    check(stream.total_out == SIZE && memcmp(input, output, SIZE) == 0, "comparison");
    inflateEnd(&stream);
}

int main(void) {
    for (int noise = 0; noise < 2; noise++) {
        if (noise) fill_with_noise(); else fill_with_words();
        for (int level = 1; level <= 9; level += 4) {
            size_t size = pack(level, Z_DEFAULT_STRATEGY);
            unpack(size);
            printf("%s, level %d: %zu bytes, adler %08lx, crc %08lx\n", noise ? "noise" : "words",
                   level, size, adler32(1, packed, (uInt)size), crc32(0, packed, (uInt)size));
        }
    }
    return 0;
}
