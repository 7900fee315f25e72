"""The arena: memory of large arrays, kept from one call to the next.

The C library returns a large block to the system when it is freed, and the next call pays a page fault for every 4 KiB
that it touches first: up to half of a gradient that tapes. So generated code takes large arrays (strips of the tape,
shadows, results) from here. A block that is freed waits in one of `SLOTS` places for an array of about its size; what
does not fit into `LIMIT` bytes goes back to the system. Blocks belong to no thread, and taking one is an atomic
exchange. Arrays are as any other of Numba's: counted references, so that nothing is lost when a primal raises.

It is written in LLVM's language, because it must be there before any code runs that was read from a cache, and must
stay as long as there are arrays: generated code finds it by the name `RESERVE`.

Relies on Numba's table of functions for extensions, ``nrt_external.h``: its first two allocate an array's memory, with
the C library and with an allocator that is given as a table of functions to take and to free memory.
"""

from __future__ import annotations

import ctypes

import llvmlite.binding as llvm
from numba.core import registry
from numba.core.runtime import _nrt_python

LARGE = 128 * 1024
"""Arrays of so many bytes are taken from the arena."""
SLACK = 4
"""A block waits for arrays that are at most so many times smaller."""
SLOTS = 32
LIMIT = 256 * 1024 * 1024
"""So many bytes may wait, in the whole process."""
ALIGN = 64
"""Bytes that are reserved beyond what is asked for, so that data can start at a multiple of that."""
HEADER = 16
"""Bytes before a block, where its size is."""
RESERVE = "jitgrad_reserve"
"""``NRT_MemInfo *jitgrad_reserve(int64)``: memory with a counted reference, or null."""

_SOURCE = """
@slots = internal global [{slots} x i8*] zeroinitializer, align 64
@jitgrad_arena_waiting = internal global i64 0, align 64
@arena = internal constant [4 x i8*] [
  i8* bitcast (i8* (i64, i8*)* @jitgrad_arena_take to i8*), i8* null,
  i8* bitcast (void (i8*, i8*)* @jitgrad_arena_give to i8*), i8* null]

declare i8* @jitgrad_arena_malloc(i64)
declare void @jitgrad_arena_free(i8*)
declare i8* @jitgrad_meminfo(i64)
declare i8* @jitgrad_meminfo_external(i64, i8*)

define i8* @{reserve}(i64 %size) {{
entry:
  %all = add i64 %size, {align}
  %wraps = icmp slt i64 %all, %size
  br i1 %wraps, label %none, label %choose
choose:
  %large = icmp sge i64 %size, {large}
  br i1 %large, label %kept, label %free
kept:
  %here = call i8* @jitgrad_meminfo_external(i64 %all, i8* bitcast ([4 x i8*]* @arena to i8*))
  ret i8* %here
free:
  %there = call i8* @jitgrad_meminfo(i64 %all)
  ret i8* %there
none:
  ret i8* null
}}

define i8* @jitgrad_arena_take(i64 %size, i8* %unused) {{
entry:
  br label %look
look:
  %k = phi i64 [0, %entry], [%next, %on]
  %slot = getelementptr [{slots} x i8*], [{slots} x i8*]* @slots, i64 0, i64 %k
  %there = load atomic i8*, i8** %slot monotonic, align 8
  %empty = icmp eq i8* %there, null
  br i1 %empty, label %on, label %hold
hold:
  %block = atomicrmw xchg i8** %slot, i8* null acq_rel
  %gone = icmp eq i8* %block, null
  br i1 %gone, label %on, label %compare
compare:
  %at = bitcast i8* %block to i64*
  %room = load i64, i64* %at
  %most = mul i64 %size, {slack}
  %fits = icmp uge i64 %room, %size
  %near = icmp ule i64 %room, %most
  %good = and i1 %fits, %near
  br i1 %good, label %found, label %back
back:
  %tried = cmpxchg i8** %slot, i8* null, i8* %block acq_rel monotonic
  %placed = extractvalue {{i8*, i1}} %tried, 1
  br i1 %placed, label %on, label %drop
drop:
  %dropped = atomicrmw sub i64* @jitgrad_arena_waiting, i64 %room monotonic
  call void @jitgrad_arena_free(i8* %block)
  br label %on
on:
  %next = add i64 %k, 1
  %over = icmp eq i64 %next, {slots}
  br i1 %over, label %new, label %look
found:
  %less = atomicrmw sub i64* @jitgrad_arena_waiting, i64 %room monotonic
  %old = getelementptr i8, i8* %block, i64 {header}
  ret i8* %old
new:
  %all = add i64 %size, {header}
  %wraps = icmp ult i64 %all, %size
  br i1 %wraps, label %none, label %ask
ask:
  %made = call i8* @jitgrad_arena_malloc(i64 %all)
  %failed = icmp eq i8* %made, null
  br i1 %failed, label %none, label %enter
enter:
  %head = bitcast i8* %made to i64*
  store i64 %size, i64* %head
  %fresh = getelementptr i8, i8* %made, i64 {header}
  ret i8* %fresh
none:
  ret i8* null
}}

define void @jitgrad_arena_give(i8* %data, i8* %unused) {{
entry:
  %block = getelementptr i8, i8* %data, i64 -{header}
  %at = bitcast i8* %block to i64*
  %room = load i64, i64* %at
  %before = atomicrmw add i64* @jitgrad_arena_waiting, i64 %room monotonic
  %now = add i64 %before, %room
  %many = icmp ugt i64 %now, {limit}
  br i1 %many, label %full, label %look
look:
  %k = phi i64 [0, %entry], [%next, %on]
  %slot = getelementptr [{slots} x i8*], [{slots} x i8*]* @slots, i64 0, i64 %k
  %there = load atomic i8*, i8** %slot monotonic, align 8
  %empty = icmp eq i8* %there, null
  br i1 %empty, label %place, label %on
place:
  %tried = cmpxchg i8** %slot, i8* null, i8* %block acq_rel monotonic
  %placed = extractvalue {{i8*, i1}} %tried, 1
  br i1 %placed, label %done, label %on
on:
  %next = add i64 %k, 1
  %over = icmp eq i64 %next, {slots}
  br i1 %over, label %full, label %look
full:
  %less = atomicrmw sub i64* @jitgrad_arena_waiting, i64 %room monotonic
  call void @jitgrad_arena_free(i8* %block)
  call i64 @jitgrad_arena_drain()
  br label %done
done:
  ret void
}}

define i64 @jitgrad_arena_drain() {{
entry:
  br label %look
look:
  %k = phi i64 [0, %entry], [%next, %on]
  %slot = getelementptr [{slots} x i8*], [{slots} x i8*]* @slots, i64 0, i64 %k
  %block = atomicrmw xchg i8** %slot, i8* null acq_rel
  %empty = icmp eq i8* %block, null
  br i1 %empty, label %on, label %free
free:
  %at = bitcast i8* %block to i64*
  %room = load i64, i64* %at
  %less = atomicrmw sub i64* @jitgrad_arena_waiting, i64 %room monotonic
  call void @jitgrad_arena_free(i8* %block)
  br label %on
on:
  %next = add i64 %k, 1
  %over = icmp eq i64 %next, {slots}
  br i1 %over, label %done, label %look
done:
  %left = load atomic i64, i64* @jitgrad_arena_waiting monotonic, align 8
  ret i64 %left
}}
"""


