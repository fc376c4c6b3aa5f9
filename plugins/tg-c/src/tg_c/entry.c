/* The entry of compiled functions: reads a record of the signature, as tg_native.calls.entry writes it, and runs the
   unit.

   What Python and NumPy offer is bound as a table of addresses, as tg_native.calls.objects has it, and HEAD is the size
   of an object's head, so that neither a header nor a symbol of either is needed. `results.c` stands before this text.
   Everything of a call is in its frame. A step that finds something unusual gives 0, and the call goes the general
   way. */

typedef struct object object;

typedef struct {
  char head[HEAD];
  char *data;
  int rank;
  i64 *lengths;
  i64 *strides;
  object *base;
  object *dtype;
  int flags;
} array;

enum { CONTIGUOUS_AND_ALIGNED = 0x101, OWNED_AND_WRITABLE = 0x404 };
enum { LARGE = 1 << 13 }; /* elements of a result whose memory is of results.c */
static const i64 LONGEST = 1LL << 48; /* an argument's axis, as tg.types.lengths has it */

typedef object *entry(object *self, object *const *given, i64 count, object *names);
typedef i64 program(const void *const *inputs, const i64 *lengths, void *const *outputs, i64 *status);
typedef i64 planner(const void *const *inputs, const i64 *lengths, i64 *found, i64 *status);

static struct {
  object *array_type, *float_type, *int_type, *yes, *no;
  void (*keep)(object *);
  void (*drop)(object *);
  object *(*item)(object *tuple, i64 place);
  const char *(*bytes)(object *);
  object *(*call)(object *function, object *const *given, u64 count, object *names);
  object *(*function)(void *definition, object *self, object *module);
  void (*forget_error)(void);
  object *(*error)(void);
  void *(*release_gil)(void);
  void (*take_gil)(void *state);
  double (*float_value)(object *);
  i64 (*int_value)(object *, int *overflow);
  object *(*new_list)(i64 count);
  int (*put_in_list)(object *list, i64 place, object *item);
  object *(*new_tuple)(i64 count);
  int (*put_in_tuple)(object *tuple, i64 place, object *item);
  object *(*new_dict)(void);
  int (*put_in_dict)(object *dict, object *key, object *value);
  object *(*new_capsule)(void *of, const char *name, void *destructor);
  object *(*new_array)(object *type, object *dtype, int rank, const i64 *lengths, const i64 *strides, void *data,
                       int flags, object *like);
  unsigned char (*same_dtype)(object *, object *);
  object *(*set_handler)(object *);
  object *(*get_handler)(void);
  object **usual_handler;
} python;

static object *own_handler;

typedef struct {
  program *run;
  planner *plan;
  object *general;
  i64 patience, arity, extra, lengths, planned, outputs, depth, calls;
  i64 words[];
} record;

typedef struct {
  object *dtype, *scalar_type;
  i64 number, least, most, bytes, is_bool, rank, lengths[];
} input;

/* Where the elements of an argument lie. */
typedef struct {
  const char *start, *end;
} range;

static inline object *type_of(const object *x) { return *(object *const *)((const char *)x + HEAD - sizeof(object *)); }

/* --- arguments ---------------------------------------------------------------------------------------------------- */

/* A Python number as a 0-d input, where the cast is safe; `place` holds it. */
static int take_number(const input *in, object *given, void *place) {
  enum { NONE, BOOL, I8, I16, I32, I64, U8, U16, U32, U64, F32, F64 };
  const object *type = type_of(given);
  if (in->number == BOOL && (given == python.yes || given == python.no)) {
    *(unsigned char *)place = given == python.yes;
    return 1;
  }
  if (type == python.float_type && in->number >= F32) {
    const double x = python.float_value(given);
    if (in->number == F32) *(float *)place = (float)x;
    else *(double *)place = x;
    return 1;
  }
  if (type != python.int_type || in->number < I8) return 0;
  int overflow;
  const i64 n = python.int_value(given, &overflow);
  if (overflow) return 0;
  if (in->number == F32) *(float *)place = (float)n;
  else if (in->number == F64) *(double *)place = (double)n;
  else if (n < in->least || n > in->most) return 0;
  else
    switch (in->number) {
      case I8: case U8: *(signed char *)place = (signed char)n; break;
      case I16: case U16: *(short *)place = (short)n; break;
      case I32: case U32: *(int *)place = (int)n; break;
      default: *(i64 *)place = n;
    }
  return 1;
}

