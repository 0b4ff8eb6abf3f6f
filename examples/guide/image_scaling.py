"""A module, a kernel, two images: the guide's image_scaling, for one pair and then another."""

import numpy

import groundstate as gs

SOURCE = """
constant sampler_t smooth =
    CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_LINEAR;

kernel void image_scaling(read_only image2d_t source, write_only image2d_t target,
                          uint width, uint height) {
    int2 here = (int2)(get_global_id(0), get_global_id(1));
    float2 there = convert_float2(here) / (float2)(width, height);
    write_imagef(target, here, read_imagef(source, smooth, there));
}
"""

SIDE, WIDTH, HEIGHT, GROUP = 64, 160, 96, (16, 8)


def scaled(picture: numpy.ndarray) -> numpy.ndarray:
    """What should come out: each texel a mean of four of the picture."""
    u = numpy.arange(WIDTH) / WIDTH * SIDE - 0.5
    v = (numpy.arange(HEIGHT) / HEIGHT * SIDE - 0.5)[:, None]
    i, j = numpy.floor(u).astype(int), numpy.floor(v).astype(int)

    def texel(x: numpy.ndarray, y: numpy.ndarray) -> numpy.ndarray:
        return picture[y.clip(0, SIDE - 1), x.clip(0, SIDE - 1)].astype(float)

    a, b = u - i, v - j
    upper = (1 - a) * texel(i, j) + a * texel(i + 1, j)
    lower = (1 - a) * texel(i, j + 1) + a * texel(i + 1, j + 1)
    return (1 - b) * upper + b * lower


y, x = numpy.mgrid[:SIDE, :SIDE]
pictures = [(x + 2 * y).astype("float32"), (x * y % 17).astype("float32")]  # a slope and waves

with gs.Context(gs.devices()[0]) as context, gs.CommandQueue(context) as queue:
    kernel = gs.Module(context, opencl=SOURCE)["image_scaling"]
    sources = [gs.Image(context, (SIDE, SIDE), "r32float", writable=False) for _ in pictures]
    targets = [gs.Image(context, (HEIGHT, WIDTH), "r32float") for _ in pictures]

    # A launch takes a copy of the arguments, so that one kernel serves both pairs.
    commands = gs.CommandList(context)
    groups = (WIDTH // GROUP[0], HEIGHT // GROUP[1])
    for picture, source, target in zip(pictures, sources, targets, strict=True):
        source.upload(picture)
        kernel(commands, groups, GROUP, source, target, WIDTH, HEIGHT)
    queue.execute(commands)
    queue.synchronize()

    for which, (picture, target) in enumerate(zip(pictures, targets, strict=True)):
        result = target.download()
        assert abs(result - scaled(picture)).max() < 0.001
        print(f"picture {which}: {result[HEIGHT // 2, WIDTH // 2]:.2f} in the middle")
