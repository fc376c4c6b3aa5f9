/* Logistic regression with a normal prior: log-density and gradient; the two products by a BLAS. */

#include "vectors.h"

typedef void Gemv(int order, int transpose, long m, long n, double alpha, const double *a, long lda, const double *x,
                  long incx, double beta, double *y, long incy);

enum { ROWS = 101, PLAIN = 111, TRANSPOSED = 112 }; /* CBLAS's names for a layout and two forms of a matrix */

/* The density's terms at some etas, which become its derivatives there. */
static inline V terms(V *eta, V y)
{
    V e = exp_down(-magnitude(*eta)), zero = {0};
    V density = y * *eta - larger(*eta, zero) - DOUBLES(log1p)(e);
    V probability = select_lanes((VI)(*eta >= 0), zero + 1, e) / (1 + e);
    *eta = y - probability;
    return density;
}

void logistic(double *value, double *d, double *room, const double *beta, const double *x, const double *y, long rows,
              long columns, Gemv *gemv)
{
    V sum = {0};
    double prior = 0;
    gemv(ROWS, PLAIN, rows, columns, 1, x, columns, beta, 1, 0, room, 1);
    for (long i = 0; i < rows; i += W) { /* the rows are a multiple of a vector's lanes */
        V eta = load(room + i);
        sum += terms(&eta, load(y + i));
        store(room + i, eta);
    }
    for (long k = 0; k < columns; k++) {
        prior += beta[k] * beta[k];
        d[k] = -beta[k];
    }
    gemv(ROWS, TRANSPOSED, rows, columns, 1, x, columns, room, 1, 1, d, 1);
    *value = total(sum) - 0.5 * prior;
}
