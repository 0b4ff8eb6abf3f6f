"""5. Events: order between queues, a signal from the host, and time.

A command can wait for events and can signal one. That is how work on different queues is put in
order, how the host holds work back, and how you learn when something ran.
"""

import groundstate as gs

SIZE = 1 << 22

with gs.Context(gs.devices()[0]) as context:
    source, target = context.alloc_device(SIZE), context.alloc_host(SIZE)
    pool = gs.EventPool(context, 3, timestamps=True)
    go, filled, copied = pool.event(), pool.event(), pool.event()

    # Two lists, so two queues: one fills, the other copies what the first has filled.
    producer = gs.CommandList.immediate(context)
    consumer = gs.CommandList.immediate(context, ordinal=1)
    consumer.copy(target, source, wait=filled, signal=copied)
    producer.fill(source, b"an event", wait=go, signal=filled)

    # Nothing happens until the host says so. A wait can have a limit, in seconds.
    try:
        copied.wait(timeout=0.01)
    except TimeoutError as problem:
        print("still waiting:", problem)
    go.signal()
    copied.wait()
    print("copied:", target[:8].tobytes())

    # The device has noted when each command began and ended.
    print("the copy began after the fill:", copied.timestamps.start >= filled.timestamps.end)
    both = (filled.timestamps, copied.timestamps)
    print("both took some time:", all(stamps.duration_ns > 0 for stamps in both))

    # An event of this kind has to be reset before it is used again. One that counts does not: it
    # stands for the last command that it was given to, on a list that runs in order.
    counting = gs.Event.counter_based(context)
    commands = gs.CommandList.immediate(context, in_order=True)
    for value in (b"a", b"b", b"c"):
        commands.fill(target, value, signal=counting)
        counting.wait()
        print("filled with", target[:3].tobytes())
