"""Virtual memory: reserved addresses, pages, and their access."""

from __future__ import annotations

import gc

import pytest

import groundstate as gs
from tests.conftest import what_there_is

SIZE = 1 << 20


def test_sizes_are_whole_pages(ctx: gs.Context) -> None:
    space = gs.VirtualMemory(ctx, 1)
    assert space.size_bytes == space.page_bytes
    assert space.address % space.page_bytes == 0
    assert gs.PhysicalMemory(ctx, 1).size_bytes % space.page_bytes == 0


@pytest.mark.parametrize("on_host", [False, True])
def test_physical_pages_keep_data_when_remapped(ctx: gs.Context, on_host: bool) -> None:
    space = gs.VirtualMemory(ctx, SIZE)
    page = space.page_bytes
    pages = gs.PhysicalMemory(ctx, page, on_host=on_host)
    back = ctx.alloc_host(8)
    space.map(pages, 0)
    with gs.CommandList.immediate(ctx) as commands:
        commands.fill(space.part(0, 8), 3)
    space.unmap(0)
    space.map(pages, 4 * page)
    with gs.CommandList.immediate(ctx) as commands:
        commands.copy(back, space.part(4 * page, 8))
    assert back.tolist() == [3] * 8


def test_a_part_is_memory_with_a_shape(ctx: gs.Context) -> None:
    space = gs.VirtualMemory(ctx, SIZE)
    space.map(gs.PhysicalMemory(ctx, space.page_bytes, on_host=True), space.page_bytes)
    part = space.part(space.page_bytes + 16, (2, 2), "float32")
    assert part.address == space.address + space.page_bytes + 16
    part.numpy()[:] = 1.5
    assert part.tolist() == [[1.5, 1.5], [1.5, 1.5]]


def test_pages_stay_while_a_part_is_used(ctx: gs.Context) -> None:
    space = gs.VirtualMemory(ctx, SIZE)
    pages = gs.PhysicalMemory(ctx, space.page_bytes, on_host=True)
    space.map(pages)
    part = space.part(0, 4)
    part.buffer()[:] = b"stay"
    space.close()
    pages.close()
    del space, pages
    gc.collect()
    assert part.tobytes() == b"stay"


def test_closing_takes_everything_out(ctx: gs.Context) -> None:
    before = what_there_is()
    with gs.VirtualMemory(ctx, SIZE) as space:
        for place in range(4):
            space.map(gs.PhysicalMemory(ctx, space.page_bytes), place * space.page_bytes)
        assert "4 mapped pieces" in repr(space)
    del space
    assert what_there_is() == before


def test_access_can_be_asked_and_changed(ctx: gs.Context) -> None:
    space = gs.VirtualMemory(ctx, SIZE)
    page = space.page_bytes
    space.map(gs.PhysicalMemory(ctx, 2 * page), 0, access=gs.Access.READONLY)
    assert space.access(0, 2 * page) == (gs.Access.READONLY, 2 * page)
    space.set_access(gs.Access.READWRITE, 0, page)
    assert space.access(0, page) == (gs.Access.READWRITE, page)
    assert space.access(page, page)[0] == gs.Access.READONLY


def test_mistakes_are_answered_with_a_sentence(ctx: gs.Context) -> None:
    space = gs.VirtualMemory(ctx, SIZE)
    with pytest.raises(ValueError, match="nothing is mapped at offset 0: call map first"):
        space.part(0, 4)
    with pytest.raises(ValueError, match="nothing was mapped at offset 0"):
        space.unmap(0)
    pages = gs.PhysicalMemory(ctx, space.page_bytes)
    with pytest.raises(ValueError, match="reach beyond the range"):
        space.map(pages, SIZE)
    with pytest.raises(gs.LevelZeroError):
        space.map(pages, 1)
