"""An image of one 32-bit float per texel: made, filled from the host, and read back."""

import numpy

import groundstate as gs

SIDE = 128

with gs.Context(gs.devices()[0]) as context:
    # Kernels only read it. They see the number in x, and 1 in w.
    image = gs.Image(context, (SIDE, SIDE), "r32float", writable=False)
    texels = (numpy.arange(SIDE * SIDE, dtype="float32") / 4).reshape(SIDE, SIDE)
    image.upload(texels)
    copy = image.download()
    print(f"{SIDE} x {SIDE} texels came back as they went, the last is {copy[-1, -1]:.2f}")
    assert (copy == texels).all()

    # A part of it: the region says which columns and rows.
    corner = image.download(gs.Region(x=SIDE - 2, y=SIDE - 1, width=2))
    print(f"the last corner: {corner[0, 0]:.2f} {corner[0, 1]:.2f}")
