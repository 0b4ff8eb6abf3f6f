"""A picture of somebody else, known only as a file descriptor, becomes an image."""

import mmap
import os

import numpy

import groundstate as gs

SHAPE = (16, 32, 4)  # height, width, channels

# The somebody else: texels of four bytes, row after row.
texels = (numpy.arange(numpy.prod(SHAPE)) % 251).astype("uint8").reshape(SHAPE)
fd = os.memfd_create("picture")
os.write(fd, texels.tobytes())

with gs.Context(gs.devices()[0]) as context, mmap.mmap(fd, texels.size) as picture:
    # An image of the same size and format over that memory.
    kind = gs.ExternalMemoryType.DMA_BUF
    image = gs.Image.import_fd(context, fd, SHAPE[:2], "rgba8uint", type=kind)
    same = (image.download() == texels).all()
    print("the image shows the picture:", "yes" if same else "no")

    # And the other way: what is drawn on the image appears in the picture.
    image.upload(numpy.full(SHAPE, 9, "uint8"))
    print("the picture is now", picture[0], "...", picture[-1])
    assert set(picture[:]) == {9}
os.close(fd)
