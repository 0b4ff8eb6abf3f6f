"""What commands that play a recording share: whether its machine code is trusted."""

from __future__ import annotations

import argparse

from groundstate import knobs


def add_trust_option(parser: argparse.ArgumentParser) -> None:
    """Adds `--trust-native`."""
    parser.add_argument(
        "--trust-native",
        action="store_true",
        help="also run native modules of the recording that no driver of yours has made: machine "
        "code of whoever made it, with all of your rights",
    )


def native_environment(args: argparse.Namespace) -> dict[str, str]:
    """The variable that tells the driver the same; only the option makes it trust a recording."""
    trusted = "trusted" if args.trust_native else "own"
    never = knobs.NATIVE.get() == "never" and not args.trust_native
    return {knobs.NATIVE.name: "never" if never else trusted}
