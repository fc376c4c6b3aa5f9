"""The memory of large results, for which NumPy calls a handler (NEP 49): aligned, and kept when it is given back.

The system fills the pages of a new block with zeros, one by one, as they are first written, which takes longer than
many a loop takes to write them. So blocks that are given back stay in a few places, for results of their size, and for
what programs need while they run. A place is one word and exchanged as a whole: whoever gets a block has it alone, in a
forked process too.

Before the bytes of a block stand `HEADER` bytes, which begin with the size of the block and what `malloc` gave; their
second half is for whoever has the block.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import TYPE_CHECKING, Final, NamedTuple

import llvmlite.binding as llvm

from tg.backend import exclusive
from tg_numba import cache
from tg_numba.engine import COMPILING

if TYPE_CHECKING:
    from collections.abc import Callable

LARGE: Final = 1 << 13  # elements of a result that has such memory
NAME: Final = "tg_numba_results"  # of the handler
HEADER: Final = 64  # bytes, and what the bytes after it are aligned to
PLACES: Final = 8
KEPT_FROM: Final = 1 << 17  # bytes, from which on malloc may ask the system for pages at every call
KEPT_IN_ALL: Final = 1 << 28
HUGE_FROM: Final = 1 << 22
TAKE: Final = "tg_numba_take"  # of a null and a size, the start of a block; null where there is no memory
GIVE_BACK: Final = "tg_numba_give_back"  # of a null, the start of a block, and a number that nobody reads
IS_LINUX: Final = sys.platform.startswith("linux")
PAGE: Final = 1 << 12
ADVICE: Final = 14  # MADV_HUGEPAGE, as NumPy does
ADVISE: Final = (
    f"""
  %to_next = sub i64 0, %aligned
  %before = and i64 %to_next, {PAGE - 1}
  %page = getelementptr i8, ptr %block, i64 %before
  %pages = sub i64 %size, %before
  %ignored = call i32 @madvise(ptr %page, i64 %pages, i32 {ADVICE})
"""
    * IS_LINUX
)
"""Blocks are at no multiples of huge pages, for which glibc's memory falls into pieces that it cannot use again."""

KEPT: Final = f"""
@places = internal global [{PLACES} x ptr] zeroinitializer
@bytes = internal global i64 0
define i64 @kept() {{
  %bytes = load atomic i64, ptr @bytes monotonic, align 8
  ret i64 %bytes
}}
define internal void @release(ptr %block) {{
  %none = icmp eq ptr %block, null
  br i1 %none, label %done, label %some
some:
  %size = load i64, ptr %block
  %before = atomicrmw sub ptr @bytes, i64 %size monotonic
  call void @free_one(ptr %block)
  br label %done
done:
  ret void
}}
define internal void @release_beyond(i64 %most) {{
entry:
  br label %head
head:
  %k = phi i64 [{PLACES}, %entry], [%last, %body]
  %bytes = load atomic i64, ptr @bytes monotonic, align 8
  %above = icmp sgt i64 %bytes, %most
  %others = icmp sgt i64 %k, 0
  %more = and i1 %above, %others
  br i1 %more, label %body, label %done
body:
  %last = sub i64 %k, 1
  %place = getelementptr ptr, ptr @places, i64 %last
  %block = atomicrmw xchg ptr %place, ptr null acq_rel
  call void @release(ptr %block)
  br label %head
done:
  ret void
}}
define i64 @release_all() {{
entry:
  br label %head
head:
  %k = phi i64 [0, %entry], [%next, %body], [%next, %some]
  %sum = phi i64 [0, %entry], [%sum, %body], [%more, %some]
  %left = icmp slt i64 %k, {PLACES}
  br i1 %left, label %body, label %done
body:
  %next = add i64 %k, 1
  %place = getelementptr ptr, ptr @places, i64 %k
  %block = atomicrmw xchg ptr %place, ptr null acq_rel
  %none = icmp eq ptr %block, null
  br i1 %none, label %head, label %some
some:
  %size = load i64, ptr %block
  %more = add i64 %sum, %size
  call void @release(ptr %block)
  br label %head
done:
  ret i64 %sum
}}
define internal ptr @take_kept(i64 %size) {{
entry:
  %slack = lshr i64 %size, 3
  %most = add i64 %size, %slack
  br label %head
head:
  %k = phi i64 [0, %entry], [%next, %body], [%next, %back]
  %more = icmp slt i64 %k, {PLACES}
  br i1 %more, label %body, label %none
body:
  %place = getelementptr ptr, ptr @places, i64 %k
  %next = add i64 %k, 1
  %block = atomicrmw xchg ptr %place, ptr null acq_rel
  %empty = icmp eq ptr %block, null
  br i1 %empty, label %head, label %look
look:
  %has = load i64, ptr %block
  %enough = icmp uge i64 %has, %size
  %about = icmp ule i64 %has, %most
  %fits = and i1 %enough, %about
  br i1 %fits, label %found, label %back
found:
  %before = atomicrmw sub ptr @bytes, i64 %has monotonic
  ret ptr %block
back:
  %other = atomicrmw xchg ptr %place, ptr %block acq_rel
  call void @release(ptr %other)
  br label %head
none:
  ret ptr null
}}
define internal void @keep(ptr %block, i64 %size) {{
entry:
  %before = atomicrmw add ptr @bytes, i64 %size monotonic
  br label %head
head:
  %k = phi i64 [0, %entry], [%next, %body]
  %carried = phi ptr [%block, %entry], [%other, %body]
  %any = icmp ne ptr %carried, null
  %others = icmp slt i64 %k, {PLACES}
  %more = and i1 %any, %others
  br i1 %more, label %body, label %done
body:
  %next = add i64 %k, 1
  %place = getelementptr ptr, ptr @places, i64 %k
  %other = atomicrmw xchg ptr %place, ptr %carried acq_rel
  br label %head
done:
  call void @release(ptr %carried)
  call void @release_beyond(i64 {KEPT_IN_ALL})
  ret void
}}
"""
"""The blocks that are kept, the last given back first, and the bytes of all.

`take_kept` gives one of about a size, and no less; null if there is none. What it takes out to look at goes back to its
place, and what has come there meanwhile is freed. `keep` carries each block that it finds in a place on to the next.
"""

