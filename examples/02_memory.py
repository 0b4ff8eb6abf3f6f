"""2. Memory: three kinds, and how Python sees them.

Everything is made in a context. Memory is of one of three kinds:

- host memory belongs to the host, and every device can reach it;
- device memory belongs to a device, and the host reaches it only by copying;
- shared memory is used by both at the same address.
"""

import groundstate as gs

with gs.Context(gs.devices()[0]) as context:
    # A size, or a shape and a type of elements, as in NumPy.
    host = context.alloc_host((2, 4), "float32")
    device = context.alloc_device(host.size_bytes)
    print(host)
    print(device.size_bytes, "bytes of device memory")

    # Without NumPy, host and shared memory is a memoryview.
    numbers = host.buffer()
    numbers[0, 0], numbers[1, 3] = 1.5, 2.5
    print(host.tolist())

    # With NumPy it is an array. Nothing is copied: a change on one side is seen on the other. The
    # array keeps the memory alive, also after `host` was closed.
    try:
        array = host.numpy()
    except ImportError as problem:
        print(problem)
    else:
        array[0] = 7
        print("the memoryview sees what NumPy wrote:", numbers[0, 2])

    # A slice is a part of the same memory.
    second_row = host[1]
    print("the second row:", second_row.tolist())

    # Device memory cannot be read by the host, and says so.
    try:
        device.tolist()
    except TypeError as problem:
        print("as expected:", problem)
