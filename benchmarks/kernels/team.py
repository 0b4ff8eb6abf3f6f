"""The processes that measure, one for each runtime, as their leader sees them."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers, programs
from benchmarks.figures import OURS
from benchmarks.kernels.catalogue import find
from benchmarks.peers import Missing, Target
from groundstate import knobs

WORKER = "benchmarks.kernels.worker"


class Member:
    """A process that answers requests about one runtime."""

    def __init__(
        self,
        name: str,
        kind: str,
        env: Mapping[str, str],
        worker: str = WORKER,
        python: str = sys.executable,
    ) -> None:
        self.name = name
        command = [python, "-m", worker, kind]
        self._process = subprocess.Popen(
            command,
            env=programs.clean_environment(env),
            cwd=programs.ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, do: str, **values: object) -> dict[str, Any]:
        """Sends a request and waits for its answer; `error` in it says what went wrong."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            print(json.dumps({"do": do, **values}), file=process.stdin, flush=True)
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            return {"error": f"the process ended with {process.wait()}"}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it may have crashed
            self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Team:
    """Some runtimes that take turns: ours first."""

    def __init__(self, members: list[Member], missing: list[Missing] | None = None) -> None:
        self.members = members
        self.missing = missing or []

    @classmethod
    def of_runtimes(cls, with_peers: bool, max_isa: str = "") -> Team:
        """Ours, with vectors as wide as is said, and the peers that this machine has; of those,
        some can be told, too."""
        found = peers.opencl_peers(max_isa) if with_peers else []
        widest = {knobs.MAX_ISA.name: max_isa} if max_isa else {}
        members = [Member(OURS, "groundstate", {**peers.direct().env, **widest})]
        members += [
            Member(peer.name, "opencl", {**peer.env, "PYOPENCL_NO_CACHE": "1"})
            for peer in found
            if isinstance(peer, Target)
        ]
        return cls(members, [peer for peer in found if isinstance(peer, Missing)])

    def prepare(self, name: str) -> dict[str, str]:
        """All build a kernel and run it once; what is wrong with whose, by name of the runtime."""
        case = find(name)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "expected.npy"
            np.save(path, case.expected(case.arguments()))
            answers = {
                member.name: member.ask("prepare", name=name, expected=str(path))
                for member in self.members
            }
        return self.mistakes(answers)

    @staticmethod
    def mistakes(answers: Mapping[str, dict[str, Any]]) -> dict[str, str]:
        """What is wrong with whose answer, of those with which something is."""
        said = {who: answer.get("error") or answer["mistake"] for who, answer in answers.items()}
        return {who: mistake for who, mistake in said.items() if mistake}

    def close(self) -> None:
        """Ends all processes."""
        for member in self.members:
            member.close()
