"""A picture computed by a kernel: the Mandelbrot set, as the device sees it.

The kernel is OpenCL C. It is compiled to SPIR-V and from there to vector code for this machine's
CPU; each work-item computes one pixel, and the device's cores share the rows. The same lines,
compiled as plain C, compute it on one core to compare with.

    python examples/mandelbrot.py [picture.png]
"""

import ctypes
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from png import CHANNELS, picture_path, write_png
from rich.console import Console

import groundstate as gs

WIDTH, HEIGHT = 1536, 1024
STEPS = 400
GROUP = (32, 8)
GRID = (WIDTH // GROUP[0], HEIGHT // GROUP[1])
RUNS = 15

PIXEL = """
    float re = -2.2f + 3.2f * column / width, im = 1.07f - 2.14f * row / height;
    float x = 0.0f, y = 0.0f;
    int step = 0;
    while (step < steps && x * x + y * y < 256.0f) {
        float next = x * x - y * y + re;
        y = 2.0f * x * y + im;
        x = next;
        step++;
    }
    /* A fraction of a step smooths the bands between one count and the next. */
    float smooth = step + 4.0f - native_log2(native_log2(x * x + y * y));
    float phase = 0.35f * native_sqrt(fmax(smooth, 0.0f));
    int inside = step == steps;
    pixel[0] = inside ? 0 : (uchar)(127.5f - 127.5f * native_cos(phase));
    pixel[1] = inside ? 0 : (uchar)(127.5f - 127.5f * native_cos(phase + 0.7f));
    pixel[2] = inside ? 0 : (uchar)(127.5f - 127.5f * native_cos(phase + 1.6f));
"""

KERNEL = f"""
__kernel void mandelbrot(__global uchar *pixels, int width, int height, int steps)
{{
    int column = get_global_id(0), row = get_global_id(1);
    __global uchar *pixel = pixels + 3 * (row * width + column);
    {PIXEL}
}}
"""

PLAIN_C = f"""
#include <math.h>
typedef unsigned char uchar;
#define native_log2 log2f
#define native_sqrt sqrtf
#define native_cos cosf
#define fmax fmaxf
void mandelbrot(uchar *pixels, int width, int height, int steps)
{{
    for (int row = 0; row < height; row++)
        for (int column = 0; column < width; column++) {{
            uchar *pixel = pixels + 3 * (row * width + column);
            {PIXEL}
        }}
}}
"""


def seconds(work: Callable[[], object]) -> float:
    """How long some work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def time_in_plain_c() -> float | None:
    """How long one core takes for the picture in plain C; None if there is no C compiler."""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "plain.so")
        options = ["-O2", "-shared", "-fPIC", "-x", "c", "-", "-lm", "-o", str(library)]
        subprocess.run([compiler, *options], input=PLAIN_C.encode(), check=True)
        compute = ctypes.CDLL(str(library)).mandelbrot
        pixels = ctypes.create_string_buffer(WIDTH * HEIGHT * CHANNELS)
        return min(seconds(lambda: compute(pixels, WIDTH, HEIGHT, STEPS)) for _ in range(2))


def main() -> None:
    """Computes the picture on the first device, says how long that took and where it is."""
    path = picture_path("mandelbrot.png")
    device = gs.devices()[0]
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"The Mandelbrot set, {WIDTH} x {HEIGHT} pixels, computed by {device.name}:")
    start = time.perf_counter()
    with (
        gs.Context(device) as context,
        gs.Module(context, opencl=KERNEL) as module,
        gs.Kernel(module, "mandelbrot") as kernel,
        gs.CommandList.immediate(context, in_order=True) as commands,
    ):

        def run(memory: gs.Memory, grid: tuple[int, int] = GRID) -> None:
            kernel(commands, grid, GROUP, memory, WIDTH, HEIGHT, STEPS)
            commands.synchronize()

        run(context.alloc_shared((GROUP[1], WIDTH, CHANNELS)), (1, 1))
        compiled = time.perf_counter() - start
        picture = context.alloc_shared((HEIGHT, WIDTH, CHANNELS))
        first = seconds(lambda: run(picture))
        steady = statistics.median(seconds(lambda: run(picture)) for _ in range(RUNS))
        write_png(path, picture.tobytes(), WIDTH, HEIGHT)
    rate = WIDTH * HEIGHT / steady / 1e6
    console.print(f"  compiled in  {compiled * 1e3:7.1f} ms, or taken from the cache")
    console.print(f"  first run    {first * 1e3:7.1f} ms, with new memory")
    console.print(f"  then         {steady * 1e3:7.1f} ms, {rate:.0f} million pixels a second")
    plain = time_in_plain_c()
    if plain is not None:
        times = plain / steady
        console.print(
            f"  plain C      {plain * 1e3:7.1f} ms on one core, {times:.1f} times as long"
        )
    console.print(str(path), style="bold")


if __name__ == "__main__":
    main()
