"""A network of GPT-2's shape continues a text, token by token, and says how long each layer took.

The weights are made up, so there is nothing to download and the tokens mean nothing; the sizes, and
with them the times, are those of the smallest GPT-2. There are two networks on the same weights:
one that reads the whole prompt at once and one that reads a token at a time. Queries, keys and
values of a layer are one product, whose rows stay where they are written: that is the cache.

    python examples/gpt2.py
    python examples/gpt2.py --layers 24 --width 1024 --heads 16 --tokens 4 --json
"""

import argparse
import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

try:
    import numpy as np
    from numpy.typing import NDArray
    from report import Times, add_options, prepare
    from rich.console import Console

    import groundstate.dnn as dnn
except ImportError as problem:
    raise SystemExit(f"{problem}: pip install 'groundstate[dnn]'") from None

Array = NDArray[np.float32]
FLOAT_BYTES = 4


@dataclass(frozen=True)
class Shape:
    """The sizes of a network; those of the smallest GPT-2 are the defaults."""

    layers: int = 12
    width: int = 768
    heads: int = 12
    vocabulary: int = 50257
    context: int = 128
    """How many tokens it can look back on; 1024 in GPT-2."""


@dataclass(frozen=True)
class Affine:
    """A matrix and a bias, or a scale and a shift."""

    weights: Array
    bias: Array


@dataclass(frozen=True)
class Weights:
    """Made-up weights: those of layers by the number of the layer and what they are for."""

    tokens: Array
    positions: Array
    layers: list[dict[str, Affine]]
    final: Affine


def make_weights(shape: Shape, seed: int) -> Weights:
    """Weights that keep activations about as large as they are."""
    rng = np.random.default_rng(seed)

    def normal(*dims: int, deviation: float = 0.1) -> Array:
        return rng.standard_normal(dims, dtype=np.float32) * np.float32(deviation)

    def matrix(rows: int, columns: int) -> Affine:
        return Affine(normal(rows, columns, deviation=1 / math.sqrt(rows)), normal(columns))

    def norm() -> Affine:
        return Affine(1 + normal(shape.width), normal(shape.width))

    width = shape.width
    layers = [
        {
            "norm 1": norm(),
            "queries, keys, values": matrix(width, 3 * width),
            "project": matrix(width, width),
            "norm 2": norm(),
            "widen": matrix(width, 4 * width),
            "narrow": matrix(4 * width, width),
        }
        for _ in range(shape.layers)
    ]
    tokens = normal(shape.vocabulary, width, deviation=0.02)
    positions = normal(shape.context, width, deviation=0.02)
    return Weights(tokens, positions, layers, norm())


class Reader:
    """A network that reads some tokens at a time, and says what might come next."""

    def __init__(
        self,
        shape: Shape,
        weights: Weights,
        caches: list[dnn.Memory],
        tokens: int,
        sharing: dnn.Network | None = None,
    ) -> None:
        self.shape, self.weights, self.tokens = shape, weights, tokens
        self.moving: list[tuple[dnn.Memory, dnn.Memory]] = []
        """Views of caches that begin at the present position, and the caches."""
        self.network = dnn.Network(caches[0].engine, sharing=sharing)
        x = self.network.input("tokens", (tokens, shape.width))
        self.mask = self.network.input("mask", (1, tokens, shape.context))
        for number, cache in enumerate(caches):
            x = self.layer(number, x, cache)
        last = x.part((1, shape.width), (tokens - 1, 0))
        final = weights.final
        last = self.network.layer_normalization("last norm", last, final.weights, final.bias)
        self.logits = self.network.matmul("logits", last, weights.tokens.T)

    def layer(self, number: int, x: dnn.Memory, cache: dnn.Memory) -> dnn.Memory:
        """Attention, then a network of two products; both are added to what came in."""
        normal = self.normalize(number, "norm 1", x)
        mixed = self.attend(number, normal, cache)
        x = self.multiply(number, "project", mixed, onto=x)
        normal = self.normalize(number, "norm 2", x)
        wide = self.multiply(number, "widen", normal, then=["gelu_tanh"])
        return self.multiply(number, "narrow", wide, onto=x)

    def normalize(self, number: int, what: str, x: dnn.Memory) -> dnn.Memory:
        """A layer normalisation."""
        found = self.weights.layers[number][what]
        name = f"layer {number + 1}: {what}"
        return self.network.layer_normalization(name, x, found.weights, found.bias)

    def multiply(self, number: int, what: str, x: dnn.Memory, **how: Any) -> dnn.Memory:
        """A product with a matrix of the layer."""
        found = self.weights.layers[number][what]
        name = f"layer {number + 1}: {what}"
        return self.network.matmul(name, x, found.weights, found.bias, **how)

    def attend(self, number: int, x: dnn.Memory, cache: dnn.Memory) -> dnn.Memory:
        """Values of all positions so far, mixed by how well their keys fit to the queries."""
        shape, network, name = self.shape, self.network, f"layer {number + 1}:"
        each = shape.width // shape.heads
        rows = cache.part((self.tokens, 3 * shape.width), (0, 0))
        self.multiply(number, "queries, keys, values", x, into=rows)
        queries = heads_of(rows, 0, shape).permuted(1, 0, 2)
        keys = heads_of(cache, 1, shape).permuted(2, 0, 1)
        values = heads_of(cache, 2, shape).permuted(1, 0, 2)
        self.moving += [(rows, cache), (queries, cache)]
        then = [("linear", 1 / math.sqrt(each)), ("add", self.mask)]
        scores = network.matmul(f"{name} scores", queries, keys, then=then)
        shares = network.softmax(f"{name} softmax", scores)
        mixed = dnn.Memory(network.engine, dnn.Descriptor.plain((self.tokens, shape.width)))
        target = mixed.reshaped(self.tokens, shape.heads, each).permuted(1, 0, 2)
        network.matmul(f"{name} mix", shares, values, into=target)
        return mixed

    def read(self, tokens: Sequence[int], position: int) -> Array:
        """The logits of what comes after these tokens, of which the first is at a position."""
        for view, cache in self.moving:
            row_bytes = 3 * self.shape.width * FLOAT_BYTES
            view.set_handle(cache.get_handle() + position * row_bytes)
        places = np.arange(position, position + self.tokens)
        ahead = np.arange(self.shape.context) > places[:, None]
        self.network.run(
            tokens=self.weights.tokens[list(tokens)] + self.weights.positions[places],
            mask=np.where(ahead, -np.inf, 0).astype(np.float32)[None],
        )
        return self.network.array(self.logits)[0]


