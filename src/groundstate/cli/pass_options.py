"""Options of `groundstate compile` for those who work on the compiler itself."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from groundstate.compiler.errors import BuildError


def add_pass_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options for those who work on the compiler itself."""
    group = parser.add_argument_group("passes of the compiler")
    for when in ("before", "after"):
        group.add_argument(
            f"--print-{when}",
            metavar="PASS",
            action="append",
            default=[],
            help=f"print each kernel {when} a pass to standard error; all: {when} every pass",
        )
    group.add_argument(
        "--passes",
        metavar="PASS,...",
        help="run only these of the optional passes; none: run none of them",
    )
    group.add_argument("--time-passes", action="store_true", help="say how long each pass takes")
    group.add_argument("--verify", action="store_true", help="verify each kernel after every pass")
    group.add_argument("--list-passes", action=ListPasses, help="list the passes in order, and end")


class ListPasses(argparse.Action):
    """Prints the pipeline."""

    def __init__(self, option_strings: Sequence[str], dest: str, **given: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **given)

    def __call__(self, parser: argparse.ArgumentParser, *given: object) -> None:
        from groundstate.compiler.instrument.passes import ALL_PASSES

        for step in ALL_PASSES.values():
            optional = "optional" if step.is_optional else ""
            print(f"{step.name:24} {optional:9} {step.summary}")
        parser.exit()


@contextmanager
def observed(args: argparse.Namespace) -> Iterator[None]:
    """Watches the passes as the options say."""
    wants = (args.print_before, args.print_after, args.passes, args.time_passes, args.verify)
    if not any(wants):
        yield
        return
    from groundstate.compiler.ir import pass_observers, passes

    names = [*args.print_before, *args.print_after]
    chosen = [] if args.passes in (None, "none") else args.passes.split(",")
    check_pass_names([each for each in names if each != "all"], chosen)
    timer = pass_observers.PassTimer()
    watching: list[passes.Observer] = [pass_observers.Verifier()] if args.verify else []
    watching += [timer] if args.time_passes else []
    watching += [pass_observers.PassPrinter(args.print_before, args.print_after)] if names else []
    passes.observers += watching
    passes.selection.names = None if args.passes is None else frozenset(chosen)
    try:
        yield
    finally:
        passes.selection.names = None
        del passes.observers[len(passes.observers) - len(watching) :]
        if args.time_passes:
            sys.stderr.write(timer.table() + "\n")


def check_pass_names(names: Sequence[str], chosen: Sequence[str]) -> None:
    """Raises BuildError for a name that no pass has, or a choice that is none."""
    from groundstate.compiler.instrument.passes import ALL_PASSES

    for name in (*names, *chosen):
        if name not in ALL_PASSES:
            raise BuildError(f"there is no pass '{name}'; --list-passes lists them")
    for name in chosen:
        if not ALL_PASSES[name].is_optional:
            raise BuildError(
                f"the pass '{name}' always runs; --list-passes says which are optional"
            )
