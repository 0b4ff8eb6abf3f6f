"""A small program with kernels, images and a list that runs twice, recorded for tests."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.capture.recorded import only_stream, record

PROGRAM = '''
import sys
import numpy
import groundstate as gs

SOURCE = """
kernel void scale(global float *x, float by) { x[get_global_id(0)] *= by; }
kernel void root(global const float *x, global float *out) {
    size_t i = get_global_id(0);
    out[i] = sqrt(x[i]) / 3.0f;
}
kernel void paint(write_only image2d_t out, global const uint *from) {
    int2 at = (int2)(get_global_id(0), get_global_id(1));
    write_imagef(out, at, (float4)(at.x / 7.0f, at.y / 3.0f, from[0] / 255.0f, 1.0f));
}
"""

with gs.Context(gs.devices()[0]) as context:
    module = gs.Module(context, opencl=SOURCE)
    x = context.alloc_shared(256, "float32")
    out = context.alloc_device(256, "float32")
    x.numpy()[:] = numpy.arange(256)
    twice = gs.CommandList(context, in_order=True)
    module["scale"](twice, 4, 64, x, 2.0)
    module["root"](twice, 4, 64, x, out)
    twice.finish()
    queue = gs.CommandQueue(context)
    queue.execute(twice)
    queue.synchronize()
    x.numpy()[0] = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    queue.execute(twice)
    queue.synchronize()
    picture = gs.Image(context, (4, 8), "rgba8unorm")
    blue = context.alloc_shared(1, "uint32")
    blue.numpy()[:] = 200
    with gs.CommandList.immediate(context, in_order=True) as commands:
        module["paint"](commands, (2, 1), (4, 4), picture, blue)
'''


def record_program(out: Path, *arguments: str, options: tuple[str, ...] = ()) -> Path:
    """Records the program and gives back its stream."""
    record(out, sys.executable, "-c", PROGRAM, *arguments, options=options)
    return only_stream(out)
