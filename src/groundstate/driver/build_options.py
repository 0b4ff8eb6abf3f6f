"""Build options of a module: which are handed to the compiler, and a line for each that is not.

The specification separates options by commas, its users by spaces; both are taken. An option that
is not known is no error, since other drivers have many of their own: it is ignored, and the build
log says so. What does not look like an option at all is an error, and so is a level that does not
exist.
"""

from __future__ import annotations

import re

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
    options: list[str] = []
    warnings: list[str] = []
    errors: list[str] = []
    words = [word for word in re.split(r"[\s,]+", text) if word]
    while words:
        word = words.pop(0)
        name, _, value = word.partition("=")
        if name == _LEVEL:
            level = value or (words.pop(0) if words else "")
            if re.fullmatch(r"O?[0-9]", level):
                options.append(f"{_LEVEL}={level[-1]}")
            else:
                errors.append(f"error: {_LEVEL} takes 0, 1 or 2, not {level!r}")
        elif word in KNOWN:
            options.append(word)
        elif re.match(r"-+\w", word):
            while words and not words[0].startswith("-"):
                word += f" {words.pop(0)}"
            warnings.append(f"warning: build option {word} is not known and was ignored")
        else:
            errors.append(f"error: {word!r} is not a build option")
    return " ".join(options), warnings, errors