def heads_of(rows: dnn.Memory, part: int, shape: Shape) -> dnn.Memory:
    """Queries (0), keys (1) or values (2) of rows, as (rows, heads, numbers of a head)."""
    count, each = rows.shape[0], shape.width // shape.heads
    split = rows.reshaped(count, 3, shape.heads, each)
    return split.part((count, 1, shape.heads, each), (0, part, 0, 0)).reshaped(
        count, shape.heads, each
    )


def make_cache(stream: dnn.Stream, shape: Shape) -> dnn.Memory:
    """Zeros, because what the mask hides is still multiplied with 0."""
    rows = np.zeros((shape.context, 3 * shape.width), np.float32)
    cache = dnn.Memory(stream.engine, dnn.descriptor_of(rows))
    dnn.fill(cache, stream, rows)
    return cache


class Gpt2:
    """The network, described for one length of prompts."""

    def __init__(self, engine: dnn.Engine, shape: Shape, prompt: int, seed: int = 0) -> None:
        self.weights = make_weights(shape, seed)
        with dnn.Stream(engine) as stream:
            caches = [make_cache(stream, shape) for _ in range(shape.layers)]
        self.prompt = Reader(shape, self.weights, caches, prompt)
        self.token = Reader(shape, self.weights, caches, 1, sharing=self.prompt.network)

    def generate(self, prompt: Sequence[int], count: int) -> Iterator[int]:
        """The most likely tokens after a prompt, one by one."""
        logits = self.prompt.read(prompt, 0)
        for position in range(len(prompt), len(prompt) + count):
            token = int(logits.argmax())
            yield token
            if position + 1 < len(prompt) + count:
                logits = self.token.read([token], position)


def parse() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    sizes = {
        "layers": (12, "layers"),
        "width": (768, "numbers for a token, a multiple of the heads"),
        "heads": (12, "heads of attention"),
        "vocabulary": (50257, "different tokens"),
        "context": (128, "positions of prompt and text together"),
        "prompt": (32, "tokens of the made-up prompt"),
        "tokens": (8, "tokens to generate"),
    }
    for name, (default, text) in sizes.items():
        parser.add_argument(
            f"--{name}", type=int, default=default, help=f"{text} (default: {default})"
        )
    add_options(parser)
    options = parser.parse_args()
    if min(getattr(options, name) for name in (*sizes, "rounds")) < 1:
        parser.error("sizes and rounds are at least 1")
    if options.width % options.heads:
        parser.error("the width must be a multiple of the number of heads")
    if options.prompt + options.tokens > options.context:
        parser.error("prompt and generated tokens do not fit into the context")
    return options


def main() -> None:
    """Generates a text some times and reports the best times."""
    options = parse()
    names = ("layers", "width", "heads", "vocabulary", "context")
    shape = Shape(*(getattr(options, name) for name in names))
    engine = dnn.Engine.create()
    begin = time.perf_counter()
    model = Gpt2(engine, shape, options.prompt, options.seed)
    prepare(model.prompt.network, "compiling layers for the prompt")
    prepare(model.token.network, "compiling layers for a token")
    rng = np.random.default_rng(options.seed + 1)
    prompt = rng.integers(0, shape.vocabulary, options.prompt).tolist()
    text = list(model.generate(prompt, options.tokens))
    setup_s = time.perf_counter() - begin
    whole = Times(f"GPT-2, {options.prompt} tokens of the prompt at once, in f32")
    single = Times("GPT-2, one more token")
    for _ in range(options.rounds):
        for place, _token in enumerate(model.generate(prompt, options.tokens)):
            reader, times = (model.token, single) if place else (model.prompt, whole)
            times.add(reader.network.times)
    if options.json:
        facts = {"device": engine.name, "setup_seconds": round(setup_s, 3), "tokens": text}
        parts = {"prompt": whole.as_json(), "token": single.as_json()}
        print(json.dumps(facts | parts, indent=2))
        return
    console = Console(highlight=False)
    for times in (whole, single) if single.best else (whole,):
        console.print(times.table())
    console.print(f"on {engine.name}, ready after {setup_s:.1f} s", soft_wrap=True)
    console.print(f"the text goes on with {', '.join(map(str, text))}", soft_wrap=True)


if __name__ == "__main__":
    main()
