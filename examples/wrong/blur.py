"""A kernel with a mistake that its results do not show; `groundstate check` does.

groundstate check -- python examples/wrong/blur.py
"""

import groundstate as gs

COUNT = 1000

SOURCE = """\
kernel void blur(global const float *in, global float *out) {
    size_t i = get_global_id(0);
    float sum = in[i] + in[i + 1] + in[i + 2];
    out[i] = sum / 3.0f;
}
"""


def make_numbers(context, commands):
    numbers = context.alloc_shared(COUNT, "float32")
    commands.fill(numbers, 3.0)
    return numbers


def main():
    with gs.Context(gs.devices()[0]) as context:
        commands = gs.CommandList.immediate(context, in_order=True)
        numbers = make_numbers(context, commands)
        blurred = context.alloc_shared(COUNT, "float32")
        module = gs.Module(context, opencl=SOURCE, name="blur.cl")
        module["blur"](commands, COUNT // 250, 250, numbers, blurred)
        commands.synchronize()
        print("the first numbers:", blurred.tolist()[:3])


main()
