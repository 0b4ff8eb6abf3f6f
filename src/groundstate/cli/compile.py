"""`groundstate compile`: turns OpenCL C into SPIR-V."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from groundstate.compiler import frontend
from groundstate.compiler.frontend import CompileError
from groundstate.compiler.opencl import options as language

DESCRIPTION = """\
Compiles a file of OpenCL C to SPIR-V, which zeModuleCreate and other tools take.

The options of OpenCL itself are taken as they are: -D, -I, -cl-std=, -cl-fast-relaxed-math, -w and
so on. The language is OpenCL C 3.0 unless -cl-std says otherwise.
"""

EXAMPLES = """\
examples:
  groundstate compile blur.cl                          writes blur.spv
  groundstate compile blur.cl -o out.spv -D RADIUS=3 -I include
  groundstate compile old.cl -cl-std=CL1.2 -cl-mad-enable
  cat blur.cl | groundstate compile - -o blur.spv      from a pipe
"""

STANDARD_STREAM = "-"

VALUE_OPTIONS = {
    "-D": ("NAME[=VALUE]", "define a macro"),
    "-U": ("NAME", "make a macro undefined"),
    "-I": ("FOLDER", "look for included files in a folder"),
    "-W": ("WARNING", "switch a warning on or off, such as -Wno-unused"),
    "-cl-std": ("STANDARD", f"the language: {', '.join(language.STANDARDS)}"),
}

STYLES = {"error": "bold red", "fatal error": "bold red", "warning": "bold yellow", "note": "bold"}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `compile` to the commands."""
    parser = subparsers.add_parser(
        "compile",
        help="compile OpenCL C to SPIR-V",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="groundstate compile FILE [-o OUTPUT] [OpenCL options]",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="the source; - reads the standard input")
    parser.add_argument(
        "-o",
        dest="output",
        metavar="OUTPUT",
        help="where to write; - for the standard output (default: FILE with another ending)",
    )
    parser.add_argument("--emit", choices=sorted(EMITTERS), default="spirv", help=argparse.SUPPRESS)
    add_language_options(parser)
    parser.set_defaults(run=run, parser=parser)


class Prefixed:
    """Makes of an option's value the word that the compiler takes: -D and X is -DX."""

    def __init__(self, flag: str) -> None:
        self.prefix = f"{flag}=" if len(flag) > 2 else flag

    def __call__(self, value: str) -> str:
        return self.prefix + value


def add_language_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of OpenCL C, which are gathered as they are in `args.options`."""
    group = parser.add_argument_group("options of OpenCL")
    for flag, (metavar, sentence) in VALUE_OPTIONS.items():
        group.add_argument(
            flag,
            dest="options",
            action="append",
            default=[],
            metavar=metavar,
            type=Prefixed(flag),
            help=sentence,
        )
    for flag in language.FLAGS:
        group.add_argument(
            flag, dest="options", action="append_const", const=flag, help=argparse.SUPPRESS
        )


def emit_spirv(source: str, options: list[str], name: str) -> tuple[bytes, str]:
    """SPIR-V, and the warnings."""
    compiled = frontend.compile_with_log(source, options=options, name=name)
    return compiled.spirv, compiled.log


Emitter = Callable[[str, list[str], str], tuple[bytes, str]]

EMITTERS: dict[str, Emitter] = {"spirv": emit_spirv}
"""What can be written, and who makes it of a source, its options and its name."""

ENDINGS = {"spirv": ".spv"}


def run(args: argparse.Namespace) -> int:
    """Compiles, says what there is to say, and writes the result."""
    try:
        source = read(args.file)
    except OSError as problem:
        return complain(f"cannot read '{args.file}': {problem.strerror}")
    except UnicodeDecodeError:
        return complain(f"'{args.file}' is not text")
    name = "<stdin>" if args.file == STANDARD_STREAM else args.file
    options = [*args.options, f"-I{os.path.dirname(args.file) or os.curdir}"]
    try:
        result, log = EMITTERS[args.emit](source, options, name)
    except CompileError as problem:
        show(problem.log)
        return 1
    show(log)
    try:
        write(output_path(args), result)
    except OSError as problem:
        return complain(f"cannot write '{output_path(args)}': {problem.strerror}")
    return 0


def read(path: str) -> str:
    """The source at `path`."""
    if path == STANDARD_STREAM:
        return sys.stdin.read()
    with open(path, encoding="utf-8") as file:
        return file.read()


def output_path(args: argparse.Namespace) -> str:
    """Where the result goes: what -o says, else beside the source."""
    if args.output is not None:
        return str(args.output)
    if args.file == STANDARD_STREAM:
        return STANDARD_STREAM
    return os.path.splitext(str(args.file))[0] + ENDINGS[str(args.emit)]


def write(path: str, result: bytes) -> None:
    """Writes the result."""
    if path == STANDARD_STREAM:
        sys.stdout.buffer.write(result)
        return
    with open(path, "wb") as file:
        file.write(result)


def show(log: str) -> None:
    """Prints clang's messages on standard error, in colour if that is a terminal."""
    if not log:
        return
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for line in log.splitlines():
        text = Text(line)
        for severity, style in STYLES.items():
            text.highlight_regex(rf"(?<=: ){severity}: ", style)
        console.print(text)


def complain(sentence: str) -> int:
    """Says on standard error what went wrong and hands back the exit status."""
    print(f"groundstate compile: {sentence}", file=sys.stderr)
    return 1
