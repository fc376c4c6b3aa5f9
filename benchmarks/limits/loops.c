/* Recurrences: each forward, with what its reverse sweep reads, and that sweep. Every operation rounds, as in NumPy: with
   fused multiply-adds a step would be another, and shorter. */

#pragma GCC optimize("fp-contract=off")

double log(double);

void sir_ar2(double *value, double *d_beta, double *d_gamma, double *d_phi1, double *d_phi2, double *room,
             const double *beta_, const double *gamma_, const double *phi1_, const double *phi2_, const double *y, long n)
{
    const double beta = *beta_, gamma = *gamma_, phi1 = *phi1_, phi2 = *phi2_;
    double s = 0.99, i = 0.01, a = 0.1, b = 0.2, v = 0;
    for (long t = 0; t < n; t++) {
        double *kept = room + 5 * t;
        kept[0] = s, kept[1] = i, kept[2] = a, kept[3] = b;
        const double exposed = beta * s * i, recovered = gamma * i;
        s -= exposed, i += exposed - recovered;
        const double z = phi1 * a + phi2 * b, mean = i + z, error = y[t] - mean;
        kept[4] = error;
        b = a, a = mean * 0.1 + z, v -= 0.5 * (error * error);
    }
    double ds = 0, di = 0, da = 0, db = 0, by_beta = 0, by_gamma = 0, by_phi1 = 0, by_phi2 = 0;
    for (long t = n - 1; t >= 0; t--) {
        const double *kept = room + 5 * t;
        const double d_mean = 0.1 * da + kept[4], d_z = da + d_mean;
        const double d_i = di + d_mean, d_exposed = d_i - ds, through = d_exposed * kept[1];
        by_beta += through * kept[0], by_gamma -= d_i * kept[1], by_phi1 += d_z * kept[2], by_phi2 += d_z * kept[3];
        ds += through * beta;
        di = d_i * (1 - gamma) + d_exposed * (beta * kept[0]);
        da = db + d_z * phi1, db = d_z * phi2;
    }
    *value = v, *d_beta = by_beta, *d_gamma = by_gamma, *d_phi1 = by_phi1, *d_phi2 = by_phi2;
}

void ar1(double *value, const double *phi_, const double *x, long n)
{
    const double phi = *phi_;
    double s = 0, v = 0;
    for (long t = 0; t < n; t++) s = phi * s + x[t], v += s * s;
    *value = v;
}

void ar1_gradient(double *value, double *d_phi, double *d_x, double *room, const double *phi_, const double *x, long n)
{
    const double phi = *phi_;
    double s = 0, v = 0;
    for (long t = 0; t < n; t++) room[t] = s, s = phi * s + x[t], v += s * s;
    double ds = 0, by_phi = 0, after = s;
    for (long t = n - 1; t >= 0; t--) {
        const double d = ds + 2 * after;
        d_x[t] = d, after = room[t], by_phi += d * after, ds = d * phi;
    }
    *value = v, *d_phi = by_phi;
}

void seir(double *value, const double *beta_, const double *sigma_, const double *gamma_, const double *share_,
          const double *y, long n, long per_day)
{
    const double part = 1.0 / per_day, beta = *beta_ * part, sigma = *sigma_ * part, gamma = *gamma_ * part;
    const double factor = *share_ * 1e5;
    double s = 0.99, e = 0.004, i = 0.006, r = 0, v = 0;
    for (long t = 0; t < n; t++) {
        const double exposed = beta * s * i, ill = sigma * e, recovered = gamma * i, rate = factor * ill + 1e-3;
        v += y[t] * log(rate) - rate;
        s -= exposed, e += exposed - ill, i += ill - recovered, r += recovered;
    }
    *value = v - 50 * (r - 0.5) * (r - 0.5);
}

void seir_gradient(double *value, double *d_beta, double *d_sigma, double *d_gamma, double *d_share, double *room,
                   const double *beta_, const double *sigma_, const double *gamma_, const double *share_,
                   const double *y, long n, long per_day)
{
    const double part = 1.0 / per_day, beta = *beta_ * part, sigma = *sigma_ * part, gamma = *gamma_ * part;
    const double share = *share_, factor = share * 1e5;
    double s = 0.99, e = 0.004, i = 0.006, r = 0, v = 0;
    for (long t = 0; t < n; t++) {
        double *kept = room + 4 * t;
        const double exposed = beta * s * i, ill = sigma * e, recovered = gamma * i, rate = factor * ill + 1e-3;
        kept[0] = s, kept[1] = e, kept[2] = i, kept[3] = y[t] / rate - 1;
        v += y[t] * log(rate) - rate;
        s -= exposed, e += exposed - ill, i += ill - recovered, r += recovered;
    }
    *value = v - 50 * (r - 0.5) * (r - 0.5);
    double ds = 0, de = 0, di = 0, dr = -100 * (r - 0.5);
    double by_beta = 0, by_sigma = 0, by_gamma = 0, by_factor = 0;
    for (long t = n - 1; t >= 0; t--) {
        const double *kept = room + 4 * t;
        const double d_exposed = de - ds, d_ill = di - de + kept[3] * factor, d_recovered = dr - di;
        const double through = d_exposed * kept[2];
        by_factor += kept[3] * (sigma * kept[1]);
        by_beta += through * kept[0], by_sigma += d_ill * kept[1], by_gamma += d_recovered * kept[2];
        ds += through * beta, de += d_ill * sigma, di += d_exposed * (beta * kept[0]) + d_recovered * gamma;
    }
    *d_beta = by_beta * part, *d_sigma = by_sigma * part, *d_gamma = by_gamma * part, *d_share = by_factor * 1e5;
}
