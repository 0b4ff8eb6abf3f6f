"""Where the processes that tests start find what this one has imported."""

from __future__ import annotations

from pathlib import Path

import groundstate

ROOT = Path(__file__).parents[1]

IMPORT_PATH = [str(ROOT), str(Path(groundstate.__file__).parents[1])]
"""The tests, and the package: an installed one, or the one of the checkout."""
