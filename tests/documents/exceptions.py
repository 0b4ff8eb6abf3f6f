"""What the tests of the pages do not run, each with the reason.

Everything else in the README, in docs/ and in the examples of `--help` is run. An entry that no
page needs any more fails a test.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.loader_stub import is_loader_installed

from .pages import Block, name_of


@dataclass(frozen=True)
class Unrun:
    """A block or command that is not run."""

    page: str
    text: str
    """Some text in the block or command."""
    reason: str


DOWNLOAD = "downloads hundreds of megabytes of SYCL packages; tests/clients runs such programs"
CLUSTER = "needs other machines; tests/dask has processes instead of them"
LONG = "runs for minutes or longer"
ROOT = "installs packages of the system, as root"
PYTEST = "needs pytest and tests; tests/check/test_pytest_plugin.py runs some"
NVIDIA = "needs an NVIDIA GPU"
OF_INTEL = "needs a tool of Intel that is built from source, or a wheel of a gigabyte"
POCL = "needs PoCL's driver for Level Zero, which Debian 12 does not package"

UNRUN: tuple[Unrun, ...] = (
    Unrun("README.md", "make demo", "sets up .venv, in which the tests run; .ci/run runs it"),
    Unrun("README.md", "make test", "these are the tests"),
    Unrun("tutorial/install.md", "make demo", "sets up .venv; .ci/run runs it"),
    Unrun("tutorial/hello.md", "apt-get install", ROOT),
    Unrun("CONTRIBUTING.md", "make test", "these are the tests"),
    Unrun("howto/checking.md", "pytest -p groundstate", PYTEST),
    Unrun("howto/checking.md", "import pytest", PYTEST),
    Unrun("howto/clients.md", "app/bin/", DOWNLOAD),
    Unrun("howto/clusters.md", "dask scheduler", CLUSTER),
    Unrun("howto/clusters.md", "tcp://10.0.0.1", CLUSTER),
    Unrun("howto/clusters.md", "import ray", "needs Ray; make test-ray runs such a program"),
    Unrun("howto/clusters.md", "from mpi4py", "needs MPI; make test-mpi runs such a program"),
    Unrun("howto/clusters.md", "app/bin/", "downloads MPI; make test-mpi runs such a program"),
    Unrun("howto/clients.md", "make test-clients", LONG),
    Unrun(
        "internals/compiler.md", 'kernel "scale"', "the text of a kernel: test_passes.py reads such"
    ),
    Unrun(
        "internals/compiler.md",
        "in function 'blend', OpStore",
        "needs a module that no front end makes",
    ),
    Unrun(
        "internals/compiler.md", "kernel 'blend' cannot", "needs a module that no front end makes"
    ),
    Unrun("internals/networks.md", "make test-dnn", LONG),
    Unrun("howto/tools.md", "run -- unitrace", OF_INTEL),
    Unrun("howto/tools.md", "run -- oneprof", OF_INTEL),
    Unrun("howto/tools.md", "LD_LIBRARY_PATH=app/lib", OF_INTEL),
    Unrun("howto/tools.md", "ulls_benchmark_l0", OF_INTEL),
    Unrun("internals/registry.md", "make generate", "writes into the checkout"),
    Unrun("internals/networks.md", "python -m tests.dnn", LONG),
    Unrun(
        "internals/networks.md",
        "class ShuffleForward",
        "a sketch, in which the interesting parts are left out",
    ),
    Unrun("internals/fuzzing.md", "make fuzz", LONG),
    Unrun("internals/fuzzing.md", "tests.fuzz --replay", "what is found is not known before"),
    Unrun("internals/fuzzing.md", "make soak", LONG),
    Unrun("internals/fuzzing.md", "836 x compute", LONG),
    Unrun("howto/nvidia.md", "gs.sysman_devices()[-1]", NVIDIA),
    Unrun("howto/nvidia.md", "THREE_D_RENDER_COMPUTE_ALL: busy", NVIDIA),
    Unrun("howto/nvidia.md", "NVIDIA H200, 45 %", NVIDIA),
    Unrun("howto/nvidia.md", "power limit 600000 mW", NVIDIA),
    Unrun("howto/nvidia.md", "nvmlDeviceSetGpuLockedClocks: Insufficient", NVIDIA),
    Unrun(
        "howto/opencl.md", "GROUNDSTATE_PREBUILT_SPIRV", "needs a second machine, without a clang"
    ),
    Unrun("howto/opencl-programs.md", "apt-get install", ROOT),
    Unrun("howto/opencl-programs.md", "POCL_DEVICES", POCL),
    Unrun("howto/opencl-programs.md", "Portable Computing Language", POCL),
    Unrun("howto/opencl-programs.md", "import pyopencl", POCL),
    Unrun(
        "howto/playing.md", "610 memory: 4096 bytes", "needs a device that computes something else"
    ),
    Unrun("reference/performance.md", "make bench", LONG),
    Unrun("reference/performance.md", "python -m benchmarks", LONG),
    Unrun("reference/performance.md", "apt-get install", ROOT),
    Unrun("reference/performance.md", "pip install", DOWNLOAD),
    Unrun("howto/jax.md", "python3.13 -m venv", DOWNLOAD),
    Unrun("howto/jax.md", "jax-env/bin/pip install", DOWNLOAD),
    Unrun("howto/jax.md", "jax-env/bin/python", DOWNLOAD),
    Unrun("howto/running.md", "pip install intel-sycl-rt", DOWNLOAD),
    Unrun("howto/running.md", "pip install onemkl-sycl-blas", DOWNLOAD),
    Unrun("howto/running.md", "pip install scikit-learn-intelex-gpu", DOWNLOAD),
    Unrun("howto/running.md", "pip install numba-dpex", DOWNLOAD),
    Unrun("howto/running.md", "pip install umf", DOWNLOAD),
    Unrun("howto/running.md", "$VIRTUAL_ENV", DOWNLOAD),
    Unrun("howto/running.md", "groundstate run -- ./saxpy", DOWNLOAD),
    Unrun("howto/running.md", "saxpy<float>: 1048576 elements", DOWNLOAD),
    Unrun("howto/running.md", "oneapi/mkl/blas.hpp", DOWNLOAD),
    Unrun("howto/running.md", "groundstate run -- ./product", DOWNLOAD),
    Unrun("howto/running.md", "python learn.py", DOWNLOAD),
    Unrun("howto/running.md", "from sklearnex import", DOWNLOAD),
    Unrun("howto/running.md", "python add.py", DOWNLOAD),
    Unrun("howto/running.md", "import numba_dpex", DOWNLOAD),
    Unrun("howto/running.md", "groundstate run -- ./umf", DOWNLOAD),
    Unrun("howto/running.md", "lstopo-no-graphics", "needs a newer hwloc than Debian has"),
    Unrun(
        "howto/survey.md",
        "dpnp-0.20.0-",
        "needs a wheel of dpnp; tests/survey compiles a hundred of its modules",
    ),
    Unrun("howto/sycl.md", "dpctl", DOWNLOAD),
    Unrun("howto/sycl.md", "python app.py", DOWNLOAD),
)

LOADER = "needs the Level Zero loader, which is missing here"

WITHOUT_LOADER: tuple[Unrun, ...] = (
    Unrun("howto/playing.md", "groundstate play --real-loader", LOADER),
    Unrun("howto/playing.md", "groundstate play --checked", LOADER),
)
"""What is not run on machines such as those with AArch64, for which Debian has no loader."""

if not is_loader_installed():
    UNRUN += WITHOUT_LOADER


def reason_against(block: Block, text: str) -> str | None:
    """Why a block, or a command of it, is not run; None if it is."""
    for each in UNRUN:
        if each.page == name_of(block.page) and each.text in text:
            return each.reason
    return None
