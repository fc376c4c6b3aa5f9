/* Loops over rows whose length is a multiple of a vector's, of doubles and of floats: what benchmarks/rows.py runs. */

#include "vectors.h"

#if defined __AVX512F__
#define MAXF _mm512_max_ps
#elif defined __AVX2__
#define MAXF _mm256_max_ps
#else
#define MAXF _mm_max_ps
#endif

typedef int VFI __attribute__((vector_size(BYTES)));

static inline VF largerf(VF a, VF b) { return (VF)MAXF(a, b); }

static inline float totalf(VF v)
{
    float sum = 0;
    for (long i = 0; i < WF; i++)
        sum += v[i];
    return sum;
}

/* As exp_down of vectors.h, for floats. */
static inline VF exp_downf(VF x)
{
    const float round = 0x1.8p23f;
    VF zero = {0}, shifted = largerf(zero - 87, x) * 0x1.715476p+0f + round, k = shifted - round;
    VF f = x - k * 0x1.62e4p-1f - k * 0x1.7f7d1cp-20f;
    VF p = 0.5f + f * (0.166665182f + f * (0.0416668504f + f * (0.00836889073f + f * 0.00138991943f)));
    VFI found = (VFI)((1 + f) + f * f * p) + ((VFI)shifted << 23), low = (VFI)(x < -87);
    return (VF)(found & ~low);
}

#define ROWS(T, V, W, SUFFIX, LOAD, STORE, LARGER, TOTAL, EXP, ROOT)                                                  \
    static T largest_##SUFFIX(const T *row, long n)                                                                   \
    {                                                                                                                 \
        V a = LOAD(row), b = a, c = a, d = a;                                                                         \
        long i = 0;                                                                                                   \
        for (; i + 4 * W <= n; i += 4 * W) {                                                                          \
            a = LARGER(a, LOAD(row + i)), b = LARGER(b, LOAD(row + i + W));                                           \
            c = LARGER(c, LOAD(row + i + 2 * W)), d = LARGER(d, LOAD(row + i + 3 * W));                               \
        }                                                                                                             \
        for (; i < n; i += W)                                                                                         \
            a = LARGER(a, LOAD(row + i));                                                                             \
        a = LARGER(LARGER(a, b), LARGER(c, d));                                                                       \
        T found = a[0];                                                                                               \
        for (long k = 1; k < W; k++)                                                                                  \
            found = a[k] > found ? a[k] : found;                                                                      \
        return found;                                                                                                 \
    }                                                                                                                 \
    static T sum_##SUFFIX(const T *row, long n)                                                                       \
    {                                                                                                                 \
        V a = {0}, b = a, c = a, d = a;                                                                               \
        long i = 0;                                                                                                   \
        for (; i + 4 * W <= n; i += 4 * W) {                                                                          \
            a += LOAD(row + i), b += LOAD(row + i + W), c += LOAD(row + i + 2 * W), d += LOAD(row + i + 3 * W);       \
        }                                                                                                             \
        for (; i < n; i += W)                                                                                         \
            a += LOAD(row + i);                                                                                       \
        return TOTAL((a + b) + (c + d));                                                                              \
    }                                                                                                                 \
    void max_##SUFFIX(T *out, const T *x, long rows, long n)                                                          \
    {                                                                                                                 \
        for (long r = 0; r < rows; r++)                                                                               \
            out[r] = largest_##SUFFIX(x + r * n, n);                                                                  \
    }                                                                                                                 \
    void total_##SUFFIX(T *out, const T *x, long rows, long n)                                                        \
    {                                                                                                                 \
        for (long r = 0; r < rows; r++)                                                                               \
            out[r] = sum_##SUFFIX(x + r * n, n);                                                                      \
    }                                                                                                                 \
    void softmax_##SUFFIX(T *out, const T *x, long rows, long n)                                                      \
    {                                                                                                                 \
        for (const T *row = x; row < x + rows * n; row += n, out += n) {                                              \
            T m = largest_##SUFFIX(row, n);                                                                           \
            V sum = {0};                                                                                              \
            for (long i = 0; i < n; i += W) {                                                                         \
                __builtin_prefetch(row + n + i);                                                                      \
                V e = EXP(LOAD(row + i) - m);                                                                         \
                STORE(out + i, e);                                                                                    \
                sum += e;                                                                                             \
            }                                                                                                         \
            T scale = 1 / TOTAL(sum);                                                                                 \
            for (long i = 0; i < n; i += W)                                                                           \
                STORE(out + i, LOAD(out + i) * scale);                                                                \
        }                                                                                                             \
    }                                                                                                                 \
    static T logsumexp_of_##SUFFIX(const T *row, long n)                                                              \
    {                                                                                                                 \
        T m = largest_##SUFFIX(row, n);                                                                               \
        V sum = {0};                                                                                                  \
        for (long i = 0; i < n; i += W) {                                                                             \
            __builtin_prefetch(row + n + i);                                                                          \
            sum += EXP(LOAD(row + i) - m);                                                                            \
        }                                                                                                             \
        return m + (T)log(TOTAL(sum));                                                                                \
    }                                                                                                                 \
    void logsumexp_##SUFFIX(T *out, const T *x, long rows, long n)                                                    \
    {                                                                                                                 \
        for (long r = 0; r < rows; r++)                                                                               \
            out[r] = logsumexp_of_##SUFFIX(x + r * n, n);                                                             \
    }                                                                                                                 \
    void log_softmax_##SUFFIX(T *out, const T *x, long rows, long n)                                                  \
    {                                                                                                                 \
        for (const T *row = x; row < x + rows * n; row += n, out += n) {                                              \
            T y = logsumexp_of_##SUFFIX(row, n);                                                                      \
            for (long i = 0; i < n; i += W)                                                                           \
                STORE(out + i, LOAD(row + i) - y);                                                                    \
        }                                                                                                             \
    }                                                                                                                 \
    void layer_norm_##SUFFIX(T *out, const T *x, long rows, long n)                                                   \
    {                                                                                                                 \
        for (const T *row = x; row < x + rows * n; row += n, out += n) {                                              \
            T mean = sum_##SUFFIX(row, n) / n;                                                                        \
            V a = {0}, b = a;                                                                                         \
            long i = 0;                                                                                               \
            for (; i + 2 * W <= n; i += 2 * W) {                                                                      \
                V d = LOAD(row + i) - mean, e = LOAD(row + i + W) - mean;                                             \
                __builtin_prefetch(row + n + i);                                                                      \
                a += d * d, b += e * e;                                                                               \
            }                                                                                                         \
            for (; i < n; i += W) {                                                                                   \
                V d = LOAD(row + i) - mean;                                                                           \
                a += d * d;                                                                                           \
            }                                                                                                         \
            T scale = 1 / ROOT(TOTAL(a + b) / n + (T)1e-5);                                                           \
            for (i = 0; i < n; i += W)                                                                                \
                STORE(out + i, (LOAD(row + i) - mean) * scale);                                                       \
        }                                                                                                             \
    }

ROWS(double, V, W, double, load, store, larger, total, exp_down, __builtin_sqrt)
ROWS(float, VF, WF, float, loadf, storef, largerf, totalf, exp_downf, __builtin_sqrtf)
