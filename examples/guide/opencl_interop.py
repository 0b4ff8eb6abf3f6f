"""From an OpenCL program to a Level Zero kernel.

If one driver stands behind both, the binary of the program is a module; a binary of another driver
is refused, and then the program is built again from what it was made of. Needs pyopencl, and an
OpenCL such as PoCL.
"""

import numpy
import pyopencl as cl

import groundstate as gs

SOURCE = """
kernel void triangle(global uint *out) {
    uint i = get_global_id(0), sum = 0;
    for (uint each = 1; each <= i; each++)
        sum += each;
    out[i] = sum;
}
"""

ITEMS = 64

cl_context = cl.Context(cl.get_platforms()[0].get_devices()[:1])
program = cl.Program(cl_context, SOURCE).build()
queue, there = cl.CommandQueue(cl_context), numpy.empty(ITEMS, "uint32")
buffer = cl.Buffer(cl_context, cl.mem_flags.READ_WRITE, there.nbytes)
cl.Kernel(program, "triangle")(queue, (ITEMS,), None, buffer)
cl.enqueue_copy(queue, there, buffer)
print("OpenCL computed", there[-1])

with gs.Context(gs.devices()[0]) as context:
    try:
        module = gs.Module(context, native=program.binaries[0])
    except gs.errors.InvalidNativeBinary:
        print("its binary is one of this driver: no")
        module = gs.Module(context, opencl=program.source)
    else:
        print("its binary is one of this driver: yes")

    here = context.alloc_shared(ITEMS, "uint32")
    with gs.CommandList.immediate(context) as commands:
        module["triangle"](commands, 1, ITEMS, here)
    print("Level Zero computed", here.tolist()[-1])
    assert here.tolist() == there.tolist()
