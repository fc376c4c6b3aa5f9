/* The loops beside this file on two threads of OpenMP, each with half of the elements or rows. */

#include "rows.c"
#include "w1.c"
#include "w2.c"
#include "w5.c"
#include "w7.c"

#define HALVES _Pragma("omp parallel for num_threads(2)") for (long t = 0; t < 2; t++)
#define FROM(n) (t * ((n) / 2))
#define SOME(n) (t ? (n) - (n) / 2 : (n) / 2)

void squares_two(double *out, const double *x, long n)
{
    double part[2];
    HALVES
        squares(part + t, x + FROM(n), SOME(n));
    *out = part[0] + part[1];
}

void transcendental_two(double *out, const double *x, long n)
{
    HALVES
        transcendental(out + FROM(n), x + FROM(n), SOME(n));
}

void transcendental_float_two(float *out, const float *x, long n)
{
    HALVES
        transcendental_float(out + FROM(n), x + FROM(n), SOME(n));
}

void softmax_two(double *out, const double *x, long rows, long n)
{
    HALVES
        softmax(out + FROM(rows) * n, x + FROM(rows) * n, SOME(rows), n);
}

void logsumexp_two(double *out, const double *x, long rows, long n)
{
    HALVES
        logsumexp(out + FROM(rows), x + FROM(rows) * n, SOME(rows), n);
}

void normal_two(double *value, double *d_mu, double *d_log_sigma, const double *mu, const double *log_sigma,
                const double *x, long n)
{
    double v[2], m[2], s[2];
    HALVES
        normal(v + t, m + t, s + t, mu, log_sigma, x + FROM(n), SOME(n));
    *value = v[0] + v[1];
    *d_mu = m[0] + m[1];
    *d_log_sigma = s[0] + s[1];
}

void grouped_two(double *value, const double *mu, const double *a, const long *idx, const double *x, const double *y,
                 long n)
{
    double part[2];
    HALVES
        grouped(part + t, mu, a, idx + FROM(n), x + FROM(n), y + FROM(n), SOME(n));
    *value = part[0] + part[1];
}
