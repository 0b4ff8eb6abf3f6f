"""Memory leaves as a file descriptor, and comes in as one: both ends are the same memory."""

import mmap
import os

import groundstate as gs

WORDS = 1 << 14
KIND = gs.ExternalMemoryType.DMA_BUF

device = gs.devices()[0]
can = device.external_memory
both = can.memory_export_types & can.memory_import_types & KIND
print("memory can leave and come in as a DMA buffer:", "yes" if both else "no")

with gs.Context(device) as context:
    # What is to be exported says so when it is allocated. The descriptor is ours to close.
    exported = context.alloc_device(WORDS, "uint32", export=KIND)
    fd = exported.export_fd(KIND)
    imported = context.import_fd(fd, WORDS, "uint32", type=KIND)
    assert imported.address != exported.address

    # Written at one end, read at the other, and by whoever maps the descriptor.
    seen = context.alloc_host(WORDS, "uint32")
    with gs.CommandList.immediate(context, in_order=True) as commands:
        commands.fill(exported, 0xCAFE)
        commands.copy(seen, imported)
    words = seen.tolist()
    print(f"through the import: {words[0]:x} ... {words[-1]:x}")
    with mmap.mmap(fd, 4 * WORDS, prot=mmap.PROT_READ) as mapped:
        words = [*memoryview(mapped[:]).cast("I")]
    print(f"through the descriptor: {words[0]:x} ... {words[-1]:x}")
    assert set(words) == set(seen.tolist()) == {0xCAFE}
    os.close(fd)
