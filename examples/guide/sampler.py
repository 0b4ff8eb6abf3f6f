"""A sampler says how a kernel reads between the texels of an image, and beyond them."""

import numpy

import groundstate as gs

SOURCE = """
kernel void look(sampler_t how, read_only image2d_t image, global float *seen) {
    float x = get_global_id(0) * 0.5f - 1.0f;
    seen[get_global_id(0)] = read_imagef(image, how, (float2)(x, 0.5f)).x;
}
"""

POINTS = 13

with gs.Context(gs.devices()[0]) as context:
    image = gs.Image(context, (1, 4), "r32float", writable=False)
    image.upload(numpy.array([0, 10, 20, 30], "float32"))
    kernel = gs.Module(context, opencl=SOURCE)["look"]
    seen = context.alloc_shared(POINTS, "float32")
    x = numpy.arange(POINTS) * 0.5 - 1
    places = {"linear": x - 0.5, "nearest": numpy.floor(x)}

    for filter_mode in (gs.FilterMode.LINEAR, gs.FilterMode.NEAREST):
        # What is outside looks like the edge, and coordinates count texels.
        sampler = gs.Sampler(context, gs.AddressMode.CLAMP, filter_mode, normalized=False)
        with gs.CommandList.immediate(context) as commands:
            kernel(commands, 1, POINTS, sampler, image, seen)
        name = filter_mode.name.lower()
        print(f"{name}:", *(f"{each:.1f}" for each in seen.tolist()))
        assert numpy.allclose(seen.numpy(), 10 * places[name].clip(0, 3))
