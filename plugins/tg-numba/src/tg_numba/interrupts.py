"""The function that asks Python, once a second, whether an interrupt waits for the call to end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tg_numba.assembly import Lines

INTERRUPTS: Final = (
    ("time", "i64", ("ptr",)),
    ("PyGILState_GetThisThreadState", "ptr", ()),
    ("PyGILState_Ensure", "i32", ()),
    ("PyGILState_Release", "void", ("i32",)),
    ("PyOS_InterruptOccurred", "i32", ()),
    ("PyErr_SetInterrupt", "void", ()),
)
# An interrupt that is there is told again, for Python to handle it once it is back. A thread that Python does not know
# is none of those that handle signals, and must not wait for the lock: whoever has it may wait for the thread.
INTERRUPTED: Final = """
define internal i32 @interrupted(ptr %asked) noinline cold {
  %now = call i64 @time(ptr null)
  %before = load i64, ptr %asked
  store i64 %now, ptr %asked
  %is_first = icmp eq i64 %before, 0
  %is_known = icmp eq i64 %now, %before
  %is_early = or i1 %is_first, %is_known
  br i1 %is_early, label %no, label %another
another:
  %thread = call ptr @PyGILState_GetThisThreadState()
  %is_other = icmp eq ptr %thread, null
  br i1 %is_other, label %no, label %ask
ask:
  %held = call i32 @PyGILState_Ensure()
  %found = call i32 @PyOS_InterruptOccurred()
  %is_there = icmp ne i32 %found, 0
  br i1 %is_there, label %again, label %end
again:
  call void @PyErr_SetInterrupt()
  br label %end
end:
  call void @PyGILState_Release(i32 %held)
  ret i32 %found
no:
  ret i32 0
}
"""


def interrupted(body: Lines, second: str) -> str:
    """An i32 that is not 0 where one waits; `second` points to the second in which that was last looked for."""
    for name, result, arguments in INTERRUPTS:
        body.module.declare(name, result, arguments)
    body.module.define("interrupted", INTERRUPTED)
    return body.made(f"call i32 @interrupted(ptr {second})")
