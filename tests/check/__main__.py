"""Recall and false alarms of checkers on labelled kernels: `python -m tests.check [checker]`."""

from __future__ import annotations

import sys

from tests.check.labelled.measure import run_suite, table
from tests.check.labelled.suites import SUITES


def main() -> int:
    """Prints a table for each checker; 1 if anything is not as it is labelled."""
    as_labelled = True
    for checker in sys.argv[1:] or SUITES:
        outcomes = run_suite(checker)
        as_labelled &= all(each.is_right for each in outcomes)
        print(f"{checker}: {len(outcomes)} labelled kernels", *table(outcomes), sep="\n")
    return 0 if as_labelled else 1


if __name__ == "__main__":
    sys.exit(main())
