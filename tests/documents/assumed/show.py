"""The program that docs/howto/streams.md records: a few kernels, in several threads."""

import threading
from pathlib import Path

import groundstate as gs


def work(context, module, rounds):
    x, y = (context.alloc_shared(256, "float32") for _ in range(2))
    x.buffer()[0] = 1.0
    with gs.CommandList.immediate(context, in_order=True) as commands:
        for _ in range(rounds):
            module["blur"](commands, 4, 64, x, y)
            module["sharpen"](commands, 4, 64, y, x)
            module["histogram"](commands, 4, 64, x, y)


with gs.Context(gs.devices()[0]) as context:
    module = gs.Module(context, spirv=Path("kernels.spv").read_bytes())
    for _ in range(2):
        thread = threading.Thread(target=work, args=(context, module, 3))
        thread.start()
        thread.join()
