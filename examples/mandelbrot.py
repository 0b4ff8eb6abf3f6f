"""A picture computed by a kernel: the Mandelbrot set, as the device sees it.

The kernel is OpenCL C. It is compiled to SPIR-V and from there to vector code for this machine's
CPU; each work-item computes one pixel, and the device's cores share the rows.

    python examples/mandelbrot.py [picture.png]
"""

import sys
import tempfile
from pathlib import Path

from png import CHANNELS, write_png
from rich.console import Console

import groundstate as gs

WIDTH, HEIGHT = 1536, 1024
STEPS = 400
GROUP = (32, 8)

SOURCE = """
__kernel void mandelbrot(__global uchar *pixels, int width, int height, int steps)
{
    int column = get_global_id(0), row = get_global_id(1);
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
    __global uchar *pixel = pixels + 3 * (row * width + column);
    int inside = step == steps;
    pixel[0] = inside ? 0 : (uchar)(127.5f - 127.5f * native_cos(phase));
    pixel[1] = inside ? 0 : (uchar)(127.5f - 127.5f * native_cos(phase + 0.7f));
    pixel[2] = inside ? 0 : (uchar)(127.5f - 127.5f * native_cos(phase + 1.6f));
}
"""


def main() -> None:
    """Computes the picture on the first device and says where it is."""
    default = Path(tempfile.gettempdir()) / "mandelbrot.png"
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    console = Console(highlight=False)
    device = gs.devices()[0]
    with (
        gs.Context(device) as context,
        gs.Module(context, opencl=SOURCE) as module,
        gs.Kernel(module, "mandelbrot") as kernel,
        gs.EventPool(context, 1, timestamps=True) as pool,
        gs.CommandList.immediate(context, in_order=True) as commands,
    ):
        picture = context.alloc_shared((HEIGHT, WIDTH, CHANNELS))
        grid = (WIDTH // GROUP[0], HEIGHT // GROUP[1])
        done = pool.event()
        kernel(commands, grid, GROUP, picture, WIDTH, HEIGHT, STEPS, signal=done)
        done.wait()
        stamps = done.timestamps
        elapsed_ns = device.timer.nanoseconds(stamps.start, stamps.end, kernel=True)
        write_png(path, picture.tobytes(), WIDTH, HEIGHT)
    rate = WIDTH * HEIGHT / elapsed_ns * 1000
    console.print(
        f"The Mandelbrot set, {WIDTH} x {HEIGHT} pixels, computed by {device.name} "
        f"in {elapsed_ns / 1e6:.0f} ms ({rate:.1f} million pixels a second):",
        soft_wrap=True,
    )
    console.print(str(path), style="bold", soft_wrap=True)


if __name__ == "__main__":
    main()
