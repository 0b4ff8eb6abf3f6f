"""12. Neural networks: a residual network and a transformer, layer by layer, with their times.

Both have the shape of networks that everybody knows (ResNet-18, GPT-2) and weights that are made
up here, so that there is nothing to download. Layers are primitives of `groundstate.dnn`: weights
are brought into the layout that a primitive likes best once, activations and sums are done on the
way (post-operations), and the stream tells how long each layer took.

    python examples/12_networks.py resnet --image 224
    python examples/12_networks.py gpt --layers 12 --width 768 --heads 12 --tokens 64
"""

import argparse
import math
from dataclasses import dataclass

import numpy as np

import groundstate.dnn as dnn
from groundstate.dnn import Algorithm, Arg, Attributes, Descriptor, PropKind

INFERENCE = PropKind.forward_inference


@dataclass
class Layer:
    """One primitive with its memory."""

    name: str
    primitive: dnn.Primitive
    memories: dict
    operations: float

    @property
    def shape(self) -> str:
        return "x".join(map(str, self.memories[Arg.DST].descriptor.dims))


class Network:
    """Layers that follow each other on one stream."""

    def __init__(self) -> None:
        self.engine = dnn.Engine.create()
        self.stream = dnn.Stream(self.engine, dnn.StreamFlags.profiling)
        self.layers: list[Layer] = []

    def add(self, name: str, described: dnn.PrimitiveDescriptor, tensors: dict, operations=0.0):
        """Appends a layer; arrays are weights and settled now. Returns where its result will be."""
        wanted = described.arguments | described.attribute_arguments
        memories = {}
        for arg, thing in tensors.items():
            if isinstance(thing, dnn.Memory):
                memories[arg] = self.in_layout(name, thing, wanted[arg])
            else:
                memories[arg] = dnn.memory_of(self.stream, thing, wanted[arg])
        if Arg.DST not in memories:
            memories[Arg.DST] = dnn.Memory(self.engine, wanted[Arg.DST])
        self.layers.append(Layer(name, dnn.Primitive(described), memories, operations))
        return memories[Arg.DST]

    def in_layout(self, name: str, memory: dnn.Memory, wanted: Descriptor) -> dnn.Memory:
        """An activation as a layer wants it: by a reorder if it lies otherwise."""
        if memory.descriptor.same_as(wanted):
            return memory
        reorder = dnn.create("reorder", memory.descriptor, self.engine, wanted, self.engine)
        return self.add(f"{name}: reorder", reorder, {Arg.SRC: memory})

    def run(self) -> list[int]:
        """Executes all layers; the nanoseconds of each."""
        self.stream.reset_times()
        for layer in self.layers:
            layer.primitive.execute(self.stream, layer.memories)
        self.stream.wait()
        return self.stream.times_ns()

    def report(self, rounds: int) -> None:
        """Prints the best time of each layer in some rounds."""
        best = [min(times) for times in zip(*(self.run() for _ in range(rounds)), strict=True)]
        total = sum(best)
        print(f"{'layer':24} {'result':>16} {'ms':>9} {'share':>6} {'GFLOP/s':>8}")
        for layer, time in zip(self.layers, best, strict=True):
            speed = f"{layer.operations / time:.1f}" if layer.operations and time else ""
            share = f"{time / total:.0%}"
            print(f"{layer.name:24} {layer.shape:>16} {time / 1e6:9.3f} {share:>6} {speed:>8}")
        speed = sum(layer.operations for layer in self.layers) / total
        print(f"{len(self.layers)} layers, {total / 1e6:.2f} ms, {speed:.1f} GFLOP/s")


def weights(rng, *shape: int) -> np.ndarray:
    """Made-up weights that keep activations about as large as they are."""
    inputs = math.prod(shape[1:]) if len(shape) > 2 else shape[0]
    return (rng.standard_normal(shape) / math.sqrt(inputs)).astype(np.float32)


def anyhow(*dims: int) -> Descriptor:
    """A tensor whose layout is left to the primitive."""
    return Descriptor.tagged(dims, "f32", "any")


# --- A residual network ---------------------------------------------------------------------------