BLOCKS: Final = f"""
declare ptr @malloc(i64)
declare void @free(ptr)
{"declare i32 @madvise(ptr, i64, i32)" * IS_LINUX}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define internal void @free_one(ptr %block) {{
  %base_at = getelementptr ptr, ptr %block, i64 1
  %base = load ptr, ptr %base_at
  call void @free(ptr %base)
  ret void
}}
define internal ptr @take_new(i64 %size) {{
  %whole = add i64 %size, {2 * HEADER}
  %base = call ptr @malloc(i64 %whole)
  %failed = icmp eq ptr %base, null
  br i1 %failed, label %none, label %taken
taken:
  %address = ptrtoint ptr %base to i64
  %above = add i64 %address, {HEADER}
  %aligned = and i64 %above, -{HEADER}
  %block = inttoptr i64 %aligned to ptr
  %base_at = getelementptr ptr, ptr %block, i64 1
  store i64 %size, ptr %block
  store ptr %base, ptr %base_at
  %is_huge = icmp uge i64 %size, {HUGE_FROM}
  br i1 %is_huge, label %huge, label %done
huge:
  {ADVISE}
  br label %done
done:
  ret ptr %block
none:
  ret ptr null
}}
define ptr @{TAKE}(ptr %context, i64 %size) {{
  %may_be_kept = icmp uge i64 %size, {KEPT_FROM}
  br i1 %may_be_kept, label %large, label %new
large:
  %kept = call ptr @take_kept(i64 %size)
  %is_kept = icmp ne ptr %kept, null
  br i1 %is_kept, label %done, label %new
new:
  %first = call ptr @take_new(i64 %size)
  %is_first = icmp ne ptr %first, null
  br i1 %is_first, label %done, label %again
again:
  call void @release_beyond(i64 0)
  %second = call ptr @take_new(i64 %size)
  %is_second = icmp ne ptr %second, null
  br i1 %is_second, label %done, label %none
done:
  %block = phi ptr [%kept, %large], [%first, %new], [%second, %again]
  %start = getelementptr i8, ptr %block, i64 {HEADER}
  ret ptr %start
none:
  ret ptr null
}}
define void @{GIVE_BACK}(ptr %context, ptr %start, i64 %unused) {{
  %nothing = icmp eq ptr %start, null
  br i1 %nothing, label %done, label %something
something:
  %block = getelementptr i8, ptr %start, i64 -{HEADER}
  %size = load i64, ptr %block
  %above = sub i64 %size, {KEPT_FROM}
  %stays = icmp ule i64 %above, {KEPT_IN_ALL - KEPT_FROM}
  br i1 %stays, label %kept, label %other
kept:
  call void @keep(ptr %block, i64 %size)
  br label %done
other:
  call void @free_one(ptr %block)
  br label %done
done:
  ret void
}}
define internal ptr @take_zeros(ptr %context, i64 %count, i64 %size) {{
  %whole = mul i64 %count, %size ; NumPy has seen that this does not overflow
  %found = call ptr @{TAKE}(ptr null, i64 %whole)
  %none = icmp eq ptr %found, null
  br i1 %none, label %done, label %some
some:
  call void @llvm.memset.p0.i64(ptr %found, i8 0, i64 %whole, i1 false)
  br label %done
done:
  ret ptr %found
}}
define internal ptr @take_other(ptr %context, ptr %start, i64 %size) {{
  %found = call ptr @{TAKE}(ptr null, i64 %size)
  %none = icmp eq ptr %found, null
  %new = icmp eq ptr %start, null
  %plain = or i1 %none, %new
  br i1 %plain, label %done, label %copy
copy:
  %block = getelementptr i8, ptr %start, i64 -{HEADER}
  %before = load i64, ptr %block
  %is_less = icmp ult i64 %before, %size
  %common = select i1 %is_less, i64 %before, i64 %size
  call void @llvm.memcpy.p0.p0.i64(ptr %found, ptr %start, i64 %common, i1 false)
  call void @{GIVE_BACK}(ptr null, ptr %start, i64 %before)
  br label %done
done:
  ret ptr %found
}}
@handler = global {{ [{len(NAME)} x i8], [{127 - len(NAME)} x i8], i8, ptr, ptr, ptr, ptr, ptr }} {{
  [{len(NAME)} x i8] c"{NAME}", [{127 - len(NAME)} x i8] zeroinitializer, i8 1, ptr null,
  ptr @{TAKE}, ptr @take_zeros, ptr @take_other, ptr @{GIVE_BACK}
}}
"""
"""What NumPy asks for: `PyDataMem_Handler`, as it has had it since 1.22."""

