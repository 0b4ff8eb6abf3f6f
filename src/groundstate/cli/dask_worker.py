"""`groundstate dask-worker`: workers for a Dask scheduler, one for each device of this machine."""

from __future__ import annotations

import argparse
import logging
import socket
from typing import Any

from groundstate.cli.commands import COMMANDS
from groundstate.cli.errors import complain, describe
from groundstate.cli.run import add_machine_options, positive, size

NAME = "dask-worker"
INSTALL = "pip install 'groundstate[dask]'"

DESCRIPTION = """\
Starts Dask workers on this machine, one for each device, or for each sub-device of devices that
have some. Each sees its own part of the machine alone: its cores, its memory, its device.

They stay until the scheduler ends or somebody ends this program. A worker that dies is started
again. What Dask's own configuration says, about TLS for example, holds for them.
"""

EXAMPLES = """\
examples:
  dask scheduler                                      on one machine, which prints its address
  groundstate dask-worker tcp://10.0.0.1:8786         on this one and each of the others
  groundstate dask-worker tcp://10.0.0.1:8786 --topology 2x4     a worker for each of eight parts
  groundstate dask-worker tcp://10.0.0.1:8786 --devices 0,1.2    for some devices only

docs/howto/clusters.md says more.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `dask-worker` to the commands."""
    parser = subparsers.add_parser(
        NAME,
        help=COMMANDS[NAME],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "scheduler", metavar="SCHEDULER", help="its address, such as tcp://10.0.0.1:8786"
    )
    parser.add_argument(
        "--devices",
        metavar="LIST",
        help="only these devices and sub-devices, such as 0,1.2 (default: those that "
        "ZE_AFFINITY_MASK leaves, or all)",
    )
    add_machine_options(parser)
    parser.add_argument(
        "--memory-limit",
        metavar="SIZE",
        default="auto",
        type=memory_limit,
        help="when a worker counts as full; Dask writes data to disk before that (default: the "
        "memory of its device; 0: no limit)",
    )
    parser.add_argument(
        "--nthreads", metavar="N", type=positive, default=1, help="tasks at a time (default: 1)"
    )
    parser.add_argument(
        "--name",
        default=socket.gethostname(),
        help="what the names of the workers begin with (default: the name of this machine)",
    )
    parser.add_argument(
        "--host", metavar="ADDRESS", help="the address of this machine at which workers listen"
    )
    parser.add_argument(
        "--local-directory", metavar="FOLDER", help="where workers keep what they write to disk"
    )
    parser.set_defaults(run=run)


def memory_limit(text: str) -> str:
    """An argument such as `8G`, or Dask's word for the memory of the device."""
    return text if text == "auto" else size(text)


def run(args: argparse.Namespace) -> int:
    """Hosts workers until they end."""
    try:
        from groundstate.dask.hosting import host_workers
        from groundstate.dask.parts import find_parts
    except ImportError as problem:
        missing = (problem.name or "a package").partition(".")[0]
        return complain(NAME, f"{missing} is not installed; this installs it:", f"  {INSTALL}")
    import asyncio

    options: dict[str, Any] = {
        "nthreads": args.nthreads,
        "memory_limit": args.memory_limit,
        "host": args.host,
        "local_directory": args.local_directory,
        "silence_logs": logging.WARNING,
    }
    try:
        parts = find_parts(args.devices, args.topology, args.memory)
        asyncio.run(host_workers(args.scheduler, parts, args.name, options, announce))
    except (OSError, RuntimeError, ValueError) as problem:
        return complain(NAME, f"no workers for {args.scheduler}: {cause_of(problem)}")
    return 0


def cause_of(problem: Exception) -> str:
    """What went wrong first: a nanny only says that its worker has not started."""
    while isinstance(problem.__cause__, Exception):
        problem = problem.__cause__
    return describe(problem)


def announce(line: str) -> None:
    """Says on standard output which worker there is."""
    print(line, flush=True)
