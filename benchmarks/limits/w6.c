/* w6: tanh(x @ w + b) of square matrices through a BLAS, and the gradients of its sum in w and b. */

#include "vectors.h"

typedef void Gemm(int order, int transpose_a, int transpose_b, long m, long n, long k, double alpha, const double *a,
                  long lda, const double *b, long ldb, double beta, double *c, long ldc);

enum { ROWS = 101, PLAIN = 111, TRANSPOSED = 112 }; /* CBLAS's names for a layout and two forms of a matrix */

void layer(double *out, const double *x, const double *w, const double *b, long n, Gemm *gemm)
{
    gemm(ROWS, PLAIN, PLAIN, n, n, n, 1, x, n, w, n, 0, out, n);
    for (double *row = out; row < out + n * n; row += n)
        for (long i = 0; i < n; i += W)
            store(row + i, DOUBLES(tanh)(load(row + i) + load(b + i)));
}

void layer_gradient(double *value, double *d_w, double *d_b, double *room, const double *x, const double *w,
                    const double *b, long n, Gemm *gemm)
{
    V sum = {0};
    gemm(ROWS, PLAIN, PLAIN, n, n, n, 1, x, n, w, n, 0, room, n);
    memset(d_b, 0, n * sizeof(double));
    for (double *row = room; row < room + n * n; row += n)
        for (long i = 0; i < n; i += W) {
            V t = DOUBLES(tanh)(load(row + i) + load(b + i)), d = 1 - t * t;
            sum += t;
            store(row + i, d);
            store(d_b + i, load(d_b + i) + d);
        }
    *value = total(sum);
    gemm(ROWS, TRANSPOSED, PLAIN, n, n, n, 1, x, n, room, n, 0, d_w, n);
}
