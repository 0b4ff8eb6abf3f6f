"""The directive `compiler-pipeline`: the compiler's stages, drawn from its lists of passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from groundstate.compiler.instrument.passes import INSTRUMENT
from groundstate.compiler.ir.passes import Pass
from groundstate.compiler.pipeline import (
    FORGET_INDICES,
    LOWERING,
    SIZED,
    THREAD_LOWERING,
    VECTOR,
    VECTOR_LOWERING,
)

WIDTH = 640
STAGE_HEIGHT, PASS_HEIGHT, GAP = 34, 25, 26

STAGES: tuple[tuple[str, str, Sequence[Pass]], ...] = (
    ("SPIR-V", "read, checked, every call inlined", ()),
    ("Kernel IR", "lowered once for each kernel", [*VECTOR_LOWERING, FORGET_INDICES]),
    ("Checked IR", "in checked mode only", [step for each in INSTRUMENT.values() for step in each]),
    ("Variant", "a copy for one group size, vectorised", [*SIZED, *VECTOR]),
    ("Threads", "for GPUs, in the place of the variant", THREAD_LOWERING[len(LOWERING) :]),
    ("LLVM IR", "one function that runs a range of work-groups", ()),
    ("Object code", "kept in the kernel cache, linked without LLVM", ()),
)


class CompilerPipeline(SphinxDirective):
    """The stages from top to bottom, and a table with a sentence for each pass."""

    def run(self) -> list[nodes.Node]:
        passes = {each.name: each for _, _, steps in STAGES for each in steps}
        rows = "".join(f"| `{name}` | {each.summary} |\n" for name, each in passes.items())
        table = self.parse_text_to_nodes(f"| pass | effect |\n|---|---|\n{rows}")
        return [nodes.raw("", drawing(), format="html"), *table]


def drawing() -> str:
    """The picture as SVG, in the colours of the theme."""
    shapes: list[str] = []
    top = 1
    for number, (name, remark, passes) in enumerate(STAGES):
        if number:
            shapes.append(arrow(top, top + GAP))
            top += GAP
        shapes += stage(top, name, remark)
        top += STAGE_HEIGHT
        for each in passes:
            shapes += step(top, each)
            top += PASS_HEIGHT
    return (
        f'<svg class="pipeline" viewBox="0 0 {WIDTH} {top + 2}" role="img" '
        'aria-label="The stages of the compiler and the passes of each">\n'
        + "\n".join(shapes)
        + "\n</svg>"
    )


def stage(top: int, name: str, remark: str) -> Iterator[str]:
    middle = top + STAGE_HEIGHT / 2 + 5
    box = f'x="1" y="{top}" width="{WIDTH - 2}" height="{STAGE_HEIGHT}" rx="5"'
    yield f'<rect class="stage" {box}/>'
    yield f'<text class="stage-name" x="16" y="{middle}" font-size="16">{escape(name)}</text>'
    yield (
        f'<text class="stage-name" x="{WIDTH - 16}" y="{middle}" font-size="13" '
        f'text-anchor="end">{escape(remark)}</text>'
    )


def step(top: int, each: Pass) -> Iterator[str]:
    kind = "pass optional" if each.is_optional else "pass"
    box = f'x="24" y="{top + 3}" width="{WIDTH - 48}" height="{PASS_HEIGHT - 4}" rx="3"'
    yield f'<rect class="{kind}" {box}/>'
    baseline = top + PASS_HEIGHT / 2 + 5
    yield f'<text class="pass-name" x="36" y="{baseline}" font-size="12.5">{each.name}</text>'
    if each.is_optional:
        yield (
            f'<text class="remark" x="{WIDTH - 36}" y="{baseline}" font-size="12" '
            'text-anchor="end">optional</text>'
        )


def arrow(top: int, bottom: int) -> str:
    middle, end = WIDTH // 2, bottom - 3
    path = f"M{middle} {top + 3}V{end}m-5 -6l5 6l5 -6"
    return f'<path class="arrow" d="{path}" stroke-width="1.5"/>'


def setup(app: Sphinx) -> dict[str, bool]:
    """Adds the directive."""
    app.add_directive("compiler-pipeline", CompilerPipeline)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
