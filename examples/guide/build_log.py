"""A module that cannot be built comes with a log that says why."""

import groundstate as gs
from groundstate.compiler.opencl.frontend import compile_opencl

SOURCE = """
kernel void nothing(void) {}
"""

spirv = compile_opencl(SOURCE)
with gs.Context(gs.devices()[0]) as context:
    module = gs.Module(context, spirv=spirv)
    print(f"built, with {len(module.log.splitlines())} lines in the log")

    # Without its last word, which ends the last function, it is no program any more.
    try:
        gs.Module(context, spirv=spirv[:-4])
    except gs.errors.ModuleBuildFailure as failure:
        print("not built:", failure.description)
