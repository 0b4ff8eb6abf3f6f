"""printf in a kernel: everything is there once the launch has been waited for."""

import groundstate as gs

SOURCE = """
kernel void speak(global int *failed) {
    int item = get_global_id(0);
    if (printf("item %d of %d: %-5s|%6.2f|%#06x|%v2hlu\\n", item, (int)get_global_size(0),
               item % 2 ? "odd" : "even", item / 4.0f, 17 * item, (uint2)(item, item + 1)) != 0)
        atomic_inc(failed);
}
"""

device = gs.devices()[0]
print(f"room for {device.module_properties.printf_buffer_bytes} bytes", flush=True)
with gs.Context(device) as context:
    failed = context.alloc_shared(1, "int32")
    failed.numpy()[:] = 0
    with gs.CommandList.immediate(context) as commands:
        gs.Module(context, opencl=SOURCE)["speak"](commands, 1, 6, failed)
    assert failed.tolist() == [0]
