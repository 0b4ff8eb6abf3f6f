"""A network of ResNet-18's shape looks at a picture, and says how long each layer took.

The weights are made up, so there is nothing to download; the sizes, and with them the times, are
those of the real one. Batch normalisation is folded into the convolutions before it, and ReLU and
the sum with the shortcut happen on the way to the result: a block is two primitives.

    python examples/resnet18.py
    python examples/resnet18.py --batch 4 --json
"""

import argparse
import json
import math
import time
from dataclasses import dataclass

try:
    import numpy as np
    from numpy.typing import NDArray
    from report import Times, add_options, prepare
    from rich.console import Console

    import groundstate.dnn as dnn
except ImportError as problem:
    raise SystemExit(f"{problem}: pip install 'groundstate[dnn]'") from None

Array = NDArray[np.float32]
EPSILON = 1e-5


@dataclass(frozen=True)
class Shape:
    """The sizes of a network; ResNet-18's own are the defaults."""

    batch: int = 1
    image: int = 224
    width: int = 64
    classes: int = 1000
    blocks: tuple[int, ...] = (2, 2, 2, 2)

    def convolutions(self) -> list[tuple[str, int, int, int]]:
        """The name, inputs, outputs and window of each convolution."""
        found = [("stem", 3, self.width, 7)]
        inputs = self.width
        for stage, blocks in enumerate(self.blocks):
            outputs = self.width << stage
            for block in range(blocks):
                name = f"stage {stage + 1}.{block + 1}"
                found.append((f"{name} first", inputs, outputs, 3))
                found.append((f"{name} second", outputs, outputs, 3))
                if inputs != outputs:
                    found.append((f"{name} shortcut", inputs, outputs, 1))
                inputs = outputs
        return found


@dataclass(frozen=True)
class Normalized:
    """The weights of a convolution and of the batch normalisation behind it."""

    weights: Array
    scale: Array
    shift: Array
    mean: Array
    variance: Array

    def folded(self) -> tuple[Array, Array]:
        """Weights and bias of the convolution that does both."""
        factor = self.scale / np.sqrt(self.variance + EPSILON)
        return self.weights * factor[:, None, None, None], self.shift - self.mean * factor


def make_weights(shape: Shape, seed: int) -> tuple[dict[str, Normalized], Array, Array]:
    """Made-up weights: of the convolutions by name, then matrix and bias of the classes."""
    rng = np.random.default_rng(seed)

    def normal(*dims: int, deviation: float = 0.1) -> Array:
        return rng.standard_normal(dims, dtype=np.float32) * np.float32(deviation)

    convolutions = {
        name: Normalized(
            normal(outputs, inputs, window, window, deviation=math.sqrt(2 / inputs) / window),
            1 + normal(outputs),
            normal(outputs),
            normal(outputs),
            1 + np.abs(normal(outputs)),
        )
        for name, inputs, outputs, window in shape.convolutions()
    }
    features = shape.width << (len(shape.blocks) - 1)
    matrix = normal(shape.classes, features, deviation=1 / math.sqrt(features))
    return convolutions, matrix, normal(shape.classes)


class ResNet:
    """The network, described for one size of pictures."""

    def __init__(self, engine: dnn.Engine, shape: Shape, seed: int = 0) -> None:
        self.shape = shape
        self.convolutions, matrix, bias = make_weights(shape, seed)
        self.network = dnn.Network(engine)
        x = self.network.input("pictures", (shape.batch, 3, shape.image, shape.image))
        x = self.convolve("stem", x, stride=2, relu=True)
        x = self.network.pooling("stem pool", x, "max", window=3, stride=2, padding=1)
        for stage, blocks in enumerate(shape.blocks):
            for block in range(blocks):
                stride = 2 if stage and not block else 1
                x = self.block(f"stage {stage + 1}.{block + 1}", x, stride)
        side = x.shape[2]
        x = self.network.pooling("mean", x, "avg_include_padding", window=side, stride=side)
        x = x.reshaped(*x.shape[:2])
        self.scores = self.network.inner_product("classes", x, matrix, bias)
        self.shares = self.network.softmax("softmax", self.scores)

    def block(self, name: str, x: dnn.Memory, stride: int) -> dnn.Memory:
        """Two convolutions; the second one is added to the shortcut where that lies."""
        has_own = f"{name} shortcut" in self.convolutions
        shortcut = self.convolve(f"{name} shortcut", x, stride=stride) if has_own else x
        inner = self.convolve(f"{name} first", x, stride=stride, relu=True)
        return self.convolve(f"{name} second", inner, onto=shortcut, relu=True)

    def convolve(
        self,
        name: str,
        x: dnn.Memory,
        *,
        stride: int = 1,
        onto: dnn.Memory | None = None,
        relu: bool = False,
    ) -> dnn.Memory:
        """A convolution that keeps the size of the picture but for its stride."""
        weights, bias = self.convolutions[name].folded()
        return self.network.convolution(
            name,
            x,
            weights,
            bias,
            stride=stride,
            padding=weights.shape[-1] // 2,
            onto=onto,
            then=["relu"] if relu else [],
        )

    def classify(self, pictures: Array) -> Array:
        """How much each picture looks like each class; rows sum up to 1."""
        self.network.run(pictures=pictures)
        return self.network.array(self.shares)


def make_pictures(shape: Shape, seed: int) -> Array:
    """Made-up pictures."""
    rng = np.random.default_rng(seed + 1)
    return rng.standard_normal((shape.batch, 3, shape.image, shape.image), dtype=np.float32)


def main() -> None:
    """Runs the network some times and reports the best one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--batch", type=int, default=1, help="pictures at a time (default: 1)")
    parser.add_argument(
        "--image", type=int, default=224, help="pixels along a side, at least 32 (default: 224)"
    )
    parser.add_argument(
        "--width", type=int, default=64, help="channels of the first stage (default: 64)"
    )
    parser.add_argument("--classes", type=int, default=1000, help="(default: 1000)")
    add_options(parser)
    options = parser.parse_args()
    if min(options.batch, options.width, options.classes) < 1 or options.image < 32:
        parser.error("sizes are at least 1, pictures at least 32 pixels wide")
    shape = Shape(options.batch, options.image, options.width, options.classes)
    engine = dnn.Engine.create()
    begin = time.perf_counter()
    model = ResNet(engine, shape, options.seed)
    prepare(model.network, "compiling layers")
    pictures = make_pictures(shape, options.seed)
    shares = model.classify(pictures)
    setup_s = time.perf_counter() - begin
    times = Times(f"ResNet-18, {shape.batch} x 3 x {shape.image} x {shape.image} pixels in f32")
    for _ in range(options.rounds):
        model.classify(pictures)
        times.add(model.network.times)
    best = shares.argmax(1)
    if options.json:
        facts = {"device": engine.name, "setup_seconds": round(setup_s, 3)}
        classes = {"classes": best.tolist(), "shares": shares.max(1).tolist()}
        print(json.dumps(facts | classes | times.as_json(), indent=2))
        return
    console = Console(highlight=False)
    console.print(times.table())
    console.print(f"on {engine.name}, ready after {setup_s:.1f} s", soft_wrap=True)
    for place, each in enumerate(best):
        console.print(f"picture {place + 1} is of class {each} ({shares[place, each]:.1%})")


if __name__ == "__main__":
    main()
