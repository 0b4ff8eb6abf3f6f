"""Contexts keep libraries apart: what is allocated in one is unknown to the other."""

import groundstate as gs

driver = gs.drivers()[0]
with gs.Context(driver) as context_a, gs.Context(driver) as context_b:
    a, b = context_a.alloc_host(80), context_b.alloc_host(88)
    b.buffer()[:14] = b"fourteen chars"

    # To the host, memory is memory.
    a.buffer()[:14] = b.buffer()[:14]
    print("copied by the host:", a[:14].tobytes().decode())

    # To a context, only its own is.
    def knows(context: gs.Context, memory: gs.Memory) -> str:
        kind = memory.allocation_properties(context).type
        return "no" if kind == gs.MemoryType.UNKNOWN else "yes"

    print("context A knows A's memory:", knows(context_a, a))
    print("context A knows B's memory:", knows(context_a, b))
    assert knows(context_b, b) == "yes"
