"""Write every generated file, or with `--check` say which ones are stale."""

from __future__ import annotations

import argparse
import sys

from registry.outputs import stale, write_all


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m registry", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if stale")
    arguments = parser.parse_args()
    if not arguments.check:
        for path in write_all():
            print(f"wrote {path}")
        return 0
    summaries = stale()
    for summary in summaries:
        print(summary)
    return 1 if summaries else 0


if __name__ == "__main__":
    sys.exit(main())
