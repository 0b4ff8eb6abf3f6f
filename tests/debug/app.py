"""A program whose kernel is debugged."""

import sys
from pathlib import Path

import groundstate as gs

SOURCE = Path(__file__).with_name("kernel.cl").read_text()
COUNT = int(sys.argv[1]) if len(sys.argv) > 1 else 16

with gs.Context(gs.devices()[0]) as context:
    module = gs.Module(context, opencl=SOURCE, name="kernel.cl")
    given, out = context.alloc_shared(16, "float32"), context.alloc_shared(16, "float32")
    commands = gs.CommandList.immediate(context, in_order=True)
    for index in range(16):
        commands.fill(given[index : index + 1], float(index))
    commands.fill(out, 0.0)
    module["work"](commands, 2, 8, out, given, COUNT, gs.Local(8, "float32"))
    commands.synchronize()
    print("out:", [round(each, 2) for each in out.tolist()], flush=True)
