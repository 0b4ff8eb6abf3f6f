"""A process that answers requests: one JSON object in a line each, a method for each kind."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable


def answer_requests(make: Callable[[str], object]) -> None:
    """Makes a worker of the first argument, and answers until there are no more requests."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a runtime prints is not an answer
    worker = make(sys.argv[1])
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as problem:
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(answer), file=answers, flush=True)
