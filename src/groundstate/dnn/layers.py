"""The layers that networks are made of: `Network`, with a method for each.

A method takes the name of the layer, the memory of its source and its weights as arrays. Layouts
are left to the primitives. What can be done on the way to the result is passed as `then`: names of
functions ("relu"), functions with their numbers (("linear", 0.5)), and operations with a tensor
(("add", mask)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.errors import invalid, require
from groundstate.dnn.memory import Memory
from groundstate.dnn.network import Steps
from groundstate.dnn.primitive import create
from groundstate.dnn.types import Algorithm, Arg, NormalizationFlags, PropKind

_INFERENCE = PropKind.forward_inference

Then = Sequence[str | tuple[Any, ...]]
"""Functions and operations that a result goes through before it is written."""


class Network(Steps):
    """A network for inference, described layer by layer.

    >>> import numpy
    >>> import groundstate.dnn as dnn
    >>> network = dnn.Network(dnn.Engine.create())
    >>> x = network.input("x", (1, 2))
    >>> weights, bias = numpy.eye(2, dtype="float32"), numpy.array([1, -9], "float32")
    >>> y = network.matmul("layer", x, weights, bias, then=["abs"])
    >>> network.run(x=numpy.array([[3, 4]], "float32"))
    >>> network.array(y).tolist()
    [[4.0, 5.0]]
    """

    def convolution(
        self,
        name: str,
        x: Memory,
        weights: Any,
        bias: Any = None,
        *,
        stride: int = 1,
        padding: int = 0,
        onto: Memory | None = None,
        then: Then = (),
    ) -> Memory:
        """A convolution in one to three dimensions, added `onto` what a tensor has if there is one.

        Weights are `(outputs, inputs, *window)`, with the number of groups before that if there are
        groups.
        """
        axes = len(x.shape) - 2
        outputs = weights.shape[0] * (weights.shape[1] if weights.ndim > axes + 2 else 1)
        places = _places(x.shape[2:], weights.shape[-axes:], stride, padding)
        attributes, tensors = _attributes(onto, then)
        described = create(
            "convolution_forward",
            self.engine,
            _INFERENCE,
            Algorithm.convolution_direct,
            _anyhow(x.shape),
            _anyhow(weights.shape),
            None if bias is None else Descriptor.plain(bias.shape),
            _anyhow((x.shape[0], outputs, *places)) if onto is None else onto.descriptor,
            (stride,) * axes,
            (0,) * axes,
            (padding,) * axes,
            (padding,) * axes,
            attributes,
        )
        return self._product(name, described, x, weights, bias, tensors)

    def inner_product(
        self, name: str, x: Memory, weights: Any, bias: Any = None, *, then: Then = ()
    ) -> Memory:
        """A weighted sum of everything for each output; weights are `(outputs, *inputs)`."""
        attributes, tensors = _attributes(None, then)
        described = create(
            "inner_product_forward",
            self.engine,
            _INFERENCE,
            x.descriptor,
            _anyhow(weights.shape),
            None if bias is None else Descriptor.plain(bias.shape),
            Descriptor.plain((x.shape[0], weights.shape[0])),
            attributes,
        )
        return self._product(name, described, x, weights, bias, tensors)

    def matmul(
        self,
        name: str,
        x: Memory,
        weights: Any,
        bias: Any = None,
        *,
        onto: Memory | None = None,
        into: Memory | None = None,
        then: Then = (),
    ) -> Memory:
        """Products of matrices; the right ones are an array of weights, or memory.

        The result is added `onto` what a tensor has, or written `into` it, or to new memory.
        """
        require(onto is None or into is None, "a result is added to a tensor or written, not both")
        target = into if onto is None else onto
        attributes, tensors = _attributes(onto, then)
        batch = [max(pair) for pair in zip(x.shape[:-2], weights.shape[:-2], strict=True)]
        result = Descriptor.plain((*batch, x.shape[-2], weights.shape[-1]))
        if bias is not None:
            bias = bias.reshape((1,) * (len(x.shape) - 1) + (-1,))
        described = create(
            "matmul",
            self.engine,
            x.descriptor,
            weights.descriptor if isinstance(weights, Memory) else _anyhow(weights.shape),
            None if bias is None else Descriptor.plain(bias.shape),
            result if target is None else target.descriptor,
            attributes,
        )
        if into is not None:
            tensors[Arg.DST] = into
        return self._product(name, described, x, weights, bias, tensors)

    def pooling(
        self, name: str, x: Memory, algorithm: str, *, window: int, stride: int, padding: int = 0
    ) -> Memory:
        """The maximum ("max") or the average ("avg_include_padding", ...) of a moving window."""
        axes = len(x.shape) - 2
        places = _places(x.shape[2:], (window,) * axes, stride, padding)
        described = create(
            "pooling_forward",
            self.engine,
            _INFERENCE,
            _algorithm("pooling", algorithm),
            x.descriptor,
            _anyhow((*x.shape[:2], *places)),
            (stride,) * axes,
            (window,) * axes,
            (0,) * axes,
            (padding,) * axes,
            (padding,) * axes,
        )
        return self.add(name, described, {Arg.SRC: x})

    def layer_normalization(
        self, name: str, x: Memory, scale: Any, shift: Any, *, epsilon: float = 1e-5
    ) -> Memory:
        """Rows with a mean of 0 and a variance of 1, then scaled and shifted."""
        described = create(
            "layer_normalization_forward",
            self.engine,
            _INFERENCE,
            x.descriptor,
            Descriptor.plain(x.shape),
            None,
            epsilon,
            NormalizationFlags.use_scale | NormalizationFlags.use_shift,
        )
        return self.add(name, described, {Arg.SRC: x, Arg.SCALE: scale, Arg.SHIFT: shift})

    def softmax(self, name: str, x: Memory, *, axis: int = -1) -> Memory:
        """Positive numbers that sum up to 1 along an axis."""
        described = create(
            "softmax_forward",
            self.engine,
            _INFERENCE,
            Algorithm.softmax_accurate,
            x.descriptor,
            Descriptor.plain(x.shape),
            axis % len(x.shape),
        )
        return self.add(name, described, {Arg.SRC: x})

    def _product(
        self,
        name: str,
        described: Any,
        x: Memory,
        weights: Any,
        bias: Any,
        tensors: dict[int, Any],
    ) -> Memory:
        target = tensors.get(Arg.DST)
        if target is not None:
            itself = target.get_handle() == x.get_handle()
            itself &= target.descriptor.offset == x.descriptor.offset
            require(not itself, f"{name}: a product cannot be written to its own source")
        tensors |= {Arg.SRC: x, Arg.WEIGHTS: weights}
        if bias is not None:
            tensors[Arg.BIAS] = bias
        return self.add(name, described, tensors)


def _anyhow(dims: Sequence[int]) -> Descriptor:
    """A tensor whose layout is left to the primitive."""
    return Descriptor.tagged(dims, "f32", "any")


def _places(sizes: Sequence[int], window: Sequence[int], stride: int, padding: int) -> list[int]:
    """How many places a moving window has along each axis."""
    require(stride > 0, f"the stride is {stride}, but windows move on")
    places = [(s + 2 * padding - w) // stride + 1 for s, w in zip(sizes, window, strict=True)]
    require(min(places) > 0, f"a window of {tuple(window)} does not fit into {tuple(sizes)}")
    return places


def _algorithm(family: str, name: str) -> Algorithm:
    try:
        return Algorithm[f"{family}_{name}"]
    except KeyError:
        known = (each.name for each in Algorithm if each.name.startswith(f"{family}_"))
        names = ", ".join(each.removeprefix(f"{family}_") for each in known)
        invalid(f"there is no {name!r}; there are {names}")


def _attributes(onto: Memory | None, then: Then) -> tuple[Attributes, dict[int, Any]]:
    """Post-operations, and the tensors that they bring with them."""
    attributes, tensors = Attributes(), dict[int, Any]()
    post_ops = attributes.post_ops
    if onto is not None:
        post_ops.append_sum()
        tensors[Arg.DST] = onto
    for step in then:
        name, *values = (step,) if isinstance(step, str) else step
        if values and isinstance(values[0], Memory):
            place = Arg.ATTR_MULTIPLE_POST_OP_BASE * (len(post_ops) + 1) | Arg.SRC_1
            tensors[place] = values[0]
            post_ops.append_binary(_algorithm("binary", name), values[0].descriptor)
        else:
            post_ops.append_eltwise(_algorithm("eltwise", name), *values)
    return attributes, tensors