def _symbols() -> dict[str, int]:
    """The addresses of what the arena is made from."""
    registry.cpu_target.target_context  # noqa: B018  # starts Numba's runtime
    api = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p))(_nrt_python.c_helpers["get_api"])()
    raw = ctypes.pythonapi.PyMem_RawMalloc, ctypes.pythonapi.PyMem_RawFree  # need no lock
    malloc, free = (ctypes.cast(function, ctypes.c_void_p).value for function in raw)
    return {
        "jitgrad_meminfo": api[0],
        "jitgrad_meminfo_external": api[1],
        "jitgrad_arena_malloc": malloc,
        "jitgrad_arena_free": free,
    }  # type: ignore[dict-item]


def build(slots: int = SLOTS, limit: int = LIMIT) -> llvm.ExecutionEngine:
    """The functions and variables of an arena, compiled."""
    for name, address in _symbols().items():
        llvm.add_symbol(name, address)
    source = _SOURCE.format(
        slots=slots, slack=SLACK, header=HEADER, limit=limit, align=ALIGN, large=LARGE, reserve=RESERVE
    )
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(source), machine)
    engine.finalize_object()
    return engine


_engine = build()
llvm.add_symbol(RESERVE, _engine.get_function_address(RESERVE))
_waiting = ctypes.c_int64.from_address(_engine.get_global_value_address("jitgrad_arena_waiting"))
_drain = ctypes.CFUNCTYPE(ctypes.c_int64)(_engine.get_function_address("jitgrad_arena_drain"))


def waiting() -> int:
    """How many bytes wait for the next array."""
    return _waiting.value


def drain() -> None:
    """Give all memory that waits back to the system."""
    _drain()
