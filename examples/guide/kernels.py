"""Kernels are had from a module by name, and say what they need."""

import groundstate as gs

SOURCE = """
kernel __attribute__((reqd_work_group_size(8, 4, 1)))
void blur(global const float *in, global float *out, float weight) {
    local float tile[32];
    size_t i = get_local_linear_id();
    tile[i] = in[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[i] = weight * tile[31 - i];
}
"""

UNLINKED = """
float somewhere_else(float x);
kernel void blur(global float *out) { *out = somewhere_else(*out); }
"""

with gs.Context(gs.devices()[0]) as context:
    module, unlinked = gs.Module(context, opencl=SOURCE), gs.Module(context, opencl=UNLINKED)
    try:
        unlinked["blur"]
    except gs.errors.InvalidModuleUnlinked:
        print("unlinked imports: yes")
    try:
        module["sharpen"]
    except gs.errors.InvalidKernelName:
        print("no such kernel: yes")

    kernel = module["blur"]
    needs = kernel.properties
    x, y, z = (
        needs.required_group_size_x,
        needs.required_group_size_y,
        needs.required_group_size_z,
    )
    print("arguments:", needs.num_arguments)
    print(f"groups have to be {x} x {y} x {z}")
    print("local memory:", needs.local_memory_bytes, "bytes")
    try:
        kernel.group_size = (16, 16)
    except gs.errors.InvalidGroupSizeDimension:
        pass
    else:
        raise AssertionError("the kernel took groups of another size")