ARRAYS: Final = """
@handler_name = internal constant [12 x i8] c"mem_handler\\00"
@own = internal global ptr null
define void @begin() {{
  %own = call ptr {PyCapsule_New}(ptr @"tg.handler", ptr @handler_name, ptr null)
  store ptr %own, ptr @own
  ret void
}}
define ptr @new_array(ptr %dtype, i32 %rank, ptr %lengths) {{
entry:
  %found = call ptr {PyDataMem_GetHandler}()
  call void {Py_DecRef}(ptr %found)
  %known = load ptr, ptr {PyDataMem_DefaultHandler}
  %is_known = icmp eq ptr %found, %known
  br i1 %is_known, label %swap, label %make
swap:
  %own = load ptr, ptr @own
  %swapped = call ptr {PyDataMem_SetHandler}(ptr %own)
  %failed = icmp eq ptr %swapped, null
  br i1 %failed, label %none, label %make
make:
  %before = phi ptr [null, %entry], [%swapped, %swap]
  %array = call ptr {PyArray_NewFromDescr}(
    ptr {ndarray}, ptr %dtype, i32 %rank, ptr %lengths, ptr null, ptr null, i32 0, ptr null)
  %as_it_was = icmp eq ptr %before, null
  br i1 %as_it_was, label %done, label %made
made:
  %fails = icmp eq ptr %array, null
  br i1 %fails, label %forget, label %reset
forget:
  call void {PyErr_Clear}() ; the call goes the general way
  br label %reset
reset:
  %ours = call ptr {PyDataMem_SetHandler}(ptr %before)
  call void {Py_DecRef}(ptr %ours)
  call void {Py_DecRef}(ptr %before)
  br label %done
done:
  ret ptr %array
none:
  call void {Py_DecRef}(ptr %dtype)
  ret ptr null
}}
"""
"""Arrays that own such memory, as a template in functions of Python and NumPy; null where there is none.

An array takes the reference to its dtype. Whoever has told NumPy of a handler gets memory from that.
"""


class Blocks(NamedTuple):
    """The address of the handler, what tells the bytes of all blocks that are kept, and what frees these."""

    handler: int
    kept: Callable[[], int]
    release: Callable[[], int]


@functools.cache
@exclusive(COMPILING)
def opened() -> Blocks:
    """The code, once in a process; machine code finds `TAKE` and `GIVE_BACK` by their names from here on."""
    return _opened()


@functools.cache
def _opened() -> Blocks:
    text = f"{KEPT}{BLOCKS}"
    names = ("handler", "kept", "release_all", TAKE, GIVE_BACK)

    code = cache.assembled("results", text, names, {})
    handler, total, release, *functions = map(code.address, names)
    code.stay()  # arrays call it when they are dropped, be it at the very end
    for name, address in zip((TAKE, GIVE_BACK), functions, strict=True):
        llvm.add_symbol(name, address)
    word = ctypes.CFUNCTYPE(ctypes.c_int64)
    return Blocks(handler, word(total), word(release))
