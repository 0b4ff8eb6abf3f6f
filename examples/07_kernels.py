"""7. Kernels: your own code on the device, once for each work-item.

A module is built from OpenCL C; its kernels are launched like functions. A launch says how many
groups there are and how many work-items each of them has.
"""

import struct

import groundstate as gs

SOURCE = """
kernel void scale(global float *numbers, float by, uint count) {
    size_t i = get_global_id(0);
    if (i < count) numbers[i] *= by;
}

/* A group shares local memory: here it adds up its numbers in it, halving them in each round. */
kernel void add_up(global const float *numbers, global float *sums, local float *shared) {
    size_t i = get_local_id(0);
    shared[i] = numbers[get_global_id(0)];
    for (size_t rest = get_local_size(0) / 2; rest > 0; rest /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < rest) shared[i] += shared[i + rest];
    }
    if (i == 0) sums[get_group_id(0)] = shared[0];
}

typedef struct { int x, y; float weight; } point;
kernel void plot(global float *board, int width, point p) { board[p.y * width + p.x] = p.weight; }
"""

with gs.Context(gs.devices()[0]) as context:
    module = gs.Module(context, opencl=SOURCE)
    print("kernels:", ", ".join(module.kernel_names))
    print("scale takes:", ", ".join(each.declaration for each in module["scale"].arguments))

    numbers, sums = context.alloc_shared(1000, "float32"), context.alloc_shared(4, "float32")
    commands = gs.CommandList.immediate(context, in_order=True)
    commands.fill(numbers, 0.5)

    # Four groups of 256 are 1024 work-items, more than there are numbers: hence `count`.
    module["scale"](commands, 4, 256, numbers, 3.0, 1000)
    # Local memory is given by its size, and each group has its own.
    module["add_up"](commands, 4, 128, numbers, sums, gs.Local(128, "float32"))
    commands.synchronize()
    print("sums of 128 numbers:", sums.tolist())

    # A structure is passed as its bytes; a NumPy record or a ctypes structure will do as well.
    board = context.alloc_shared((2, 4), "float32")
    commands.fill(board, 0.0)
    module["plot"](commands, 1, 1, board, 4, struct.pack("iif", 2, 1, 0.25))
    commands.synchronize()
    print("board:", board.tolist())

    # Arguments are checked against the source before anything runs.
    for wrong in ((numbers, "three", 1000), (numbers, 3.0), (sums.view("int32"), 3.0, 4)):
        try:
            module["scale"](commands, 1, 4, *wrong)
        except TypeError as problem:
            print(problem)

    # A mistake in the source is shown where it is.
    try:
        gs.Module(context, opencl="kernel void f(global int *a) { a[0] = b; }", name="wrong.cl")
    except gs.errors.ModuleBuildFailure as problem:
        print(problem.description.splitlines()[0])
