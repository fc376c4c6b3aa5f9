/* Varying intercepts and slopes of counties: log-density and its gradient in one vector of parameters.
   A house knows its county; equal ones stand together, and a county's sums stay in registers until it ends. */

#include "vectors.h"

enum { M_A, M_B, LOG_A, LOG_B, LOG_S, Z };

void radon(double *value, double *d, const double *theta, const long *county, const double *floor_, const double *y,
           long houses, long counties)
{
    const double *z_a = theta + Z, *z_b = z_a + counties;
    double *d_a = d + Z, *d_b = d_a + counties;
    double s_a = exp(theta[LOG_A]), s_b = exp(theta[LOG_B]), s = exp(theta[LOG_S]), scale = 1 / s;
    double squares = 0, m_a = 0, m_b = 0, in_a = 0, in_b = 0, small = 0;
    for (long c = 0; c < 2 * counties; c++) {
        small += z_a[c] * z_a[c];
        d_a[c] = -z_a[c];
    }
    for (long i = 0; i < houses;) {
        long c = county[i];
        double a = theta[M_A] + s_a * z_a[c], b = theta[M_B] + s_b * z_b[c], by_a = 0, by_b = 0;
        for (; i < houses && county[i] == c; i++) {
            double z = (y[i] - (a + b * floor_[i])) * scale;
            squares += z * z;
            by_a += z;
            by_b += z * floor_[i];
        }
        by_a *= scale, by_b *= scale;
        m_a += by_a, m_b += by_b;
        in_a += by_a * z_a[c], in_b += by_b * z_b[c];
        d_a[c] += by_a * s_a;
        d_b[c] += by_b * s_b;
    }
    d[M_A] = m_a - theta[M_A];
    d[M_B] = m_b - theta[M_B];
    d[LOG_A] = in_a * s_a - s_a * s_a + 1;
    d[LOG_B] = in_b * s_b - s_b * s_b + 1;
    d[LOG_S] = squares - houses - s * s + 1;
    *value = -0.5 * (theta[M_A] * theta[M_A] + theta[M_B] * theta[M_B] + s_a * s_a + s_b * s_b + s * s) + theta[LOG_A] +
             theta[LOG_B] + theta[LOG_S] - 0.5 * small - 0.5 * squares - houses * theta[LOG_S];
}
