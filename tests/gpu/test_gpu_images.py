"""Images and samplers on a GPU: kernels sample as they do on the CPU, and copies keep texels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

import groundstate as gs

SOURCE = """
kernel void sample(read_only image2d_t image, sampler_t sampler, global float4 *out, float step) {
    int x = get_global_id(0), y = get_global_id(1);
    float2 at = (float2)((x - 3) * step, (y - 2) * step);
    out[y * get_global_size(0) + x] = read_imagef(image, sampler, at);
}
kernel void turn(read_only image2d_t from, write_only image2d_t to) {
    int x = get_global_id(0), y = get_global_id(1);
    write_imageui(to, (int2)(y, x), read_imageui(from, (int2)(x, y)));
}
kernel void slices(read_only image3d_t from, write_only image2d_array_t to) {
    int4 at = (int4)(get_global_id(0), get_global_id(1), get_global_id(2), 0);
    write_imagef(to, at, 2 * read_imagef(from, at));
}
kernel void sizes(read_only image2d_array_t image, global int *out) {
    out[0] = get_image_width(image); out[1] = get_image_height(image);
    out[2] = get_image_array_size(image); out[3] = get_image_channel_order(image);
}
"""


def sampled(
    device: gs.Device, format: str, address: gs.AddressMode, filter: gs.FilterMode
) -> npt.NDArray[np.float32]:
    """Texels around and in an image, normalised coordinates a fraction of a texel apart."""
    width, height = 40, 30
    with gs.Context(device) as context, gs.Image(context, (16, 20), format) as image:
        raw = np.random.default_rng(7).integers(0, 120, image.region_bytes(), np.uint8)
        image.upload(raw.view(image.format.dtype.typestr).reshape(image.shape))
        out = context.alloc_host((height, width, 4), "float32")
        with (
            gs.Module(context, opencl=SOURCE) as module,
            gs.Sampler(context, address, filter) as sampler,
            gs.CommandList.immediate(context, in_order=True) as commands,
        ):
            kernel = module["sample"]
            kernel.launch(
                image, sampler, out, 0.0371, global_size=(width, height), group_size=8, on=commands
            )
            commands.synchronize()
        return out.numpy().copy()


@pytest.mark.parametrize("format", ["rgba8unorm", "rg16float", "r32float", "b5g6r5unorm"])
@pytest.mark.parametrize("address", list(gs.AddressMode)[1:])
@pytest.mark.parametrize("filter", list(gs.FilterMode))
def test_sampling_gives_what_the_cpu_gives(
    cpu: gs.Device, gpu: gs.Device, format: str, address: gs.AddressMode, filter: gs.FilterMode
) -> None:
    here, there = (sampled(device, format, address, filter) for device in (cpu, gpu))
    assert np.allclose(here, there, rtol=1e-5, atol=1e-6, equal_nan=True)


def test_kernel_writes_image(ctx: gs.Context, commands: gs.CommandList) -> None:
    texels = np.random.default_rng(1).integers(0, 256, (24, 56, 4), np.uint8)
    with (
        gs.Module(ctx, opencl=SOURCE) as module,
        gs.Image(ctx, (24, 56), "rgba8uint") as wide,
        gs.Image(ctx, (56, 24), "rgba8uint") as tall,
    ):
        wide.upload(texels)
        module["turn"].launch(wide, tall, global_size=(56, 24), group_size=8, on=commands)
        commands.synchronize()
        assert np.array_equal(tall.download(), texels.transpose(1, 0, 2))


def test_volume_becomes_layers(ctx: gs.Context, commands: gs.CommandList) -> None:
    texels = np.random.default_rng(2).random((3, 16, 8), np.float32)
    out = ctx.alloc_host(4, "int32")
    with (
        gs.Module(ctx, opencl=SOURCE) as module,
        gs.Image(ctx, (3, 16, 8), "r32float") as volume,
        gs.Image(ctx, (3, 16, 8), "r32float", "2d_array") as layers,
    ):
        volume.upload(texels)
        kernel = module["slices"]
        kernel.launch(volume, layers, global_size=(8, 16, 3), group_size=(8, 8, 1), on=commands)
        module["sizes"](commands, 1, 1, layers, out)
        commands.synchronize()
        assert np.array_equal(layers.download().reshape(texels.shape), 2 * texels)
        assert out.tolist()[:3] == [8, 16, 3]
