"""12. Neural networks: layers one after the other, and single operations.

A network is described first: each layer says what it reads and returns the memory of its result.
The first run compiles its kernels and lays the weights out as they are read best; later runs of the
program find the kernels in a cache. What happens to a result on the way to memory is passed as
`then`. The names are those of oneDNN. `resnet18.py` and `gpt2.py` are networks of a real size.

It needs `pip install 'groundstate[dnn]'`.
"""

import numpy as np

import groundstate.dnn as dnn

engine = dnn.Engine.create()  # of the first device; there is also dnn.Engine.of(context)

# A picture of a disc, and a convolution that finds edges: it subtracts from each pixel the mean of
# those around it. Tensors of pictures are (pictures, channels, height, width).

height, width = 11, 25
rows, columns = np.mgrid[0:height, 0:width]
disc = ((rows - 5) ** 2 + ((columns - 12) / 2) ** 2 < 18).astype(np.float32)
edges = np.full((1, 1, 3, 3), -1 / 8, np.float32)
edges[0, 0, 1, 1] = 1

network = dnn.Network(engine)
picture = network.input("picture", (1, 1, height, width))
found = network.convolution("edges", picture, edges, padding=1, then=["abs", ("linear", 4.0)])
network.run(picture=disc.reshape(picture.shape))
for row in network.array(found)[0, 0]:
    print("".join(" .+#"[min(3, round(value))] for value in row.tolist()).rstrip())

# Two layers know what no single one can: whether exactly one of two inputs is set.

network = dnn.Network(engine)
x = network.input("x", (4, 2))
hidden = np.array([[1, 1], [1, 1]], np.float32), np.array([0, -1], np.float32)
x = network.matmul("hidden", x, *hidden, then=["relu"])
x = network.matmul("output", x, np.array([[1], [-2]], np.float32))
network.run(x=np.array([[0, 0], [0, 1], [1, 0], [1, 1]], np.float32))
print("exactly one:", network.array(x).ravel().astype(int).tolist())
for time in network.times:
    print(f"{time.step.name}: {time.step.operations} operations, measured: {time.elapsed_ns > 0}")

# A single operation goes from descriptors to arrays. All operations of oneDNN's have their C
# function's name and parameters; 'any' leaves the layout of a tensor to the operation.

numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
described = dnn.create(
    "reduction",
    engine,
    dnn.Algorithm.reduction_sum,
    dnn.descriptor_of(numbers),
    dnn.Descriptor.plain((2, 1)),
)
with dnn.Stream(engine) as stream:
    result = dnn.run(described, stream, {dnn.Arg.SRC: numbers})
print("sums of rows:", result[dnn.Arg.DST].tolist())

try:
    network.matmul("too short", x, np.zeros((5, 5), np.float32))
except dnn.DnnError as problem:
    print(problem)
