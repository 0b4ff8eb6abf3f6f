"""Which loops may wait for what other work-items do, and which end whoever else runs."""

from __future__ import annotations

import pytest

from groundstate.compiler import pipeline
from groundstate.compiler.analysis.waiting import may_wait
from groundstate.compiler.program import Program
from tests.compiler.runner import program_of

SOURCE = """
#define I ((uint)get_global_id(0))
typedef volatile __global uint *places;
typedef __global uint *numbers;

__kernel void update(places p, numbers x) {
    uint old;
    do old = p[x[I]]; while (atomic_cmpxchg(&p[x[I]], old, old * 3 + 1) != old);
}
__kernel void update_of_floats(volatile __global float *p, __global const float *x) {
    union { float f; uint u; } old, next;
    do { old.f = *p; next.f = old.f + x[I]; }
    while (atomic_cmpxchg((places)p, old.u, next.u) != old.u);
}
__kernel void update_by_what_was_found(places p, numbers x) {
    uint old = *p, expected;
    do { expected = old; old = atomic_cmpxchg(p, expected, expected * 3); } while (old != expected);
}
__kernel void update_if_larger(places p, numbers x) {
    uint old = *p;
    while (old * 7 < x[I]) {
        uint seen = atomic_cmpxchg(p, old, x[I]);
        if (seen == old) break;
        old = seen;
    }
}
__kernel void push(places head, numbers next) {
    uint old;
    do { old = *head; next[I] = old; } while (atomic_cmpxchg(head, old, I) != old);
}
__kernel void claim(places table, numbers keys, uint mask) {
    uint key = keys[I], slot = key * 2654435761u & mask;
    for (;; slot = (slot + 1) & mask) {
        uint before = atomic_cmpxchg(&table[slot], 0u, key);
        if (before == 0 || before == key) break;
    }
}
__kernel void claim_after_look(places table, numbers keys, numbers values, uint mask) {
    uint key = keys[I], slot = key * 2654435761u & mask;
    for (;; slot = (slot + 1) & mask) {
        uint now = table[slot];
        if (now == key) break;
        if (now == ~0u) {
            uint before = atomic_cmpxchg(&table[slot], ~0u, key);
            if (before == ~0u || before == key) break;
        }
    }
    values[slot] = I;
}
__kernel void histogram(places counts, numbers x, uint n) {
    for (uint i = I; i < n; i += 1000) atomic_inc(&counts[x[i]]);
}
__kernel void append(places count, numbers out, numbers x, uint n) {
    for (uint i = I; i < n; i += 1000)
        if (x[i] & 1) { uint k = atomic_inc(count); if (k < 1000) out[k] = i; }
}
__kernel void relax(places dist, numbers starts, numbers to, numbers changed) {
    for (uint e = starts[I]; e < starts[I + 1]; e++)
        if (atomic_min(&dist[to[e]], I) > I) *changed = 1;
}

__kernel void lock(places l, numbers x) {
    while (atomic_cmpxchg(l, 0u, 1u) != 0u) ;
    x[0]++;
    atomic_xchg(l, 0u);
}
__kernel void lock_of_neighbour(places l, numbers x) {
    l[I] = 0;
    while (atomic_cmpxchg(&l[I ^ 1], 0u, I) != 0u) ;
    x[I]++;
}
__kernel void flag(places f, numbers x) { f[I] = 1; while (f[I + 1] == 0) ; x[I]++; }
__kernel void turn(places f, numbers x) {
    while (atomic_cmpxchg(f, I, I + 1) != I) ;
    x[I]++;
}
__kernel void look_at_turn(places f, numbers x) {
    while (atomic_add(f, 0u) != I) ;
    x[I]++;
    atomic_inc(f);
}
__kernel void update_when_allowed(places p, numbers x) {
    for (;;) {
        uint old = *p;
        if (old % 2 == I % 2 && atomic_cmpxchg(p, old, old + 1) == old) break;
    }
}
__kernel void until_done(places l, numbers done) {
    while (done[I] == 0)
        if (atomic_cmpxchg(l, 0u, 1u) == 0u) { done[I + 1] = 1; atomic_xchg(l, 0u); }
}
__kernel void until_done_somewhere(places l, __global numbers *lists) {
    while (lists[1][I] == 0)
        if (atomic_cmpxchg(l, 0u, 1u) == 0u) { lists[0][I] = 1; atomic_xchg(l, 0u); }
}
__kernel void claim_of_two_kinds(places p, numbers x) {
    while (atomic_cmpxchg(p, 0u, I) != 0u) ;
    atomic_cmpxchg(p, I, 0u);
}
__kernel void claim_then_go_on(places p, numbers x, uint mask) {
    uint slot = I;
    while (atomic_cmpxchg(&p[slot], 0u, I) != 5u) slot = (slot + 1) & mask;
}
"""
ENDS_ALONE = (
    "update",
    "update_of_floats",
    "update_by_what_was_found",
    "update_if_larger",
    "push",
    "claim",
    "claim_after_look",
    "histogram",
    "append",
    "relax",
)
MAY_WAIT = (
    "lock",
    "lock_of_neighbour",
    "flag",
    "turn",
    "look_at_turn",
    "update_when_allowed",
    "until_done",
    "until_done_somewhere",
    "claim_of_two_kinds",
    "claim_then_go_on",
)


@pytest.fixture(scope="module")
def program() -> Program:
    return program_of(SOURCE)


@pytest.mark.parametrize("name", ENDS_ALONE)
def test_loop_ends_whoever_else_runs(program: Program, name: str) -> None:
    assert not may_wait(program.kernel(name))


@pytest.mark.parametrize("name", MAY_WAIT)
def test_loop_may_wait_for_others(program: Program, name: str) -> None:
    assert may_wait(program.kernel(name))


def test_exchange_loop_has_several_shapes(program: Program) -> None:
    assert 1 in pipeline.shapes_of(program, "claim", (64, 1, 1))
