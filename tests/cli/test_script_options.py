"""`groundstate script`: which words are its options, and which the program's."""

from __future__ import annotations

import pytest

from groundstate.cli import script
from groundstate.cli.main import main


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """The programs that the command would have become, with their variables."""
    calls: list[tuple[list[str], dict[str, str]]] = []

    def become(command: list[str], environment: dict[str, str], name: str) -> int:
        calls.append((command, environment))
        return 0

    monkeypatch.setattr(script.running, "become", become)
    return calls


BUNDLED = "inject_build_options"
PROGRAM = ["./my_app", "--size", "4"]


@pytest.mark.parametrize(
    "words",
    [
        ["--script-args=-O0", BUNDLED, "--", *PROGRAM],
        [BUNDLED, "--script-args=-O0", "--", *PROGRAM],
        [BUNDLED, "--script-args=-O0", "--stop-on-error", "--", *PROGRAM],
        ["--stop-on-error", BUNDLED, "--script-args=-O0", "--", *PROGRAM],
    ],
)
def test_options_may_precede_or_follow_script(
    words: list[str], became: list[tuple[list[str], dict[str, str]]]
) -> None:
    assert main(["script", *words]) == 0
    ((command, environment),) = became
    assert command == PROGRAM
    assert environment["GROUNDSTATE_SCRIPT_ARGUMENTS"] == "-O0"
    assert environment["GROUNDSTATE_SCRIPT_STOP"] == ("1" if "--stop-on-error" in words else "0")


@pytest.mark.parametrize(
    ("words", "program"),
    [
        ([BUNDLED, *PROGRAM], PROGRAM),
        ([BUNDLED, "--", *PROGRAM, "--", "x"], [*PROGRAM, "--", "x"]),
        ([BUNDLED, *PROGRAM, "--", "x"], [*PROGRAM, "--", "x"]),
    ],
)
def test_words_of_the_program_are_left_alone(
    words: list[str], program: list[str], became: list[tuple[list[str], dict[str, str]]]
) -> None:
    assert main(["script", *words]) == 0
    assert became[0][0] == program


def test_unknown_option_after_script_is_an_error(
    became: list[tuple[list[str], dict[str, str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["script", BUNDLED, "--sript-args=x", "--", *PROGRAM])
    assert "did you mean '--script-args'" in capsys.readouterr().err
    assert became == []
