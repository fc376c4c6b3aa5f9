/* Multiply-adds in registers: what a processor does at most in one thread. */
#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
#ifdef __aarch64__
#define REGISTER "+w"
#else
#define REGISTER "+x"
#endif
#define EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define BEGIN(k) vector s##k = term + k;
#define STEP(k) s##k = s##k * factor + term;
#define KEEP(k) __asm__ volatile("" : REGISTER(s##k));
#define ADD(k) all += s##k;

typedef float vector __attribute__((vector_size(BYTES)));

/* Runs steps, and gives how many operations each has: 12 sums, more than are under way at a time, which stay finite. */
long multiply_add(long count, float *out) {
  vector all = {0};
  const vector term = all + 1, factor = all + 0.5f;
  EACH(BEGIN)
  for (long i = 0; i < count; i++) {
    EACH(STEP)
    EACH(KEEP)
  }
  EACH(ADD)
  *out = all[0];
  return 2 * 12 * (BYTES / 4);
}
