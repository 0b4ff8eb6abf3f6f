"""Layer, batch and group normalisation: they differ only in which elements share a statistic.

A sub-group works on the elements that share a mean and a variance. It computes them, unless they
are given, and then writes the elements, while they are still in a cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.elementwise import literal
from groundstate.dnn.kernels import indexing, values
from groundstate.dnn.kernels.epilogue import Epilogue, Quantized
from groundstate.dnn.kernels.loops import shared_loop
from groundstate.dnn.kernels.text import Kernel
from groundstate.dnn.plan import Launch
from groundstate.dnn.types import Arg, DataType

LANES = 32


@dataclass(frozen=True)
class Sharing:
    """Which elements of a tensor share a statistic: a row, a channel, or channels of an image."""

    kind: str
    """`layer`, `batch` or `group`."""
    source: Descriptor
    groups: int = 1

    @property
    def names(self) -> list[str]:
        """The coordinates of an element."""
        return [f"x{dim}" for dim in range(self.source.ndims)]

    @property
    def channel(self) -> int:
        """The dimension that scale and shift go along."""
        return self.source.ndims - 1 if self.kind == "layer" else 1

    @property
    def per_group(self) -> int:
        """How many channels a group has."""
        return self.source.dims[1] // self.groups

    @property
    def rows(self) -> int:
        """How many statistics there are."""
        dims = self.source.dims
        if self.kind == "layer":
            return prod(dims[:-1])
        return dims[1] if self.kind == "batch" else dims[0] * self.groups

    @property
    def count(self) -> int:
        """How many elements share one."""
        return self.source.elements // self.rows if self.rows else 0

    def row_lines(self) -> list[str]:
        """Takes `row`, the number of a statistic, apart."""
        dims, names = self.source.dims, self.names
        if self.kind == "layer":
            return indexing.coordinates("row", dims[:-1], names[:-1], "int")
        if self.kind == "batch":
            return ["const int x1 = row;"]
        return [f"const int x0 = row / {self.groups};", f"const int g = row % {self.groups};"]

    def element_lines(self) -> list[str]:
        """Takes `r`, the number of an element of a row, apart: neighbours in memory follow."""
        dims, names = self.source.dims, self.names
        if self.kind == "layer":
            return [f"const int {names[-1]} = r;"]
        others = range(2, len(dims)) if self.kind == "group" else (0, *range(2, len(dims)))
        parts = [(self.source.strides[dim], dims[dim], names[dim]) for dim in others]
        if self.kind == "group":
            parts.append((self.source.strides[1], self.per_group, "k"))
        parts.sort(key=lambda part: -part[0])
        lines = indexing.coordinates(
            "r", [size for _, size, _ in parts], [name for _, _, name in parts], "int"
        )
        if self.kind == "group":
            lines.append(f"const int x1 = g * {self.per_group} + k;")
        return lines

    def channel_lines(self) -> list[str]:
        """Takes `r`, the number of an element of a channel `c`, apart."""
        names = self.names
        others = [dim for dim in range(self.source.ndims) if dim != self.channel]
        others.sort(key=lambda dim: -self.source.strides[dim])
        dims = [self.source.dims[dim] for dim in others]
        return [
            f"const int {names[self.channel]} = c;",
            *indexing.coordinates("r", dims, [names[dim] for dim in others], "int"),
        ]

    def statistic(self, tensor: Descriptor) -> str:
        """Where the statistic of an element lies."""
        if self.kind == "layer":
            return indexing.offset(tensor, self.names[:-1])
        if self.kind == "batch":
            return "x1"
        return f"x0 * {self.groups} + x1 / {self.per_group}"


@dataclass(frozen=True)
class Norm:
    """A normalisation: what it shares, and what it does besides."""

    sharing: Sharing
    statistics: Descriptor
    epsilon: float
    given: bool
    """Mean and variance are read, not computed."""
    scaled: bool
    shifted: bool
    centred: bool = True
    """Without a mean it is normalised by the root of the mean square."""
    relu: bool = False
    weights: DataType = DataType.f32
    """The type of scale and shift."""


def _loop(lines: Sequence[str], count: int) -> list[str]:
    """A loop in which the lanes of a sub-group share elements."""
    return shared_loop(lines, "r", count, LANES)


def _statistics(norm: Norm, kernel: Kernel, source: Descriptor) -> None:
    """Lines that make `mean` and `variance`."""
    sharing = norm.sharing
    value = values.load(source.data_type, "source", indexing.offset(source, sharing.names))
    count = f"{float(sharing.count)}f"
    if norm.centred:
        kernel.line("float sum = 0.0f;")
        kernel.extend(_loop([*sharing.element_lines(), f"sum += {value};"], sharing.count))
        kernel.line(f"const float mean = sub_group_reduce_add(sum) / {count};")
    else:
        kernel.line("const float mean = 0.0f;")
    kernel.line("float squares = 0.0f;")
    inside = [f"const float v = {value} - mean;", "squares += v * v;"]
    kernel.extend(_loop([*sharing.element_lines(), *inside], sharing.count))
    kernel.line(f"const float variance = sub_group_reduce_add(squares) / {count};")


def _row_place(norm: Norm) -> str:
    """Where the statistic of a row lies, before there is an element."""
    if norm.sharing.kind == "layer":
        return indexing.offset(norm.statistics, norm.sharing.names[:-1])
    return "row"


def _begin(kernel: Kernel, norm: Norm) -> None:
    kernel.line("const int row = get_group_id(0);")
    kernel.line("const int lane = get_sub_group_local_id();")
    kernel.extend(norm.sharing.row_lines())


def forward(
    norm: Norm,
    source: Descriptor,
    target: Descriptor,
    attributes: Attributes,
    *,
    keep: bool,
    workspace: Descriptor | None = None,
) -> Launch:
    """A row for each sub-group; `keep` writes mean and variance."""
    kernel = Kernel("normalize")
    kernel.input(Arg.SRC, source.data_type, "source", in_place=True)
    kernel.output(Arg.DST, target.data_type, "target")
    _declare(kernel, norm, keep or norm.given)
    if norm.shifted:
        kernel.input(Arg.SHIFT, norm.weights, "beta")
    if workspace is not None:
        kernel.output(Arg.WORKSPACE, workspace.data_type, "workspace")
    scales = attributes.scales
    scale = None
    if Arg.SRC in scales:
        scale = Quantized(kernel, Arg.SRC, scales[Arg.SRC], source.dims, Arg.ATTR_SCALES)
    epilogue = Epilogue(kernel, attributes, target)
    _begin(kernel, norm)
    if norm.given:
        _read(kernel, norm)
    else:
        _statistics(norm, kernel, source)
    if keep:
        place = _row_place(norm)
        writes = [f"means[{place}] = mean;"] if norm.centred else []
        writes.append(f"variances[{place}] = variance;")
        kernel.line(f"if (lane == 0) {{ {' '.join(writes)} }}")
    kernel.line(f"const float inverse = 1.0f / sqrt(variance + {literal(norm.epsilon)});")
    inside = _element(norm, source, target, scale, epilogue, workspace)
    kernel.extend(_loop(inside, norm.sharing.count))
    return _launch(kernel, norm.sharing.rows)


def _declare(kernel: Kernel, norm: Norm, statistics: bool) -> None:
    if statistics:
        if norm.centred:
            kernel.output(Arg.MEAN, norm.statistics.data_type, "means")
        kernel.output(Arg.VARIANCE, norm.statistics.data_type, "variances")
    if norm.scaled:
        kernel.input(Arg.SCALE, norm.weights, "gamma")


def _read(kernel: Kernel, norm: Norm) -> None:
    place = _row_place(norm)
    kernel.line(f"const float mean = {f'means[{place}]' if norm.centred else '0.0f'};")
    kernel.line(f"const float variance = variances[{place}];")


def _element(
    norm: Norm,
    source: Descriptor,
    target: Descriptor,
    scale: Quantized | None,
    epilogue: Epilogue,
    workspace: Descriptor | None,
) -> list[str]:
    """What happens to an element when the statistics are known."""
    sharing = norm.sharing
    names, channel = sharing.names, sharing.names[sharing.channel]
    value = values.load(source.data_type, "source", indexing.offset(source, names))
    lines = [*sharing.element_lines(), f"float acc = ({value} - mean) * inverse;"]
    if norm.scaled:
        lines.append(f"acc *= {values.load(norm.weights, 'gamma', channel)};")
    if norm.shifted:
        lines.append(f"acc += {values.load(norm.weights, 'beta', channel)};")
    place = indexing.offset(target, names)
    if norm.relu:
        if workspace is not None:
            lines.append(f"workspace[{indexing.offset(workspace, names)}] = !(acc <= 0.0f);")
        lines.append("acc = acc <= 0.0f ? 0.0f : acc;")  # NaN stays
    if scale is not None:
        lines.append(f"acc *= {scale.at(names, 'float')};")
    return [*lines, *epilogue.lines(names, "target", place)]


def _launch(kernel: Kernel, groups: int) -> Launch:
    return kernel.launch(items=groups * LANES, group_size=LANES, sub_group=LANES)


# --- Backwards --------------------------------------------------------------------------------


def backward_source(
    norm: Norm,
    source: Descriptor,
    above: Descriptor,
    below: Descriptor,
    workspace: Descriptor | None,
) -> Launch:
    """The derivative of the source; the statistics depend on it, too, unless they were given."""
    kernel = Kernel("normalize_backward_source")
    kernel.input(Arg.SRC, source.data_type, "source")
    kernel.input(Arg.DIFF_DST, above.data_type, "above", in_place=True)
    kernel.output(Arg.DIFF_SRC, below.data_type, "below")
    _declare(kernel, norm, True)
    if workspace is not None:
        kernel.input(Arg.WORKSPACE, workspace.data_type, "workspace")
    _begin(kernel, norm)
    _read(kernel, norm)
    kernel.line(f"const float inverse = 1.0f / sqrt(variance + {literal(norm.epsilon)});")
    sharing = norm.sharing
    element = [*sharing.element_lines(), *_above(norm, source, above, workspace, scaled=True)]
    correction = ""
    if not norm.given:
        kernel.line("float sum = 0.0f, moment = 0.0f;")
        kernel.extend(_loop([*element, "sum += d;", "moment += d * v;"], sharing.count))
        kernel.line(f"sum = sub_group_reduce_add(sum) / {float(sharing.count)}f;")
        moment = "sub_group_reduce_add(moment) * inverse * inverse"
        kernel.line(f"moment = {moment} / {float(sharing.count)}f;")
        correction = " - sum - v * moment" if norm.centred else " - v * moment"
    place = indexing.offset(below, sharing.names)
    stored = values.store(below.data_type, "below", place, f"inverse * (d{correction})")
    kernel.extend(_loop([*element, stored], sharing.count))
    return _launch(kernel, sharing.rows)


def _above(
    norm: Norm,
    source: Descriptor,
    above: Descriptor,
    workspace: Descriptor | None,
    *,
    scaled: bool,
) -> list[str]:
    """Lines that make `v`, the centred element, and `d`, what comes from above."""
    names = norm.sharing.names
    value = values.load(source.data_type, "source", indexing.offset(source, names))
    change = values.load(above.data_type, "above", indexing.offset(above, names))
    if workspace is not None:
        change = f"(workspace[{indexing.offset(workspace, names)}] ? {change} : 0.0f)"
    if scaled and norm.scaled:
        change += f" * {values.load(norm.weights, 'gamma', names[norm.sharing.channel])}"
    return [f"const float v = {value} - mean;", f"const float d = {change};"]


def backward_weights(
    norm: Norm,
    source: Descriptor,
    above: Descriptor,
    workspace: Descriptor | None,
) -> Launch:
    """The derivatives of scale and shift; a channel for each sub-group."""
    kernel = Kernel("normalize_backward_weights")
    kernel.input(Arg.SRC, source.data_type, "source")
    kernel.input(Arg.DIFF_DST, above.data_type, "above")
    if norm.centred:
        kernel.input(Arg.MEAN, norm.statistics.data_type, "means")
    kernel.input(Arg.VARIANCE, norm.statistics.data_type, "variances")
    if workspace is not None:
        kernel.input(Arg.WORKSPACE, workspace.data_type, "workspace")
    if norm.scaled:
        kernel.output(Arg.DIFF_SCALE, norm.weights, "diff_gamma")
    if norm.shifted:
        kernel.output(Arg.DIFF_SHIFT, norm.weights, "diff_beta")
    sharing = norm.sharing
    channels = source.dims[sharing.channel]
    kernel.line("const int c = get_group_id(0);")
    kernel.line("const int lane = get_sub_group_local_id();")
    kernel.line("float scale = 0.0f, shift = 0.0f;")
    place = sharing.statistic(norm.statistics)
    inside = [
        *sharing.channel_lines(),
        f"const float mean = {f'means[{place}]' if norm.centred else '0.0f'};",
        f"const float inverse = 1.0f / sqrt(variances[{place}] + {literal(norm.epsilon)});",
        *_above(norm, source, above, workspace, scaled=False),
        "scale += d * v * inverse;",
        "shift += d;",
    ]
    kernel.extend(_loop(inside, source.elements // channels))
    kernel.line("scale = sub_group_reduce_add(scale);")
    kernel.line("shift = sub_group_reduce_add(shift);")
    kernel.line("if (lane != 0) return;")
    if norm.scaled:
        kernel.line(values.store(norm.weights, "diff_gamma", "c", "scale"))
    if norm.shifted:
        kernel.line(values.store(norm.weights, "diff_beta", "c", "shift"))
    return _launch(kernel, channels)