class ResNet(Network):
    """Convolutions with shortcuts, as in ResNet-18 with its default arguments."""

    def __init__(self, image: int, stages: int, rng) -> None:
        super().__init__()
        self.rng, self.made = rng, []
        pixels = rng.standard_normal((1, 3, image, image)).astype(np.float32)
        self.pixels = pixels
        x = dnn.memory_of(self.stream, pixels)
        x = self.convolve("stem", x, 64, 7, 2, relu=True)
        x = self.pool("stem: pool", x)
        for stage in range(stages):
            channels = 64 << stage
            for block in range(2):
                stride = 2 if stage and not block else 1
                x = self.block(f"stage {stage + 1}.{block + 1}", x, channels, stride)
        self.result = self.classify(x)

    def convolve(self, name, x, channels, size, stride, *, relu=False, onto=None):
        """A convolution with its bias; `onto` is what it is added to."""
        _, inputs, height, _ = x.descriptor.dims
        pad, after = size // 2, -(-height // stride)
        kernel, bias = weights(self.rng, channels, inputs, size, size), weights(self.rng, channels)
        self.made.append((kernel, bias))
        attributes = Attributes()
        if onto is not None:
            attributes.post_ops.append_sum()
        if relu:
            attributes.post_ops.append_eltwise(Algorithm.eltwise_relu)
        target = anyhow(1, channels, after, after) if onto is None else onto.descriptor
        both = ((stride, stride), (0, 0), (pad, pad), (pad, pad))
        described = dnn.create(
            "convolution_forward",
            self.engine,
            INFERENCE,
            Algorithm.convolution_direct,
            anyhow(*x.descriptor.dims),
            anyhow(*kernel.shape),
            Descriptor.plain(bias.shape),
            target,
            *both,
            attributes,
        )
        tensors = {Arg.SRC: x, Arg.WEIGHTS: kernel, Arg.BIAS: bias}
        if onto is not None:
            tensors[Arg.DST] = onto
        return self.add(name, described, tensors, 2.0 * kernel.size * after * after)

    def pool(self, name, x):
        """The greatest of each 3x3 window, at every second place."""
        _, channels, height, _ = x.descriptor.dims
        after = (height + 1) // 2
        described = dnn.create(
            "pooling_forward",
            self.engine,
            INFERENCE,
            Algorithm.pooling_max,
            x.descriptor,
            anyhow(1, channels, after, after),
            *((2, 2), (3, 3), (0, 0), (1, 1), (1, 1)),
        )
        return self.add(name, described, {Arg.SRC: x})

    def block(self, name, x, channels, stride):
        """Two convolutions; the second one is added to the shortcut, in its memory."""
        shortcut = x
        if stride != 1 or x.descriptor.dims[1] != channels:
            shortcut = self.convolve(f"{name}: shortcut", x, channels, 1, stride)
        inner = self.convolve(f"{name}: first", x, channels, 3, stride, relu=True)
        return self.convolve(f"{name}: second", inner, channels, 3, 1, relu=True, onto=shortcut)

    def classify(self, x):
        """The mean of each channel, a product with the weights of 1000 classes, and a softmax."""
        channels = x.descriptor.dims[1]
        mean = dnn.create(
            "reduction",
            self.engine,
            Algorithm.reduction_mean,
            x.descriptor,
            Descriptor.plain((1, channels, 1, 1)),
        )
        x = self.add("mean", mean, {Arg.SRC: x})
        matrix, bias = weights(self.rng, channels, 1000), weights(self.rng, 1000)
        self.made.append((matrix, bias))
        flat = dnn.Memory.view(x, Descriptor.plain((1, channels)))
        product = dnn.create(
            "matmul",
            self.engine,
            flat.descriptor,
            anyhow(*matrix.shape),
            Descriptor.plain((1, 1000)),
            Descriptor.plain((1, 1000)),
        )
        tensors = {Arg.SRC: flat, Arg.WEIGHTS: matrix, Arg.BIAS: bias.reshape(1, 1000)}
        x = self.add("classes", product, tensors, 2.0 * matrix.size)
        return self.add("softmax", softmax(self.engine, x.descriptor, 1), {Arg.SRC: x})

    def expected(self, stages: int) -> np.ndarray:
        """The same in NumPy."""
        made = iter(self.made)

        def convolve(x, stride):
            kernel, bias = next(made)
            pad = kernel.shape[2] // 2
            x = np.pad(x, ((0, 0), (pad, pad), (pad, pad)))
            windows = np.lib.stride_tricks.sliding_window_view(x, kernel.shape[2:], (1, 2))
            windows = windows[:, ::stride, ::stride]
            return np.einsum("chwij,ocij->ohw", windows, kernel) + bias[:, None, None]

        x = np.maximum(convolve(self.pixels[0], 2), 0)
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf)
        view = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (1, 2))
        x = view[:, ::2, ::2].max((3, 4))
        for stage in range(stages):
            for block in range(2):
                stride = 2 if stage and not block else 1
                shortcut = convolve(x, stride) if stride != 1 else x
                inner = np.maximum(convolve(x, stride), 0)
                x = np.maximum(convolve(inner, 1) + shortcut, 0)
        matrix, bias = next(made)
        scores = x.mean((1, 2)) @ matrix + bias
        scores = np.exp(scores - scores.max())
        return scores[None] / scores.sum()


