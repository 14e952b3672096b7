#include "base/md5.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 64, TAIL = 8 }; /* bytes: of a block; of the length at the end of the last one */

static uint32_t rotated(uint32_t x, int by)
{
    return x << by | x >> (32 - by);
}

static void add_block(uint32_t state[4], const unsigned char *block)
{
    static const int shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    uint32_t word[16], a = state[0], b = state[1], c = state[2], d = state[3];
    for (int i = 0; i < 16; i++)
        word[i] = block[4 * i] | (uint32_t)block[4 * i + 1] << 8 | (uint32_t)block[4 * i + 2] << 16 |
                  (uint32_t)block[4 * i + 3] << 24;
    for (int i = 0; i < 64; i++) {
        const uint32_t mix[4] = {(b & c) | (~b & d), (d & b) | (~d & c), b ^ c ^ d, c ^ (b | ~d)};
        const int at[4] = {i, 5 * i + 1, 3 * i + 5, 7 * i};
        int round = i / 16;
        uint32_t constant = (uint32_t)(fabs(sin(i + 1)) * 4294967296.0);
        uint32_t sum = a + mix[round] + constant + word[at[round] % 16];
        a = d;
        d = c;
        c = b;
        b += rotated(sum, shifts[round][i % 4]);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void md5_hex(const char *text, size_t n, char out[33])
{
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    unsigned char last[2 * BLOCK] = {0};
    size_t whole = n / BLOCK * BLOCK, rest = n - whole;
    for (size_t i = 0; i < whole; i += BLOCK)
        add_block(state, (const unsigned char *)text + i);
    if (rest)
        memcpy(last, text + whole, rest);
    last[rest] = 0x80;
    size_t end = rest + 1 + TAIL <= BLOCK ? BLOCK : 2 * BLOCK;
    for (int i = 0; i < TAIL; i++)
        last[end - TAIL + (size_t)i] = (unsigned char)((uint64_t)n * 8 >> 8 * i);
    for (size_t i = 0; i < end; i += BLOCK)
        add_block(state, last + i);
    for (int i = 0; i < 16; i++)
        sprintf(out + 2 * i, "%02x", (unsigned)(state[i / 4] >> 8 * (i % 4) & 0xff));
}
