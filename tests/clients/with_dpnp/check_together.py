"""Programs that use dpnp from many sides at once: a notebook's kernel, threads, processes.

They need nothing of this repository: `python -m tests.clients together` runs them in the Python
that has dpnp, on every device.
"""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

SIZES = [10, 1000, 4097, 100_000]
CELL = "import dpnp\nprint(float((dpnp.arange(1000, dtype='f4') * 2).sum()))"


def difference(size: int) -> float:
    """How far dpnp is from NumPy in a few steps on numbers of that size."""
    import dpnp

    numbers = np.random.default_rng(size).random(size)
    array = dpnp.array(numbers)
    ours = dpnp.asnumpy(dpnp.sort(dpnp.sin(array) * 3 + array))
    return float(np.abs(ours - np.sort(np.sin(numbers) * 3 + numbers)).max())


def test_product_of_matrices_prints_no_warning() -> None:
    """oneMKL prints what it has to say once for each process, on standard output."""
    program = (
        "import dpnp; a = dpnp.ones((64, 64), dtype='f4'); print(float(dpnp.matmul(a, a)[0, 0]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "64.0\n"
    assert "MKL" not in done.stderr


def test_threads() -> None:
    assert difference(10) < 1e-12  # dpnp cannot be used for the first time by several at once
    with ThreadPoolExecutor(4) as pool:
        assert max(pool.map(difference, SIZES * 4)) < 1e-12


def test_workers_that_are_spawned() -> None:
    assert difference(10) < 1e-12  # this process uses the device, too
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert max(pool.map(difference, SIZES)) < 1e-12


@pytest.fixture
def kernel() -> Iterator[tuple]:
    """What a notebook runs in: the process, and the connection to it."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel(kernel_name="python3", startup_timeout=100)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def printed(client, code: str) -> str:
    """What a cell of a notebook prints."""
    texts = []

    def hook(message: dict) -> None:
        content = message["content"]
        if message["msg_type"] == "stream" and content["name"] == "stdout":
            texts.append(content["text"])

    reply = client.execute_interactive(code, timeout=100, output_hook=hook)
    assert reply["content"]["status"] == "ok", reply["content"]
    return "".join(texts).strip()


def test_a_notebook_whose_kernel_is_restarted(kernel: tuple) -> None:
    manager, client = kernel
    assert printed(client, CELL) == "999000.0"
    for _ in range(2):
        manager.restart_kernel(now=False)
        client.wait_for_ready(timeout=100)
        assert printed(client, CELL) == "999000.0"


def test_a_notebook_that_is_killed_in_the_middle(kernel: tuple) -> None:
    manager, client = kernel
    assert printed(client, CELL) == "999000.0"
    client.execute(f"{CELL}\nwhile True: dpnp.sort(dpnp.random.rand(100000))")
    manager.restart_kernel(now=True)
    client.wait_for_ready(timeout=100)
    assert printed(client, CELL) == "999000.0"
