/* Uniform numbers by Threefry-2x32-20 of the counters 0, 1, ..., all below 2^32.

A vector of words has those of W counters in its even places, and in the odd ones those of the W counters behind them. */

#include "vectors.h"

#define ABREAST 4
#define EACH _Pragma("GCC unroll 4") for (int a = 0; a < ABREAST; a++)

typedef unsigned VW __attribute__((vector_size(BYTES)));
typedef unsigned long long VU __attribute__((vector_size(BYTES)));

static inline V in_unit(VU bits) { return (V)((bits >> 12) | 0x3ff0000000000000ULL) - 1; }

void uniform(double *out, const unsigned *key, long n)
{
    const unsigned keys[] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bda};
    static const int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    VW places;
    for (int k = 0; k < 2 * W; k++)
        places[k] = k / 2 + W * (k % 2);
    for (long i = 0; i < n; i += 2 * W * ABREAST) {
        VW x[ABREAST], y[ABREAST];
        EACH {
            x[a] = (VW){0} + keys[0];
            y[a] = places + (unsigned)(i + 2 * W * a) + keys[1];
        }
#pragma GCC unroll 5
        for (int k = 0; k < 5; k++) {
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) {
                const int turn = turns[k % 2][j];
                EACH x[a] += y[a];
                EACH y[a] = ((y[a] << turn) | (y[a] >> (32 - turn))) ^ x[a];
            }
            EACH {
                x[a] += keys[(k + 1) % 3];
                y[a] += keys[(k + 2) % 3] + k + 1;
            }
        }
        double last[2 * W * ABREAST], *const to = i + 2 * W * ABREAST <= n ? out + i : last;
        EACH {
            VU high = (VU)x[a], low = (VU)y[a];
            store(to + 2 * W * a, in_unit((high << 32) | (low & 0xffffffff)));
            store(to + 2 * W * a + W, in_unit((high & ~0xffffffffULL) | (low >> 32)));
        }
        if (to == last)
            memcpy(out + i, last, (n - i) * sizeof *out);
    }
}
