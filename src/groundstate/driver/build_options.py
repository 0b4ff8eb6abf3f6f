"""Build options of a module: which are handed to the compiler, and a line for each that is not.

The specification separates options by commas, its users by spaces; both are taken. An option that
is not known is no error, since other drivers have many of their own: it is ignored, and the build
log says so. What does not look like an option at all is an error, and so is a level that does not
exist.
"""

from __future__ import annotations

from collections import deque

from groundstate.printable import printable

MOST_LINES = 50
MOST_CHARACTERS = 200
"""Of what is said about options that are not taken."""

KNOWN = frozenset(
    (
        "-ze-opt-disable",
        "-ze-opt-greater-than-4GB-buffer-required",
        "-ze-opt-large-register-file",
        "-ze-opt-has-buffer-offset-arg",
        "-g",
        "-cl-opt-disable",
        "-cl-mad-enable",
        "-cl-no-signed-zeros",
        "-cl-unsafe-math-optimizations",
        "-cl-finite-math-only",
        "-cl-fast-relaxed-math",
        "-cl-denorms-are-zero",
        "-cl-single-precision-constant",
        "-cl-fp32-correctly-rounded-divide-sqrt",
        "-cl-strict-aliasing",
        "-cl-uniform-work-group-size",
        "-cl-no-subgroup-ifp",
        "-cl-kernel-arg-info",
    )
)
"""Options without a value."""

_LEVEL = "-ze-opt-level"


def read(text: str) -> tuple[str, list[str], list[str]]:
    """The options for the compiler, separated by spaces, warnings about others, and errors.

    >>> read("-ze-opt-level 1, -ze-intel-magic")
    ('-ze-opt-level=1', ['warning: build option -ze-intel-magic is not known and was ignored'], [])
    >>> read("nonsense")
    ('', [], ["error: 'nonsense' is not a build option"])
    """
    import re  # costs as much as a tenth of a start

    options: list[str] = []
    warnings: list[str] = []
    errors: list[str] = []
    words = deque(word for word in re.split(r"[\s,]+", text) if word)
    while words:
        word = words.popleft()
        name, _, value = word.partition("=")
        if name == _LEVEL:
            level = value or (words.popleft() if words else "")
            if re.fullmatch(r"O?[0-9]", level):
                options.append(f"{_LEVEL}={level[-1]}")
            else:
                errors.append(f"error: {_LEVEL} takes 0, 1 or 2, not {_shown(level)!r}")
        elif word in KNOWN:
            options.append(word)
        elif re.match(r"-+\w", word):
            parts = [word]
            while words and not words[0].startswith("-"):
                parts.append(words.popleft())
            told = printable(_shown(" ".join(parts)))
            warnings.append(f"warning: build option {told} is not known and was ignored")
        else:
            errors.append(f"error: {_shown(word)!r} is not a build option")
    return " ".join(dict.fromkeys(options)), _few(warnings), _few(errors)


def divide(text: str) -> tuple[list[str], str]:
    """The options of a module in OpenCL C: those of its front end, and those of the device.

    Raises `UnknownOptionError` if a quotation mark has no end.

    >>> divide("-cl-std=CL2.0 -D N=4 -ze-opt-level 1 -g")
    (['-cl-std=CL2.0', '-D', 'N=4', '-g'], '-ze-opt-level 1 -g')
    """
    from groundstate.compiler.opencl import options

    front: list[str] = []
    device: list[str] = []
    words = iter(options.split(text))
    for word in words:
        if word in options.WITH_VALUE:
            front += [word, next(words, "")]
            continue
        if options.is_option(word):
            front.append(word)
        if word in KNOWN or not options.is_option(word):
            device.append(word)
    return front, " ".join(device)


def _shown(word: str) -> str:
    return word if len(word) <= MOST_CHARACTERS else word[:MOST_CHARACTERS] + "..."


def _few(lines: list[str]) -> list[str]:
    """The first of many lines, and how many there are besides."""
    left = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], f"and {left} more"] if left > 0 else lines
