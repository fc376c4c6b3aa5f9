/* The memory of large results, for which NumPy calls a handler (NEP 49), and what units need while they run: aligned, and
   kept when it is given back.

   The system fills the pages of a new block with zeros, one by one, as they are first written, which takes longer than
   many a loop takes to write them. So blocks that are given back stay in a few places, for results of their size.
   A place is one word and exchanged as a whole: whoever gets a block has it alone, in a forked process too. */

enum { ALIGNMENT = 64, PLACES = 8, KEPT_FROM = 1 << 20, KEPT_IN_ALL = 1 << 28, HUGE_FROM = 1 << 22, PAGE = 1 << 12 };

typedef long long i64;
typedef unsigned long long u64;

typedef struct {
  u64 size;
  void *start; /* of the memory that it lies in */
  char unused[ALIGNMENT - sizeof(u64) - 2 * sizeof(void *)];
  void *none; /* 0, by which units tell it from memory of their own */
} block;      /* stands before the bytes that it speaks of */

void *malloc(unsigned long size);
void free(void *at);
int madvise(void *at, unsigned long size, int advice);

static struct {
  block *places[PLACES]; /* the last given back is first */
  u64 bytes;
} kept;

static block *exchange(i64 place, block *given) {
  return __atomic_exchange_n(kept.places + place, given, __ATOMIC_ACQ_REL);
}

static void release(block *one) {
  if (!one) return;
  __atomic_sub_fetch(&kept.bytes, one->size, __ATOMIC_RELAXED);
  free(one->start);
}

static void release_beyond(u64 bytes) {
  for (i64 k = PLACES - 1; k >= 0 && __atomic_load_n(&kept.bytes, __ATOMIC_RELAXED) > bytes; k--) release(exchange(k, 0));
}

/* A kept block of about this size, and no less; 0 if there is none. */
static block *take_kept(u64 size) {
  for (i64 k = 0; k < PLACES; k++) {
    block *const one = exchange(k, 0);
    if (one && one->size >= size && one->size - size <= size / 8) {
      __atomic_sub_fetch(&kept.bytes, one->size, __ATOMIC_RELAXED);
      return one;
    }
    if (one) release(exchange(k, one)); /* back to its place, and out with what has come there meanwhile */
  }
  return 0;
}

static block *take_new(u64 size) {
  char *const start = malloc(size + sizeof(block) + ALIGNMENT); /* pieces of one alignment are ones it uses again */
  if (!start) return 0;
  block *const found = (block *)((u64)(start + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  found->size = size, found->start = start, found->none = 0;
#ifdef __linux__
  if (size >= HUGE_FROM) { /* MADV_HUGEPAGE for whole pages, as NumPy does */
    char *const page = (char *)(((u64)start + PAGE - 1) / PAGE * PAGE);
    madvise(page, (u64)(start + size - page) / PAGE * PAGE, 14);
  }
#endif
  return found;
}

void *tg_take_memory(void *context, u64 size) {
  block *found = size >= KEPT_FROM ? take_kept(size) : 0;
  if (!found) found = take_new(size);
  if (!found) release_beyond(0), found = take_new(size);
  return found ? found + 1 : 0;
}

void tg_give_memory_back(void *context, void *start, u64 size) {
  if (!start) return;
  block *one = (block *)start - 1;
  if (one->size < KEPT_FROM || one->size > KEPT_IN_ALL) {
    free(one->start);
    return;
  }
  __atomic_add_fetch(&kept.bytes, one->size, __ATOMIC_RELAXED);
  for (i64 k = 0; one && k < PLACES; k++) one = exchange(k, one);
  release(one);
  release_beyond(KEPT_IN_ALL);
}

static void *take_zeros(void *context, u64 count, u64 size) {
  void *const found = tg_take_memory(context, count * size); /* NumPy has seen that this does not overflow */
  return found ? __builtin_memset(found, 0, count * size) : 0;
}

static void *take_other(void *context, void *start, u64 size) {
  void *const found = tg_take_memory(context, size);
  if (!found || !start) return found;
  const u64 before = ((block *)start - 1)->size;
  __builtin_memcpy(found, start, before < size ? before : size);
  tg_give_memory_back(context, start, before);
  return found;
}

/* PyDataMem_Handler, as NumPy has had it since 1.22. */
static struct {
  char name[127];
  unsigned char version;
  void *context;
  void *(*take)(void *context, u64 size);
  void *(*take_zeros)(void *context, u64 count, u64 size);
  void *(*take_other)(void *context, void *start, u64 size);
  void (*give_back)(void *context, void *start, u64 size);
} handler = {"tg_c_results", 1, 0, tg_take_memory, take_zeros, take_other, tg_give_memory_back};

/* Free all blocks that are kept; the bytes that they had. */
i64 tg_release(void) {
  u64 found = 0;
  for (i64 k = 0; k < PLACES; k++) {
    block *const one = exchange(k, 0);
    if (one) found += one->size, release(one);
  }
  return (i64)found;
}

/* The bytes of all blocks that are kept. */
i64 tg_kept(void) { return (i64)__atomic_load_n(&kept.bytes, __ATOMIC_RELAXED); }