# --- A transformer --------------------------------------------------------------------------------


def softmax(engine, described: Descriptor, axis: int) -> dnn.PrimitiveDescriptor:
    accurate = Algorithm.softmax_accurate
    return dnn.create("softmax_forward", engine, INFERENCE, accurate, described, described, axis)


class Transformer(Network):
    """Attention and products, as in GPT-2: each layer adds to what came before."""

    def __init__(self, layers: int, width: int, heads: int, tokens: int, rng) -> None:
        super().__init__()
        self.rng, self.heads, self.made = rng, heads, []
        self.start = rng.standard_normal((tokens, width)).astype(np.float32)
        far = np.triu(np.full((tokens, tokens), -1e9, np.float32), 1)
        self.mask = dnn.memory_of(self.stream, far.reshape(1, tokens, tokens))
        x = dnn.Memory(self.engine, Descriptor.plain((tokens, width)))
        dnn.fill(x, self.stream, self.start)
        self.first = x
        for layer in range(1, layers + 1):
            normal = self.normalise(f"layer {layer}: norm", x)
            mixed = self.attend(f"layer {layer}", normal)
            x = self.multiply(f"layer {layer}: project", mixed, width, onto=x)
            normal = self.normalise(f"layer {layer}: norm 2", x)
            wide = self.multiply(f"layer {layer}: widen", normal, 4 * width, gelu=True)
            x = self.multiply(f"layer {layer}: narrow", wide, width, onto=x)
        self.result = self.normalise("norm", x)

    def normalise(self, name, x):
        """Layer normalisation with a scale and a shift."""
        width = x.descriptor.dims[1]
        scale, shift = np.ones(width, np.float32), weights(self.rng, width)
        self.made.append((scale, shift))
        flags = dnn.NormalizationFlags.use_scale | dnn.NormalizationFlags.use_shift
        shape = Descriptor.plain(x.descriptor.dims)
        described = dnn.create(
            "layer_normalization_forward",
            *(self.engine, INFERENCE, x.descriptor, shape, None, 1e-5, flags),
        )
        return self.add(name, described, {Arg.SRC: x, Arg.SCALE: scale, Arg.SHIFT: shift})

    def multiply(self, name, x, width, *, gelu=False, onto=None):
        """A product with weights and a bias; `onto` is what it is added to, in its memory."""
        tokens, inputs = x.descriptor.dims
        matrix, bias = weights(self.rng, inputs, width), weights(self.rng, width)
        self.made.append((matrix, bias))
        attributes = Attributes()
        if onto is not None:
            attributes.post_ops.append_sum()
        if gelu:
            attributes.post_ops.append_eltwise(Algorithm.eltwise_gelu_tanh)
        described = dnn.create(
            "matmul",
            *(self.engine, x.descriptor, anyhow(inputs, width), Descriptor.plain((1, width))),
            *(Descriptor.plain((tokens, width)), attributes),
        )
        tensors = {Arg.SRC: x, Arg.WEIGHTS: matrix, Arg.BIAS: bias.reshape(1, width)}
        if onto is not None:
            tensors[Arg.DST] = onto
        return self.add(name, described, tensors, 2.0 * tokens * matrix.size)

    def attend(self, name, x):
        """Queries, keys and values are parts of one product; heads are a batch of matrices."""
        tokens, width = x.descriptor.dims
        each = width // self.heads
        joined = self.multiply(f"{name}: queries...", x, 3 * width)
        whole = joined.descriptor.reshaped((tokens, 3, self.heads, each))
        queries, keys, values = (
            whole.part((tokens, 1, self.heads, each), (0, part, 0, 0))
            .reshaped((tokens, self.heads, each))
            .permuted(order)
            for part, order in enumerate(((1, 0, 2), (2, 0, 1), (1, 0, 2)))
        )
        attributes = Attributes()
        scale = 1 / math.sqrt(each)
        attributes.post_ops.append_eltwise(Algorithm.eltwise_linear, scale, 0.0)
        attributes.post_ops.append_binary(Algorithm.binary_add, self.mask.descriptor)
        square = Descriptor.plain((self.heads, tokens, tokens))
        described = dnn.create("matmul", self.engine, queries, keys, None, square, attributes)
        scores = self.add(
            f"{name}: scores",
            described,
            {
                Arg.SRC: dnn.Memory.view(joined, queries),
                Arg.WEIGHTS: dnn.Memory.view(joined, keys),
                2 * Arg.ATTR_MULTIPLE_POST_OP_BASE | Arg.SRC_1: self.mask,  # the second one
            },
            2.0 * tokens * tokens * width,
        )
        shares = self.add(f"{name}: softmax", softmax(self.engine, square, 2), {Arg.SRC: scores})
        mixed = Descriptor.plain((tokens, width))
        heads = mixed.reshaped((tokens, self.heads, each)).permuted((1, 0, 2))
        described = dnn.create("matmul", self.engine, square, values, None, heads)
        target = dnn.Memory(self.engine, mixed)
        tensors = {
            Arg.SRC: shares,
            Arg.WEIGHTS: dnn.Memory.view(joined, values),
            Arg.DST: dnn.Memory.view(target, heads),
        }
        self.add(f"{name}: mix", described, tensors, 2.0 * tokens * tokens * width)
        return target

    def expected(self, layers: int) -> np.ndarray:
        """The same in NumPy."""
        made = iter(self.made)

        def normalise(x):
            scale, shift = next(made)
            x = x - x.mean(1, keepdims=True)
            return x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-5) * scale + shift

        def multiply(x):
            matrix, bias = next(made)
            return x @ matrix + bias

        x = self.start.astype(np.float64)
        tokens, width = x.shape
        far = np.triu(np.full((tokens, tokens), -1e9), 1)
        for _ in range(layers):
            parts = multiply(normalise(x)).reshape(tokens, 3, self.heads, -1)
            q, k, v = parts.transpose(1, 2, 0, 3)
            scores = q @ k.transpose(0, 2, 1) / math.sqrt(width // self.heads) + far
            scores = np.exp(scores - scores.max(2, keepdims=True))
            mixed = scores / scores.sum(2, keepdims=True) @ v
            x = x + multiply(mixed.transpose(1, 0, 2).reshape(tokens, width))
            wide = multiply(normalise(x))
            inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)
            x = x + multiply(0.5 * wide * (1 + np.tanh(inner)))
        return normalise(x)

    def run(self) -> list[int]:
        """Begins each time with the same tokens: the layers change them in place."""
        dnn.fill(self.first, self.stream, self.start)
        return super().run()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("network", nargs="?", default="gpt", choices=("resnet", "gpt"))
    parser.add_argument("--image", type=int, default=224, help="pixels along a side (resnet)")
    parser.add_argument("--stages", type=int, default=4, help="1 to 4 of its stages (resnet)")
    parser.add_argument("--layers", type=int, default=2, help="GPT-2 has 12 (gpt)")
    parser.add_argument("--width", type=int, default=128, help="GPT-2 has 768 (gpt)")
    parser.add_argument("--heads", type=int, default=4, help="GPT-2 has 12 (gpt)")
    parser.add_argument("--tokens", type=int, default=32, help="how many there are (gpt)")
    parser.add_argument("--rounds", type=int, default=3, help="how often it is run")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    if options.network == "resnet":
        network = ResNet(options.image, options.stages, rng)
        expected = network.expected(options.stages)
    else:
        sizes = (options.layers, options.width, options.heads, options.tokens)
        network = Transformer(*sizes, rng)
        expected = network.expected(options.layers)
    network.report(options.rounds)
    network.run()
    found = dnn.array_of(network.stream, network.result)
    difference = np.abs(found - expected).max() / np.abs(expected).max()
    print(f"NumPy has the same result: {bool(difference < 1e-4)} (differs by {difference:.1e})")


if __name__ == "__main__":
    main()
