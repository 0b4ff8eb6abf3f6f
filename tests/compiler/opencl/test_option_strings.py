"""Build options of strangers are taken, or refused with a sentence."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from groundstate.compiler.opencl import options
from groundstate.compiler.opencl.frontend import CompileError, compile_opencl
from groundstate.driver import build_options
from tests.fuzz.option_strings import options as some_options

SEEDS = range(3000)


def test_any_text_is_understood_or_refused() -> None:
    for seed in SEEDS:
        given: list[str] = []
        with suppress(options.UnknownOptionError):
            given = options.parse(some_options(random.Random(seed))).given
        assert not any(word.startswith(("-Wp,", "-Wl,", "-Wa,", "@")) for word in given)


def test_any_text_leaves_options_that_are_known() -> None:
    for seed in SEEDS:
        taken, warnings, errors = build_options.read(some_options(random.Random(seed)))
        words = taken.split()
        assert all(word in build_options.KNOWN or word[:-1] == "-ze-opt-level=" for word in words)
        assert all("\x1b" not in line and "\n" not in line for line in warnings + errors)


def test_very_many_options_are_told_in_few_lines() -> None:
    taken, warnings, errors = build_options.read("-g -x y z," * 100_000 + "w " * 100_000)
    assert taken == "-g"
    assert len(warnings) == build_options.MOST_LINES + 1
    assert warnings[-1] == f"and {100_000 - build_options.MOST_LINES} more"
    assert errors == []


@pytest.mark.parametrize("word", ["-Wp,-MD,/tmp/x", "-Wl,-o,x", "-Wa,-o,x", "-W", "@file"])
def test_w_option_that_is_no_warning_is_refused(word: str) -> None:
    with pytest.raises(CompileError, match="there is no option"):
        compile_opencl("", options=[word])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("-D 'A", "cannot be read"),
        ("-D" + "x" * 70_000, "more than 65536 characters"),
        ("-DA=\0", "a zero byte"),
        ("-cl-mad\0", "a zero byte"),
    ],
)
def test_what_no_program_can_be_given_is_refused(text: str, words: str) -> None:
    with pytest.raises(options.UnknownOptionError, match=words):
        options.parse(text)
