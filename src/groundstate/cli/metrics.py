"""`groundstate metrics`: serves what the devices do to Prometheus."""

from __future__ import annotations

import argparse
import signal
import sys
from typing import TYPE_CHECKING

from groundstate.cli.commands import COMMANDS
from groundstate.cli.errors import complain, describe
from groundstate.cli.monitoring import open_source, say_what_to_install
from groundstate.cli.run import port

if TYPE_CHECKING:
    from prometheus_client.registry import CollectorRegistry

PORT = 9464

DESCRIPTION = """\
Serves the engines, memory, clocks, temperatures, energy and errors of all devices over HTTP, for
Prometheus to scrape. The devices are asked when somebody scrapes, and at no other time.
"""

EXAMPLES = """\
examples:
  groundstate metrics                        serves http://127.0.0.1:9464/metrics
  groundstate metrics --address 0.0.0.0      to other machines, too
  groundstate metrics --processes            with a series for each process and device
  groundstate metrics --once                 print the metrics instead

docs/howto/monitoring.md has a scrape configuration, and a dashboard for Grafana.
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `metrics` to the commands."""
    parser = subparsers.add_parser(
        "metrics",
        help=COMMANDS["metrics"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--port",
        type=port,
        default=PORT,
        help=f"the port to listen at (default: {PORT}; 0: any that is free)",
    )
    parser.add_argument(
        "--address",
        default="127.0.0.1",
        help="the address to listen at (default: 127.0.0.1, this machine only)",
    )
    parser.add_argument(
        "--processes",
        action="store_true",
        help="a series for each process; its command line becomes visible to whoever scrapes",
    )
    parser.add_argument("--once", action="store_true", help="print the metrics and end")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints the metrics, or serves them until somebody ends the program."""
    try:
        from prometheus_client import generate_latest

        from groundstate.monitor.exporter import registry
    except ImportError as problem:
        return say_what_to_install("metrics", problem)
    read = open_source("metrics", None)
    if read is None:
        return 1
    found = registry(read, processes=args.processes)
    if args.once:
        sys.stdout.write(generate_latest(found).decode())
        return 0
    return serve(found, args.address, args.port)


def serve(found: CollectorRegistry, address: str, number: int) -> int:
    """Serves until SIGINT or SIGTERM."""
    from prometheus_client import make_wsgi_app

    from groundstate.monitor.server import Server

    try:
        server = Server(address, number, make_wsgi_app(found))
    except OSError as problem:
        why = describe(problem, f"cannot listen at {address}:{number}")
        return complain("metrics", f"{why}; try another --port or --address")
    for which in (signal.SIGINT, signal.SIGTERM):
        signal.signal(which, lambda *_: server.stop())
    host = f"[{address}]" if ":" in address else address
    print(f"http://{host}:{server.port}/metrics", flush=True)
    server.run()
    return 0
