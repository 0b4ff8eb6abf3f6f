"""A profile as one HTML file that needs nothing else: no network, no other file.

Names in it are whatever a program says, so all of them are escaped.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import Any

from groundstate.printable import printable
from groundstate.profiler.roofline import roofline
from groundstate.profiler.screen import rate, time_of

MOST_CALLS = 12
MOST_SITES = 8


def page(report: dict[str, Any]) -> str:
    """The whole page."""
    folder = files("groundstate.profiler")
    style = (folder / "page.css").read_text(encoding="utf-8")
    script = (folder / "page.js").read_text(encoding="utf-8")
    title = _text(" ".join(report["command"]) or "a program")
    body = "\n".join(_sections(report))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Profile of {title}</title>\n<style>\n{style}</style></head>\n<body>\n"
        f'<h1>Profile of <span class="dim">{title}</span></h1>\n{body}\n'
        f"<script>\n{script}</script>\n</body></html>\n"
    )


def _sections(report: dict[str, Any]) -> Iterator[str]:
    kernels, roof = report["kernels"], report["roof"]
    yield _facts(report)
    if report["advice"]:
        items = "".join(f"<li>{_sentence(each)}</li>" for each in report["advice"])
        yield f'<ul class="advice">{items}</ul>'
    if report["dropped"]:
        yield f"<p>{report['dropped']:,} records had no room and are missing.</p>"
    if kernels:
        yield f"<h2>Kernels</h2>{_table(kernels)}"
    if kernels and roof:
        yield f"<h2>Roofline</h2>{roofline(kernels, roof)}{_without_operations(kernels)}"
    yield f"<h2>Where the time of kernels goes</h2>{_flame(kernels)}"
    for number, each in enumerate(kernels, 1):
        yield _kernel(number, each)
    for process in report["processes"]:
        yield _process(process)


def _facts(report: dict[str, Any]) -> str:
    facts = [
        (_ms(report["wall_ms"]), "altogether"),
        (_ms(report["kernel_ms"]), "in kernels"),
        (f"{report['workers']}", "workers"),
    ]
    roof = report["roof"]
    if roof:
        facts += [
            (f"{roof['gflops']:,.0f} GFLOP/s", "the machine's roof"),
            (f"{roof['gbs']:,.0f} GB/s", "from memory"),
            (f"{roof['cache_gbs']:,.0f} GB/s", "from the cache"),
        ]
    cells = "".join(
        f'<div><b>{escape(value)}</b><span class="dim">{escape(name)}</span></div>'
        for value, name in facts
    )
    return f'<div class="facts">{cells}</div>'


def _table(kernels: list[dict[str, Any]]) -> str:
    heads = (
        *("", "kernel", "time", "share", "launches", "each", "GFLOP/s", "GB/s", "lanes", "workers"),
        "",
    )
    rows = []
    for number, each in enumerate(kernels, 1):
        counted, used = each["counted"], each["utilisation"]
        cells = (
            str(number),
            f'<a href="#kernel-{number}">{_text(each["name"])}</a>',
            ("~" if each["is_slowed"] else "") + _ms(each["ms"]),
            f"{each['share']:.1%}",
            f"{each['launches']:,}",
            time_of(each["mean_us"]),
            rate(counted, "gflops"),
            rate(counted, "gbs"),
            f"{counted['lanes_active']:.0%}" if counted else "-",
            "-" if used is None else f"{used:.0%}",
            f'<span class="bar" style="width: {1 + 120 * each["share"]:.0f}px"></span>',
        )
        rows.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    head = "".join(f"<th>{name}</th>" for name in heads)
    return f'<div class="wide"><table id="kernels"><tr>{head}</tr>{"".join(rows)}</table></div>'


def _without_operations(kernels: list[dict[str, Any]]) -> str:
    names = [
        f"{number}. {_text(each['name'])}"
        for number, each in enumerate(kernels, 1)
        if each["counted"] and not each["counted"]["gflops"]
    ]
    if not names:
        return ""
    return (
        '<p class="dim">Not in the picture, as they have no floating-point operations: '
        f"{', '.join(names)}</p>"
    )


def _flame(kernels: list[dict[str, Any]]) -> str:
    """All kernels beside each other by their times; below each one its lines, by its samples."""
    frames = [_frame(0, 0.0, 1.0, "kernels", "all kernels")]
    at = 0.0
    for number, each in enumerate(kernels, 1):
        words = f"{number}. {each['name']}"
        told = f"{words}: {each['share']:.1%}, {_ms(each['ms'])}"
        frames.append(_frame(1, at, each["share"], words, told))
        frames += _stacks(each, at)
        at += each["share"]
    return f'<div id="flame">{"".join(frames)}</div><div id="picked" class="dim"></div>'


def _stacks(kernel: dict[str, Any], at: float) -> Iterator[str]:
    stacks = [([tuple(frame) for frame in e["frames"]], e["samples"]) for e in kernel["stacks"]]
    total = sum(samples for _, samples in stacks)
    if total:
        unit = kernel["share"] / total
        yield from _level([each for each in stacks if each[0]], at, unit, 2)


def _level(
    stacks: list[tuple[list[Any], int]], at: float, unit: float, depth: int
) -> Iterator[str]:
    """The frames of one depth, and those above them."""
    groups: dict[Any, list[tuple[list[Any], int]]] = {}
    for frames, samples in stacks:
        groups.setdefault(frames[0], []).append((frames[1:], samples))
    for (file, line, function), inner in groups.items():
        samples = sum(each for _, each in inner)
        words = f"{file.rsplit('/', 1)[-1]}:{line} {function}"
        told = f"{file}:{line} in {function}: {samples:,} samples"
        yield _frame(depth, at, samples * unit, words, told)
        yield from _level([each for each in inner if each[0]], at, unit, depth + 1)
        at += samples * unit


def _frame(depth: int, at: float, width: float, words: str, told: str) -> str:
    return (
        f'<button data-depth="{depth}" data-from="{at:.6f}" data-width="{width:.6f}" '
        f'title="{_text(told)}">{_text(words)}</button>'
    )


def _kernel(number: int, kernel: dict[str, Any]) -> str:
    size = " x ".join(map(str, kernel["group_size"]))
    groups = " x ".join(f"{each:,}" for each in kernel["groups"])
    parts = [
        f"<h3>{number}. {_text(kernel['name'])}</h3>",
        f'<div class="dim">{groups} groups of {size}; {kernel["launches"]:,} launches, '
        f"{time_of(kernel['shortest_us'])} to {time_of(kernel['longest_us'])}</div>",
        f"<ul>{''.join(f'<li>{_sentence(each)}</li>' for each in kernel['reasons'])}</ul>",
    ]
    if kernel["is_slowed"]:
        parts.append("<p>All of its launches counted, which takes time: --no-counters</p>")
    if kernel["lines"]:
        rows = "".join(
            f"<tr><td>{each['share']:.0%}</td><td>{_text(_place(each))}</td>"
            f'<td class="code">{_text(each["text"])}</td></tr>'
            for each in kernel["lines"]
        )
        parts.append(f'<table class="lines">{rows}</table>')
    if kernel["counted"]:
        parts.append(_counted(kernel["counted"]))
    return f'<section class="kernel" id="kernel-{number}">{"".join(parts)}</section>'


def _counted(counted: dict[str, Any]) -> str:
    item = counted["per_item"]
    words = (
        f"Each work-item: {item['instructions']:,.4g} instructions, {item['flops']:,.4g} "
        f"floating-point operations, {item['bytes']:,.4g} bytes of global and "
        f"{counted['local_bytes_per_item']:,.4g} of local memory, {item['atomics']:,.3g} atomic "
        f"operations, {item['barriers']:,.3g} barriers."
    )
    rows = "".join(
        f"<tr><td>{each['bytes_per_item']:,.4g} B</td><td>{_text(_place(each))}</td>"
        f"<td>{_text(each['kind'])} {_text(each['access'])} of {_text(each['memory'])} memory</td>"
        f'<td class="code">{_text(each["expression"])}</td></tr>'
        for each in counted["sites"][:MOST_SITES]
    )
    return (
        f'<p class="dim">{words}</p><details><summary>Accesses</summary>'
        f'<table class="lines">{rows}</table></details>'
    )


def _process(process: dict[str, Any]) -> str:
    causes = "".join(
        f"<tr><td></td><td>{_text(name)}</td><td>{_ms(time)}</td></tr>"
        for name, time in process["idle_by_cause_ms"].items()
    )
    calls = "".join(
        f"<tr><td>{each['calls']:,}</td><td>{_text(each['name'])}</td><td>{_ms(each['ms'])}</td>"
        f"<td>{_ms(each['longest_ms'])}</td></tr>"
        for each in process["calls"][:MOST_CALLS]
    )
    copies, alone = process["copies"], process["copies_that_could_overlap"]
    moved = (
        f"{copies['number']:,} copies of {copies['bytes'] / 1e6:,.1f} MB took {_ms(copies['ms'])}"
        f" ({copies['gbs']:.1f} GB/s); {alone['number']:,} of them could overlap with kernels."
        if copies["number"]
        else "No copies."
    )
    return (
        f"<h2>Host, process {process['pid']}</h2>"
        f"<p>Device busy {_ms(process['device_busy_ms'])}, idle {_ms(process['idle_ms'])} in "
        f"{process['gaps']:,} gaps; in calls {_ms(process['calling_ms'])}, waiting "
        f"{_ms(process['waiting_ms'])}; compiling {_ms(process['compiling_ms'])}. {moved}</p>"
        '<div class="wide"><table><tr><th>calls</th><th>function</th><th>time</th><th>longest</th>'
        f"</tr>{calls}</table></div>"
        + (
            '<h2>What the host did while the device was idle</h2><div class="wide"><table>'
            f"{causes}</table></div>"
            if causes
            else ""
        )
    )


def _place(of: dict[str, Any]) -> str:
    return f"{of['file'].rsplit('/', 1)[-1]}:{of['line']}" if of["file"] else ""


def _ms(milliseconds: float) -> str:
    return time_of(milliseconds * 1e3)


def _text(words: str) -> str:
    return escape(printable(words))


def _sentence(words: str) -> str:
    """A sentence, in which code stands between backquotes."""
    parts = _text(words).split("`")
    if len(parts) % 2 == 0:
        return "`".join(parts)
    return "".join(f"<code>{e}</code>" if nth % 2 else e for nth, e in enumerate(parts))
