"""A range grows at its end if the addresses there are free; else its pages move to a larger one."""

import groundstate as gs

MIB = 1 << 20


def grow(space: gs.VirtualMemory, pages: gs.PhysicalMemory) -> list[gs.VirtualMemory]:
    """Doubles a range of 1 MiB whose pages are mapped: one range, or two in a row."""
    added = gs.VirtualMemory(space.context, MIB, start=space.address + MIB)
    if added.address == space.address + MIB:
        return [space, added]
    added.close()  # it came to lie elsewhere, which is of no use
    larger = gs.VirtualMemory(space.context, 2 * MIB)
    space.unmap(0)
    larger.map(pages)
    space.close()
    return [larger]


def first_word(space: gs.VirtualMemory) -> int:
    """The first four bytes of a range."""
    word = space.context.alloc_host(1, "uint32")
    with gs.CommandList.immediate(space.context) as commands:
        commands.copy(word, space.part(0, 1, "uint32"))
    return int(word.tolist()[0])


with gs.Context(gs.devices()[0]) as context:
    for taken in (False, True):
        space, pages = gs.VirtualMemory(context, MIB), gs.PhysicalMemory(context, MIB)
        space.map(pages)
        with gs.CommandList.immediate(context) as commands:
            commands.fill(space.part(0, MIB // 4, "uint32"), 0xFEED)
        neighbour = gs.VirtualMemory(context, MIB, start=space.address + MIB) if taken else None

        ranges = grow(space, pages)
        found = f"{first_word(ranges[0]):04x}"
        state = "taken" if taken else "free"
        print(f"neighbour {state}: 2 MiB in a row, and {found} is still there")
        assert sum(each.size_bytes for each in ranges) == 2 * MIB
        for each in (*ranges, pages, *([neighbour] if neighbour else [])):
            each.close()
