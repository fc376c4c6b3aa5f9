/* Threads that help with the loops of compiled units: one pool in a process, made when first asked for.

   A loop in parts is a job. The thread that calls puts it on the list, takes parts itself until none is left, and waits
   for those that helpers have in hand: no part is ever left to a thread that may not come, so a pool without threads,
   or one whose threads are busy or were lost in a fork, only helps less. Helpers sleep while there is nothing to do,
   and end with the process. */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

enum { MOST = 1024 };

typedef long long i64;
typedef void part_of(void *given, i64 part, i64 slot);

typedef struct job {
  part_of *run;
  void *given;
  i64 parts, next, running; /* how many there are, the first that nobody has taken, and how many are in hand */
  i64 slots, joined;        /* how many threads it may have, and how many have come; the caller is the first */
  struct job *after;
} job;

static struct {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  job *jobs;
  i64 threads, idle;
  pthread_t helpers[MOST];
  i64 placed; /* how many helpers know where they may run */
} pool;

static i64 process; /* whose the pool is; that of a process but negative while it is being set up */

/* The parts of a job until none is left; the lock is held before and after. */
static void take_parts(job *j, i64 slot) {
  while (j->next < j->parts) {
    const i64 part = j->next++;
    j->running++;
    pthread_mutex_unlock(&pool.lock);
    j->run(j->given, part, slot);
    pthread_mutex_lock(&pool.lock);
    j->running--;
  }
}

static job *open_job(void) {
  job *j = pool.jobs;
  while (j && (j->next == j->parts || j->joined == j->slots)) j = j->after;
  return j;
}

static void *help(void *unused) {
  pthread_mutex_lock(&pool.lock);
  for (;;) {
    job *j = open_job();
    if (j) {
      take_parts(j, j->joined++);
      if (!j->running) pthread_cond_broadcast(&pool.done);
    } else {
      pool.idle++;
      pthread_cond_wait(&pool.work, &pool.lock);
      pool.idle--;
    }
  }
  return unused;
}

/* As many threads as are wanted, or as can be had. Of signals they get only those of their own mistakes, for Python's
   handlers are the main thread's. */
static void grow(i64 wanted) {
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGSEGV), sigdelset(&all, SIGBUS), sigdelset(&all, SIGILL), sigdelset(&all, SIGFPE);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (pool.threads < wanted && pool.threads < MOST && !pthread_create(pool.helpers + pool.threads, 0, help, 0))
    pthread_detach(pool.helpers[pool.threads++]);
  pthread_sigmask(SIG_SETMASK, &before, 0);
}

/* Keep helpers off the processor of the thread that calls, where they would wait for their turn; 0: it has no other. */
static int step_aside(void) {
#ifdef __linux__
  static cpu_set_t known;
  cpu_set_t others;
  const int here = sched_getcpu();
  if (here < 0 || sched_getaffinity(0, sizeof others, &others)) return 1;
  CPU_CLR(here, &others);
  if (!CPU_COUNT(&others)) return 0;
  if (!CPU_EQUAL(&others, &known)) known = others, pool.placed = 0;
  for (; pool.placed < pool.threads; pool.placed++)
    pthread_setaffinity_np(pool.helpers[pool.placed], sizeof others, &others);
#endif
  return 1;
}

/* An empty pool in a process that has none of its own: threads and locks of a parent are not the child's. */
static void own(void) {
  const i64 me = getpid();
  i64 seen = __atomic_load_n(&process, __ATOMIC_ACQUIRE);
  while (seen != me) {
    if (seen != -me && __atomic_compare_exchange_n(&process, &seen, -me, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
      pthread_mutex_init(&pool.lock, 0);
      pthread_cond_init(&pool.work, 0);
      pthread_cond_init(&pool.done, 0);
      pool.jobs = 0;
      pool.threads = pool.idle = pool.placed = 0;
      __atomic_store_n(&process, me, __ATOMIC_RELEASE);
    }
    seen = __atomic_load_n(&process, __ATOMIC_ACQUIRE);
  }
}

/* Run parts 0 to `parts` on up to `slots` threads, of which this is one; `slot` tells those of one job apart. */
void tg_share(part_of *run, void *given, i64 parts, i64 slots) {
  job mine = {run, given, parts, 0, 0, slots, 1, 0};
  own();
  pthread_mutex_lock(&pool.lock);
  if (pool.threads < slots - 1) grow(slots - 1);
  if (!step_aside()) mine.slots = 1;
  mine.after = pool.jobs;
  pool.jobs = &mine;
  for (i64 k = 1; k < mine.slots && k < parts && k <= pool.idle; k++) pthread_cond_signal(&pool.work);
  take_parts(&mine, 0);
  while (mine.running) pthread_cond_wait(&pool.done, &pool.lock);
  job **at = &pool.jobs;
  while (*at != &mine) at = &(*at)->after;
  *at = mine.after;
  pthread_mutex_unlock(&pool.lock);
}

/* How many threads the pool of this process has. */
i64 tg_threads(void) {
  own();
  pthread_mutex_lock(&pool.lock);
  const i64 found = pool.threads;
  pthread_mutex_unlock(&pool.lock);
  return found;
}
