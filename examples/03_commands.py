"""3. Commands: copies and fills, run as they are appended.

An immediate command list takes a command and runs it. The call returns at once; leaving the `with`
block waits until all commands have run. `in_order=True` runs them one after the other. Without it,
commands that do not wait for each other may overlap.
"""

import groundstate as gs

WIDTH, HEIGHT = 12, 5

with gs.Context(gs.devices()[0]) as context:
    board = context.alloc_device((HEIGHT, WIDTH))
    stamp = context.alloc_device((2, 3))
    result = context.alloc_host((HEIGHT, WIDTH))

    with gs.CommandList.immediate(context, in_order=True) as commands:
        # A fill repeats a pattern: bytes of any length, or a number that becomes one element.
        commands.fill(board, b".")
        commands.fill(stamp, b"#")

        # A region copy moves a box from one picture to another. x and width count bytes.
        for x, y in ((1, 0), (5, 2), (8, 1)):
            commands.copy_region(board, stamp, gs.Region(x=x, y=y, width=3, height=2))

        # From the device to where the host can read.
        commands.copy(result, board)

        # Anything with a buffer can be the source or the target of a copy.
        title = bytearray(WIDTH)
        commands.copy(title, b"three boxes:")

    print(title.decode())
    for row in range(HEIGHT):
        print(result[row].tobytes().decode())
