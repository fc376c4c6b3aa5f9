"""The C that asks Python, once a second, whether an interrupt waits for the call to end; threads tell one another."""

from __future__ import annotations

from typing import Final

# An interrupt that is there is told again, for Python to handle it once it is back. A thread that Python does not know
# is none of those that handle signals, and must not wait for the lock: whoever has it may wait for the thread.
INTERRUPTED: Final = """\
#ifndef TG_ALONE
long time(long *);
void *PyGILState_GetThisThreadState(void);
int PyGILState_Ensure(void), PyOS_InterruptOccurred(void);
void PyGILState_Release(int), PyErr_SetInterrupt(void);
static __attribute__((noinline, cold)) int tg_interrupted(i64 *asked) {
  const i64 now = time(0), last = *asked;
  *asked = now;
  if (now == last || !last || !PyGILState_GetThisThreadState()) return 0;
  const int before = PyGILState_Ensure(), is_interrupted = PyOS_InterruptOccurred();
  if (is_interrupted) PyErr_SetInterrupt();
  PyGILState_Release(before);
  return is_interrupted;
}
#endif
"""
UNASKED: Final = "#define tg_interrupted(asked) ((void)(asked), 0)"
"""What a unit without Python has in its place."""
LEFT: Final = """\
static __attribute__((noinline, cold)) int tg_left(i64 *left, i64 *asked) {
  if (__atomic_load_n(left, __ATOMIC_RELAXED)) return 1;
  if (!tg_interrupted(asked)) return 0;
  __atomic_store_n(left, 1, __ATOMIC_RELAXED);
  return 1;
}
"""
