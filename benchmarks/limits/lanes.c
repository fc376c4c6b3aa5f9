/* Recurrences of many chains: a block of them at a time, all of whose states are in vectors, forward and, for the
   gradient, back; what the way back reads is kept for one block alone. Every operation rounds, as in NumPy. */

#pragma GCC optimize("fp-contract=off")

#define ALL for (int k = 0; k < W; k++)

enum { W = 8 };
typedef double lanes[W] __attribute__((aligned(64)));

/* The last block begins where a whole one ends: chains may be run twice. */
static long first_of(long block, long m) { return block * W + W <= m ? block * W : m - W; }

void sir_ar2_chains(double *value, const double *beta_, const double *gamma_, const double *phi1_, const double *phi2_,
                    const double *y, long n, long m)
{
    for (long block = 0; block * W < m; block++) {
        const long at = first_of(block, m);
        lanes beta, gamma, phi1, phi2, s, i, a, b, v;
        ALL beta[k] = beta_[at + k], gamma[k] = gamma_[at + k], phi1[k] = phi1_[at + k], phi2[k] = phi2_[at + k];
        ALL s[k] = 0.99, i[k] = 0.01, a[k] = 0.1, b[k] = 0.2, v[k] = 0;
        for (long t = 0; t < n; t++)
            ALL {
                const double exposed = beta[k] * s[k] * i[k], recovered = gamma[k] * i[k];
                s[k] -= exposed, i[k] += exposed - recovered;
                const double z = phi1[k] * a[k] + phi2[k] * b[k], mean = i[k] + z, error = y[t] - mean;
                b[k] = a[k], a[k] = mean * 0.1 + z, v[k] -= 0.5 * (error * error);
            }
        ALL value[at + k] = v[k];
    }
}

void sir_ar2_chains_gradient(double *value, double *d_beta, double *d_gamma, double *d_phi1, double *d_phi2,
                             double *room, const double *beta_, const double *gamma_, const double *phi1_,
                             const double *phi2_, const double *y, long n, long m)
{
    for (long block = 0; block * W < m; block++) {
        const long at = first_of(block, m);
        lanes beta, gamma, phi1, phi2, s, i, a, b, v;
        ALL beta[k] = beta_[at + k], gamma[k] = gamma_[at + k], phi1[k] = phi1_[at + k], phi2[k] = phi2_[at + k];
        ALL s[k] = 0.99, i[k] = 0.01, a[k] = 0.1, b[k] = 0.2, v[k] = 0;
        for (long t = 0; t < n; t++) {
            double *kept = room + 5 * W * t;
            ALL {
                kept[k] = s[k], kept[W + k] = i[k], kept[2 * W + k] = a[k], kept[3 * W + k] = b[k];
                const double exposed = beta[k] * s[k] * i[k], recovered = gamma[k] * i[k];
                s[k] -= exposed, i[k] += exposed - recovered;
                const double z = phi1[k] * a[k] + phi2[k] * b[k], mean = i[k] + z, error = y[t] - mean;
                kept[4 * W + k] = error;
                b[k] = a[k], a[k] = mean * 0.1 + z, v[k] -= 0.5 * (error * error);
            }
        }
        lanes ds, di, da, db, by_beta, by_gamma, by_phi1, by_phi2;
        ALL ds[k] = di[k] = da[k] = db[k] = by_beta[k] = by_gamma[k] = by_phi1[k] = by_phi2[k] = 0;
        for (long t = n - 1; t >= 0; t--) {
            const double *kept = room + 5 * W * t;
            ALL {
                const double s0 = kept[k], i0 = kept[W + k], a0 = kept[2 * W + k], b0 = kept[3 * W + k];
                const double d_mean = 0.1 * da[k] + kept[4 * W + k], d_z = da[k] + d_mean;
                const double d_i = di[k] + d_mean, d_exposed = d_i - ds[k], through = d_exposed * i0;
                by_beta[k] += through * s0, by_gamma[k] -= d_i * i0, by_phi1[k] += d_z * a0, by_phi2[k] += d_z * b0;
                ds[k] += through * beta[k];
                di[k] = d_i * (1 - gamma[k]) + d_exposed * (beta[k] * s0);
                da[k] = db[k] + d_z * phi1[k], db[k] = d_z * phi2[k];
            }
        }
        ALL value[at + k] = v[k], d_beta[at + k] = by_beta[k], d_gamma[at + k] = by_gamma[k];
        ALL d_phi1[at + k] = by_phi1[k], d_phi2[at + k] = by_phi2[k];
    }
}

void ar1_chains(double *value, const double *phi_, const double *x, long n, long m)
{
    enum { U = 4 };
    for (long block = 0; block * W * U < m; block++) {
        const long at = block * W * U + W * U <= m ? block * W * U : m - W * U;
        double phi[W * U], s[W * U] = {0}, v[W * U] = {0};
        for (int k = 0; k < W * U; k++) phi[k] = phi_[at + k];
        for (long t = 0; t < n; t++)
            for (int k = 0; k < W * U; k++) s[k] = phi[k] * s[k] + x[t], v[k] += s[k] * s[k];
        for (int k = 0; k < W * U; k++) value[at + k] = v[k];
    }
}

void ar1_chains_gradient(double *value, double *d_phi, double *room, const double *phi_, const double *x, long n,
                         long m)
{
    for (long block = 0; block * W < m; block++) {
        const long at = first_of(block, m);
        lanes phi, s, v, ds, by_phi, after;
        ALL phi[k] = phi_[at + k], s[k] = 0, v[k] = 0;
        for (long t = 0; t < n; t++)
            ALL room[W * t + k] = s[k], s[k] = phi[k] * s[k] + x[t], v[k] += s[k] * s[k];
        ALL ds[k] = 0, by_phi[k] = 0, after[k] = s[k];
        for (long t = n - 1; t >= 0; t--)
            ALL {
                const double d = ds[k] + 2 * after[k];
                after[k] = room[W * t + k], by_phi[k] += d * after[k], ds[k] = d * phi[k];
            }
        ALL value[at + k] = v[k], d_phi[at + k] = by_phi[k];
    }
}
