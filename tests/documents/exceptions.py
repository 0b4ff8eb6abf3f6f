"""What the tests of the pages do not run, each with the reason.

Everything else in the README, in docs/ and in the examples of `--help` is run. An entry that no
page needs any more fails a test.
"""

from __future__ import annotations

from dataclasses import dataclass

from .pages import Block


@dataclass(frozen=True)
class Unrun:
    """A block or command that is not run."""

    page: str
    text: str
    """Some text in the block or command."""
    reason: str


DOWNLOAD = "downloads hundreds of megabytes of SYCL packages; tests/clients runs such programs"
LONG = "runs for minutes or longer"
ROOT = "installs packages of the system, as root"
NVIDIA = "needs an NVIDIA GPU"

UNRUN: tuple[Unrun, ...] = (
    Unrun("README.md", "make demo", "sets up .venv, in which the tests run; .ci/run runs it"),
    Unrun("README.md", "make test", "these are the tests"),
    Unrun("README.md", "apt-get install", ROOT),
    Unrun("CONTRIBUTING.md", "make test", "these are the tests"),
    Unrun("clients.md", "app/bin/", DOWNLOAD),
    Unrun("clients.md", "make test-clients", LONG),
    Unrun("compiler.md", 'kernel "scale"', "the text of a kernel: test_passes.py reads such"),
    Unrun("compiler.md", "in function 'blend', OpStore", "needs a module that no front end makes"),
    Unrun("compiler.md", "kernel 'blend' cannot", "needs a module that no front end makes"),
    Unrun("dnn.md", "make test-dnn", LONG),
    Unrun("dnn.md", "python -m tests.dnn", LONG),
    Unrun(
        "dnn.md", "class ShuffleForward", "a sketch, in which the interesting parts are left out"
    ),
    Unrun("fuzzing.md", "make fuzz", LONG),
    Unrun("fuzzing.md", "tests.fuzz --replay", "what is found is not known before"),
    Unrun("fuzzing.md", "make soak", LONG),
    Unrun("fuzzing.md", "836 x compute", LONG),
    Unrun("nvidia.md", "gs.sysman_devices()[-1]", NVIDIA),
    Unrun("nvidia.md", "THREE_D_RENDER_COMPUTE_ALL: busy", NVIDIA),
    Unrun("nvidia.md", "NVIDIA H200, 45 %", NVIDIA),
    Unrun("nvidia.md", "power limit 600000 mW", NVIDIA),
    Unrun("nvidia.md", "nvmlDeviceSetGpuLockedClocks: Insufficient", NVIDIA),
    Unrun("opencl.md", "GROUNDSTATE_PREBUILT_SPIRV", "needs a second machine, without a clang"),
    Unrun("playing.md", "610 memory: 4096 bytes", "needs a device that computes something else"),
    Unrun("performance.md", "make bench", LONG),
    Unrun("performance.md", "python -m benchmarks", LONG),
    Unrun("performance.md", "apt-get install", ROOT),
    Unrun("performance.md", "pip install", DOWNLOAD),
    Unrun("running.md", "pip install intel-sycl-rt", DOWNLOAD),
    Unrun("running.md", "pip install onemkl-sycl-blas", DOWNLOAD),
    Unrun("running.md", "pip install scikit-learn-intelex-gpu", DOWNLOAD),
    Unrun("running.md", "pip install numba-dpex", DOWNLOAD),
    Unrun("running.md", "pip install umf", DOWNLOAD),
    Unrun("running.md", "$VIRTUAL_ENV", DOWNLOAD),
    Unrun("running.md", "groundstate run -- ./saxpy", DOWNLOAD),
    Unrun("running.md", "saxpy<float>: 1048576 elements", DOWNLOAD),
    Unrun("running.md", "oneapi/mkl/blas.hpp", DOWNLOAD),
    Unrun("running.md", "groundstate run -- ./product", DOWNLOAD),
    Unrun("running.md", "python learn.py", DOWNLOAD),
    Unrun("running.md", "from sklearnex import", DOWNLOAD),
    Unrun("running.md", "python add.py", DOWNLOAD),
    Unrun("running.md", "import numba_dpex", DOWNLOAD),
    Unrun("running.md", "groundstate run -- ./umf", DOWNLOAD),
    Unrun("running.md", "lstopo-no-graphics", "needs a newer hwloc than Debian has"),
    Unrun(
        "survey.md",
        "dpnp-0.20.0-",
        "needs a wheel of dpnp; tests/survey compiles a hundred of its modules",
    ),
    Unrun("sycl.md", "dpctl", DOWNLOAD),
    Unrun("sycl.md", "python app.py", DOWNLOAD),
)


def reason_against(block: Block, text: str) -> str | None:
    """Why a block, or a command of it, is not run; None if it is."""
    for each in UNRUN:
        if each.page == block.page.name and each.text in text:
            return each.reason
    return None
