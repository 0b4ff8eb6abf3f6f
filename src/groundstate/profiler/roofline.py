"""The roofline: what kernels achieve, below what the machine can do for each byte, as SVG."""

from __future__ import annotations

import math
from html import escape
from typing import Any

WIDTH, HEIGHT = 760, 380
LEFT, RIGHT, TOP, BOTTOM = 62, 20, 16, 46
LEAST_RADIUS, MOST_RADIUS = 6, 17
DECADES = 4
"""Below the top of the picture."""


class Scales:
    """Where numbers are in the picture: both axes are logarithmic."""

    def __init__(self, intensities: list[float], rates: list[float], peak: float) -> None:
        self.left = min([0.01, *(10 ** math.floor(math.log10(each)) for each in intensities)])
        self.right = max([100.0, *(10 ** math.ceil(math.log10(each)) for each in intensities)])
        self.top = 10 ** math.ceil(math.log10(peak * 1.2))
        lowest = min([self.top / 10**DECADES, *rates])
        self.bottom = 10 ** math.floor(math.log10(lowest))

    def x(self, intensity: float) -> float:
        part = math.log10(intensity / self.left) / math.log10(self.right / self.left)
        return LEFT + part * (WIDTH - LEFT - RIGHT)

    def y(self, rate: float) -> float:
        part = math.log10(rate / self.bottom) / math.log10(self.top / self.bottom)
        return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM)


def roofline(kernels: list[dict[str, Any]], roof: dict[str, Any]) -> str:
    """The picture of the kernels that compute with floating-point numbers, by their numbers."""
    shown = [
        (number, each)
        for number, each in enumerate(kernels, 1)
        if each["counted"] and each["counted"]["gflops"] > 0 and each["counted"]["flops_per_byte"]
    ]
    counted = [each["counted"] for _, each in shown]
    peak = roof["gflops"]
    scales = Scales(
        [each["flops_per_byte"] for each in counted], [each["gflops"] for each in counted], peak
    )
    parts = [*_grid(scales), *_roofs(scales, roof)]
    parts += [_dot(scales, number, each) for number, each in shown]
    text = "".join(parts)
    label = "Roofline: GFLOP/s of each kernel over its operations for each byte"
    return (
        f'<svg id="roofline" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" '
        f'aria-label="{label}">{text}</svg>'
    )


def _grid(scales: Scales) -> list[str]:
    low, high = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    value = scales.left
    while value <= scales.right * 1.001:
        x = scales.x(value)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{low}"/>')
        parts.append(_text(x, low + 17, f"{value:g}", "middle"))
        value *= 10
    value = scales.bottom
    while value <= scales.top * 1.001:
        y = scales.y(value)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{y:.1f}" x2="{high}" y2="{y:.1f}"/>')
        parts.append(_text(LEFT - 7, y + 4, f"{value:g}", "end"))
        value *= 10
    parts.append(_text((LEFT + high) / 2, HEIGHT - 8, "operations for each byte", "middle"))
    middle = (TOP + low) / 2
    parts.append(
        f'<text class="dim" transform="translate(14 {middle:.0f}) rotate(-90)" '
        'text-anchor="middle">GFLOP/s</text>'
    )
    return parts


def _roofs(scales: Scales, roof: dict[str, Any]) -> list[str]:
    peak = roof["gflops"]
    parts = []
    for kind, rate, name in (
        ("roof", roof["gbs"], "memory"),
        ("cache", roof["cache_gbs"], "cache"),
    ):
        ridge = min(max(peak / rate, scales.left), scales.right)
        start = max(scales.left, scales.bottom / rate)
        points = [(start, start * rate), (ridge, peak)]
        if kind == "roof":
            points.append((scales.right, peak))
        path = " ".join(
            f"{scales.x(x):.1f},{scales.y(max(y, scales.bottom)):.1f}" for x, y in points
        )
        parts.append(f'<polyline class="{kind}" points="{path}"/>')
        x, y = scales.x(start), scales.y(max(start * rate, scales.bottom))
        words = f"{name} {rate:,.0f} GB/s"
        parts.append(_text(x + 22, y + 2 if kind == "roof" else y - 42, words, "start"))
    x, y = WIDTH - RIGHT - 4, scales.y(peak) - 7
    return [*parts, _text(x, y, f"{peak:,.0f} GFLOP/s", "end")]


def _dot(scales: Scales, number: int, kernel: dict[str, Any]) -> str:
    counted = kernel["counted"]
    x, y = scales.x(counted["flops_per_byte"]), scales.y(counted["gflops"])
    radius = max(LEAST_RADIUS, MOST_RADIUS * math.sqrt(kernel["share"]))
    title = (
        f"{number}. {kernel['name']}: {counted['gflops']:.3g} GFLOP/s, {counted['gbs']:.3g} GB/s"
    )
    return (
        f'<g><title>{escape(title)}</title><circle class="dot" cx="{x:.1f}" cy="{y:.1f}" '
        f'r="{radius:.1f}"/>{_text(x, y + 4, str(number), "middle", "")}</g>'
    )


def _text(x: float, y: float, words: str, anchor: str, kind: str = "dim") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place}>{escape(words)}</text>'