/* Whether bytes are 0 or 1, as code takes those of bools to be: another view of memory has others, which the general way
   sees to. Reading a mask of a million takes 8 us, a where() of that length 2 ms. */
static int are_bools(const unsigned char *at, i64 size) {
  typedef u64 piece __attribute__((vector_size(32), aligned(1), may_alias));
  piece pieces = {0};
  unsigned char rest = 0;
  for (; size >= 128; size -= 128, at += 128) {
    const piece *const p = (const piece *)at;
    pieces |= (p[0] | p[1]) | (p[2] | p[3]);
  }
  for (; size > 0; size--) rest |= *at++;
  return !(((pieces[0] | pieces[1] | pieces[2] | pieces[3]) & ~0x0101010101010101ULL) || rest > 1);
}

/* The pointer, the range and the lengths of an argument; `work` grows by its elements. */
static inline int take(const input *in, object *given, const void **data, range *at, i64 *lengths, void *place,
                       i64 *work) {
  const object *type = type_of(given);
  if (type == python.array_type) {
    const array *a = (const array *)given;
    if (a->dtype != in->dtype && !python.same_dtype(a->dtype, in->dtype)) return 0;
    if (a->rank != in->rank || (a->flags & CONTIGUOUS_AND_ALIGNED) != CONTIGUOUS_AND_ALIGNED) return 0;
    i64 size = 1;
    for (i64 axis = 0; axis < in->rank; axis++) {
      const i64 n = a->lengths[axis], known = in->lengths[axis];
      if (known < 0 ? n == 1 || n > LONGEST : n != known) return 0;
      lengths[axis] = n;
      size *= n;
    }
    if (in->is_bool && !are_bools((const unsigned char *)a->data, size)) return 0;
    *work += size;
    *data = at->start = a->data;
    at->end = a->data + size * in->bytes;
    return 1;
  }
  *data = place;
  *at = (range){0, 0};
  if (type != in->scalar_type) return take_number(in, given, place);
  *data = (const char *)given + HEAD;
  return 1;
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static i64 floor_of(i64 a, i64 b) {
  if (b == 0 || b == -1) return b ? -a : 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* A length in postfix, at `*at`, which moves past it; below 0 where the general way is to see to it. */
static i64 length_of(const i64 **at, const i64 *lengths, const i64 *planned) {
  enum { END, CONSTANT, LENGTH, PLANNED, SUM, PRODUCT, FLOOR, REMAINDER, MIN, MAX, BROADCAST };
  i64 stack[32], *top = stack - 1;
  int fails = 0;
  for (;;) {
    const i64 word = *(*at)++, operand = word >> 4;
    switch (word & 15) {
      case END: return fails ? -1 : *top;
      case CONSTANT: *++top = operand; continue;
      case LENGTH: *++top = lengths[operand]; continue;
      case PLANNED: *++top = planned[operand]; continue;
    }
    const i64 b = *top--, a = *top;
    switch (word & 15) {
      case SUM: fails |= __builtin_add_overflow(a, b, top); break;
      case PRODUCT: fails |= __builtin_mul_overflow(a, b, top); break;
      case FLOOR: *top = floor_of(a, b); break;
      case REMAINDER: *top = b == 0 ? 0 : a - b * floor_of(a, b); break;
      case MIN: *top = a < b ? a : b; break;
      case MAX: *top = a > b ? a : b; break;
      case BROADCAST:
        fails |= a != b && a != 1 && b != 1;
        *top = a == 1 ? b : a;
        break;
    }
  }
}

static void drop_all(object *const *made, i64 count) {
  while (count > 0) python.drop(made[--count]);
}

/* Whether an argument may be overwritten: it is an array with memory of its own, where no other argument lies. */
static int is_free(const record *r, object *const *given, const range *ranges, i64 j) {
  const range own = ranges[j];
  if (type_of(given[j]) != python.array_type) return 0;
  if ((((const array *)given[j])->flags & OWNED_AND_WRITABLE) != OWNED_AND_WRITABLE) return 0;
  for (i64 k = 0; k < r->arity; k++)
    if (k != j && ranges[k].start < own.end && own.start < ranges[k].end) return 0;
  return 1;
}

/* An array that owns its memory; 0 where there is none. Whoever has told NumPy of a handler gets memory from that. */
static object *new_array(object *dtype, i64 rank, const i64 *shape, i64 size) {
  object *before = size >= LARGE && own_handler ? python.get_handler() : 0;
  const int is_ours = before == *python.usual_handler;
  if (before) python.drop(before);
  before = is_ours ? python.set_handler(own_handler) : 0;
  python.keep(dtype); /* the array takes this reference */
  object *const made = python.new_array(python.array_type, dtype, (int)rank, shape, 0, 0, 0, 0);
  if (before) python.drop(python.set_handler(before)), python.drop(before);
  return made;
}

/* The arrays of the outputs, and the lengths that `run` is to be told; the number of arrays is less where one fails. */
static inline i64 allocate(const record *r, const i64 **at, object *const *given, const range *ranges, object **made,
                           void **data, const i64 *lengths, i64 *handed, const i64 *planned, i64 *work, int *reuses) {
  for (i64 k = 0; k < r->outputs; k++) {
    object *const dtype = (object *)(*at)[0];
    const i64 source = (*at)[1], hands = (*at)[2], rank = (*at)[3];
    i64 shape[64], size = 1;
    *at += 4;
    for (i64 axis = 0; axis < rank; axis++) {
      const i64 n = shape[axis] = length_of(at, lengths, planned);
      if (n < 0) return k;
      if (hands) *handed++ = n;
      size *= n;
    }
    if (source >= 0 && is_free(r, given, ranges, source)) {
      python.keep(made[k] = given[source]);
      *reuses = 1;
    } else made[k] = new_array(dtype, rank, shape, size);
    if (!made[k]) return k;
    data[k] = ((array *)made[k])->data;
    *work += size;
  }
  return r->outputs;
}

/* The results as the function nests them, which takes the references; 0 where there is no memory, or where what builds
   them has `raised` an exception, which is the caller's. */
static object *nested(const i64 *at, object **made, i64 depth, int *raised) {
  enum { END, LEAF, LIST, TUPLE, DICT, CALL };
  object *stack[depth + 1], **top = stack;
  int fails = 0;
  for (;;) {
    const i64 word = *at++, count = word >> 4;
    object *found = 0;
    switch (word & 15) {
      case END:
        if (!fails) return stack[0];
        while (top > stack)
          if (*--top) python.drop(*top);
        return 0;
      case LEAF: *top++ = *made++; continue;
      case CALL:
        if (top[-1]) {
          found = python.call((object *)*at, top - 1, 1, 0);
          python.drop(top[-1]);
          *raised = !found;
        }
        at++;
        top[-1] = found;
        fails |= !found;
        continue;
      case LIST: found = python.new_list(count); break;
      case TUPLE: found = python.new_tuple(count); break;
      case DICT: found = python.new_dict(); break;
    }
    top -= count;
    for (i64 k = 0; k < count; k++) {
      object *const item = top[k];
      if (!found || !item) {
        if (item) python.drop(item);
        fails = 1;
      } else if ((word & 15) == LIST) fails |= python.put_in_list(found, k, item) != 0;
      else if ((word & 15) == TUPLE) fails |= python.put_in_tuple(found, k, item) != 0;
      else {
        fails |= python.put_in_dict(found, python.item((object *)*at, k), item) != 0;
        python.drop(item);
      }
    }
    fails |= !found;
    at += (word & 15) == DICT;
    *top++ = found;
  }
}

/* --- the call ----------------------------------------------------------------------------------------------------- */

/* The results; 0 where the call is declined, or where an error `stands`: what builds the results has raised it, or there
   is no memory when arguments have been overwritten. */
static object *attempt(const record *r, object *const *given, int *stands) {
  const void *inputs[r->arity + r->extra + 1];
  range ranges[r->arity + 1];
  i64 lengths[r->lengths + 1], planned[r->planned + 1], places[r->arity + 1];
  object *made[r->outputs + 1];
  void *data[r->outputs + 1];
  const i64 *at = r->words;
  i64 taken = 0, work = 0;
  for (i64 k = 0; k < r->arity; k++) {
    const input *in = (const input *)at;
    if (!take(in, given[k], inputs + k, ranges + k, lengths + taken, places + k, &work)) return 0;
    taken += in->rank;
    at += sizeof(input) / sizeof(i64) + in->rank;
  }
  for (i64 k = 0; k < r->extra; k++) inputs[r->arity + k] = (const void *)*at++;

  if (r->plan) {
    void *state = work > r->patience ? python.release_gil() : 0;
    const i64 code = r->plan(inputs, lengths, planned, 0);
    if (state) python.take_gil(state);
    if (code) return 0;
  }
  int reuses = 0;
  i64 count = allocate(r, &at, given, ranges, made, data, lengths, lengths + taken, planned, &work, &reuses);
  object *found = 0;
  int runs = count == r->outputs;
  if (runs && !r->calls) { /* before anything is written, so that what is written is given back */
    found = nested(at, made, r->depth, stands);
    runs = found != 0;
    count = 0;
  }
  if (runs) {
    void *state = work > r->patience ? python.release_gil() : 0;
    runs = !r->run(inputs, lengths, data, 0);
    if (state) python.take_gil(state);
  }
  if (runs) {
    if (!found) found = nested(at, made, r->depth, stands);
    *stands |= reuses;
    if (found || *stands) return found;
  } else {
    if (found) python.drop(found);
    drop_all(made, count);
  }
  python.forget_error();
  return 0;
}

static object *called(object *self, object *const *given, i64 count, object *names) {
  const record *r = (const record *)python.bytes(python.item(self, 0));
  if (!names && count == r->arity) {
    int stands = 0;
    object *found = attempt(r, given, &stands);
    if (found || stands) return found;
  }
  return python.call(r->general, given, (u64)count, names);
}

static struct {
  const char *name;
  entry *function;
  int flags;
  const char *text;
} definition = {"call", called, 0x80 | 0x02, 0}; /* METH_FASTCALL | METH_KEYWORDS */

void tg_bind(void *const *table) {
  void **to = (void **)&python;
  for (unsigned k = 0; k < sizeof python / sizeof(void *); k++) to[k] = table[k];
  /* glibc gives the top of its heap back to the system at every call, and gets it page by page at the next, until a
     large block has been freed once; those that are kept never are. */
  void *volatile large = malloc(HUGE_FROM);
  free(large);
#ifndef __SANITIZE_ADDRESS__ /* else not a byte more than results have, so that passing an end is seen */
  own_handler = python.new_capsule(&handler, "mem_handler", 0);
#endif
}

/* A function that is called with the record `self[0]`; the rest of `self` is what the record speaks of. */
object *tg_entry(object *self) { return python.function(&definition, self, 0); }

/* --- what it is tried with ---------------------------------------------------------------------------------------- */

/* See tg_native.calls.objects.works. */
i64 tg_probe(const void *const *inputs, const i64 *lengths, void *const *outputs, i64 *status) {
  for (int i = 0; i < 48; i++) ((char *)outputs[0])[i] = ((const char *)inputs[0])[i];
  for (int i = 0; i < 4; i++) ((char *)outputs[1])[i] = ((const char *)inputs[1])[i];
  return *(const i64 *)inputs[2];
}
