"""Structures of words that lie behind each other, of which lanes read and write some members."""

from __future__ import annotations

import numpy as np
import pytest

from groundstate.compiler import pipeline
from tests.compiler.runner import program_of, run

ITEMS, GROUP = 192, 64
WIDTHS = (None, 1, 8)
MEMBERS = (3, 5, 7, 8, 12)


def source(members: int, stored: int, type_: str, condition: str = "") -> str:
    """Each work-item writes the sums of neighbours to some members of its structure."""
    sums = " ".join(
        f"p[i * {members} + {each}] = v[{each}] + v[{(each + 1) % members}] * 3;"
        for each in range(stored)
    )
    loads = " ".join(f"v[{each}] = p[i * {members} + {each}];" for each in range(members))
    return f"""kernel void records(global {type_} *p) {{
        int i = get_global_id(0); {type_} v[{members}]; {loads} {condition} {{ {sums} }} }}"""


def expected(given: np.ndarray, stored: int, chosen: np.ndarray) -> np.ndarray:
    result = given.copy()
    sums = given + np.roll(given, -1, axis=1) * 3
    result[:, :stored] = np.where(chosen[:, None], sums, given)[:, :stored]
    return result


@pytest.mark.parametrize("type_", ["float", "short"])
@pytest.mark.parametrize("members", MEMBERS)
def test_members_are_read_and_written(members: int, type_: str) -> None:
    dtype = {"float": np.float32, "short": np.int16}[type_]
    given = np.arange(ITEMS * members).reshape(ITEMS, members).astype(dtype)
    everywhere = np.ones(ITEMS, bool)
    for stored in (members, members - 1):
        program = program_of(source(members, stored, type_))
        for width in WIDTHS:
            memory = np.full((ITEMS + 2, members), 77, dtype)
            memory[1:-1] = given
            run(program, "records", (3, 1, 1), (GROUP, 1, 1), memory[1:], width=width)
            wanted = expected(given, stored, everywhere)
            assert np.array_equal(memory[1:-1], wanted), (stored, width)
            assert (memory[[0, -1]] == 77).all()


@pytest.mark.parametrize("members", MEMBERS)
def test_lanes_that_write_nothing_leave_their_structures(members: int) -> None:
    given = np.arange(ITEMS * members).reshape(ITEMS, members).astype(np.float32)
    program = program_of(source(members, members - 1, "float", "if (i % 3)"))
    for width in WIDTHS:
        memory = given.copy()
        run(program, "records", (3, 1, 1), (GROUP, 1, 1), memory, width=width)
        wanted = expected(given, members - 1, np.arange(ITEMS) % 3 != 0)
        assert np.array_equal(memory, wanted), width


def test_members_are_stored_in_their_order() -> None:
    """Two stores to one place: the second one stays."""
    program = program_of("""kernel void twice(global float *p, global const float *q) {
        int i = get_global_id(0) * 6;
        p[i] = 1; p[i + 1] = 2; p[i] = q[i]; p[i + 2] = 3; p[i + 3] = 4; p[i + 1] = 5; }""")
    given = np.arange(6.0 * GROUP, dtype=np.float32)
    memory = np.zeros((GROUP, 6), np.float32)
    run(program, "twice", (1, 1, 1), (GROUP, 1, 1), memory, given)
    assert np.array_equal(memory[:, 0], given[::6])
    assert (memory[:, 1:] == [5, 3, 4, 0, 0]).all()


def test_four_members_are_one_store() -> None:
    program = program_of(source(7, 6, "float"))
    kernel = pipeline.specialise(program, "records", (GROUP, 1, 1), 16).kernel
    stores = [node.operands[1].type for node in kernel.nodes() if node.op == "Store"]
    assert sorted(type_.size for type_ in stores) == [8, 16]
