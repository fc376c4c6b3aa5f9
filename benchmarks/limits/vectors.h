/* Explicit vectors of the width the machine has, calling libmvec: what the loops beside this file are written with. */

#pragma once

#include <immintrin.h>
#include <string.h>

#if defined __AVX512F__
#define BYTES 64
#define DOUBLES(name) _ZGVeN8v_##name
#define FLOATS(name) _ZGVeN16v_##name
#define MAX _mm512_max_pd
#elif defined __AVX2__
#define BYTES 32
#define DOUBLES(name) _ZGVdN4v_##name
#define FLOATS(name) _ZGVdN8v_##name
#define MAX _mm256_max_pd
#else
#define BYTES 16
#define DOUBLES(name) _ZGVbN2v_##name
#define FLOATS(name) _ZGVbN4v_##name
#define MAX _mm_max_pd
#endif

#define W (BYTES / (long)sizeof(double)) /* lanes of a vector of doubles */
#define WF (BYTES / (long)sizeof(float))

typedef double V __attribute__((vector_size(BYTES)));
typedef long long VI __attribute__((vector_size(BYTES)));
typedef float VF __attribute__((vector_size(BYTES)));

V DOUBLES(log1p)(V), DOUBLES(sin)(V), DOUBLES(tanh)(V);
VF FLOATS(expf)(VF), FLOATS(log1pf)(VF), FLOATS(sinf)(VF);
double exp(double), log(double);

static inline V load(const double *from) { V v; memcpy(&v, from, sizeof v); return v; }
static inline void store(double *to, V v) { memcpy(to, &v, sizeof v); }
static inline VF loadf(const float *from) { VF v; memcpy(&v, from, sizeof v); return v; }
static inline void storef(float *to, VF v) { memcpy(to, &v, sizeof v); }

/* The last lanes of an array, the others zero. */
static inline V load_some(const double *from, long n) { V v = {0}; memcpy(&v, from, n * sizeof(double)); return v; }

static inline V select_lanes(VI mask, V yes, V no) { return (V)(((VI)yes & mask) | ((VI)no & ~mask)); }
static inline V larger(V a, V b) { return (V)MAX(a, b); } /* of a number and a NaN, b */
static inline V magnitude(V v) { return (V)((VI)v & 0x7fffffffffffffffLL); }

static inline double total(V v)
{
    double sum = 0;
    for (long i = 0; i < W; i++)
        sum += v[i];
    return sum;
}

/* exp of what is not positive, 0 where that has no normal number: 2**k * exp(f), f within log(2) / 2, by its series. */
static inline V exp_down(V x)
{
    const double round = 0x1.8p52; /* a number added to this has its integer in the last bits */
    V zero = {0}, shifted = larger(zero - 708, x) * 0x1.71547652b82fep+0 + round, k = shifted - round;
    V f = x - k * 0x1.62e42fee00000p-1 - k * 0x1.a39ef35793c76p-33;
    V f2 = f * f, f4 = f2 * f2;
    V low = (1 + f) + f2 * (1 / 2.0 + f * (1 / 6.0)) +
            f4 * ((1 / 24.0 + f * (1 / 120.0)) + f2 * (1 / 720.0 + f * (1 / 5040.0)));
    V high = (1 / 40320.0 + f * (1 / 362880.0)) + f2 * (1 / 3628800.0 + f * (1 / 39916800.0)) +
             f4 * (1 / 479001600.0 + f * (1 / 6227020800.0));
    V found = (V)((VI)(low + f4 * f4 * high) + ((VI)shifted << 52));
    return select_lanes((VI)(x < -708), zero, found);
}
