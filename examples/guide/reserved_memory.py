"""Addresses first, pages later: a range is reserved, given physical memory, and asked."""

import groundstate as gs

with gs.Context(gs.devices()[0]) as context, gs.VirtualMemory(context, 1 << 20) as space:
    # The size was rounded up to pages, and the range begins with one.
    assert space.address % space.page_bytes == 0

    # Physical memory of that size, and its place in the range.
    pages = gs.PhysicalMemory(context, space.size_bytes)
    space.map(pages, access=gs.Access.READWRITE)

    # The answer for the first page holds for the whole range.
    access, reach = space.access(0)
    allowed = access == gs.Access.READWRITE and reach == space.size_bytes
    print(reach, "bytes may be read and written:", "yes" if allowed else "no")

    # It is memory like any other.
    words = space.part(0, space.size_bytes // 4, "uint32")
    result = context.alloc_host(words.shape, "uint32")
    with gs.CommandList.immediate(context, in_order=True) as commands:
        commands.fill(words, 0x01234567)
        commands.copy(result, words)
    array = result.numpy()
    print(f"first and last word: {array[0]:08x} {array[-1]:08x}")
    assert (array == 0x01234567).all()
