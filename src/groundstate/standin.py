"""Puts the driver where programs look for the Level Zero loader.

The library answers everything a program asks of a loader, so a link to it, `libze_loader.so.1`, in
a folder of its own that comes first in the library path, is all that a program needs. It has to be
a link and not a copy: two files would be two drivers in one process, each refusing the other's
handles.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from groundstate import knobs

CAPTURE_NAME = "libze_capture.so"
REDIRECT_NAME = "libze_redirect.so"
OPENCL_NAME = "libgroundstate_opencl.so"
PRIVATE_PREFIX = "groundstate-links-"
LINK_NAMES = ("libze_loader.so.1", "libze_loader.so")
AS_CPU = {knobs.DEVICE_TYPE.name: "both", "ONEAPI_DEVICE_SELECTOR": "level_zero:cpu"}
"""What shows SYCL programs a CPU. The runtime wants a GPU beside it, or it ignores the driver."""

_XLA_FLAGS = (
    "--xla_disable_hlo_passes=cublas-gemm-rewriter,conv-rewriter,transpose-folding",
    "--xla_backend_extra_options=-vectorize-slp=false,-spirv-fp-contract=fast",
)

_COLLECTIVES = {
    "CCL_SYCL_KERNEL_SYNC": "0",
    "SYCL_QUEUE_THREAD_POOL_SIZE": "16",
    "UR_L0_USE_IMMEDIATE_COMMANDLISTS": "1",
}
"""No kernel of oneCCL waits for groups of its own that have not begun, and the functions that it
has SYCL call for each device do not wait for each other in one thread.

For any but Intel's GPUs SYCL collects commands in lists. A barrier for an event of one device may
then lie in a list of another one that nobody submits, and what depends on it waits for ever. To
immediate lists, which it takes for Intel's GPUs, it submits at once."""

DNNL_NAME = "libgroundstate_dnnl.so.3"


class LibraryMissing(RuntimeError):  # noqa: N818 (named for what happened)
    """The C half of the driver was not built."""


def library() -> Path:
    """The driver's library; raises `LibraryMissing` with the command that builds it."""
    path = Path(knobs.library()).resolve()
    if not path.is_file():
        raise LibraryMissing(
            f"{path} is missing. Build it with 'make native' in a checkout, "
            "or install the package again with 'pip install'."
        )
    return path


def folder() -> Path:
    """A folder with nothing in it but the driver under the loader's names."""
    return folder_for(library())


def folder_for(target: Path) -> Path:
    """A folder with nothing in it but a library under the loader's names.

    It lies beside the library, in the user's cache if that place is read-only, or in a temporary
    folder of the user's own if there is no place in the cache either. The driver and the capture
    library have one each, so that neither changes what the other's programs find.
    """
    name = "capture" if target.name == CAPTURE_NAME else "loader"
    distinct = f"{name}-{hashlib.sha256(os.fsencode(target)).hexdigest()[:16]}"
    cache = knobs.default_cache_folder()
    for place in (target.parent / name, Path(cache, distinct) if cache else None):
        with suppress(OSError):
            if place is not None:
                return _linked(place, target)
    return _linked(_private_folder() / distinct, target)


def _private_folder() -> Path:
    """A temporary folder that nobody else can write to, the same one each time."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PRIVATE_PREFIX}*"):
        with suppress(OSError):
            status = folder.lstat()
            if status.st_uid == os.geteuid() and status.st_mode == stat.S_IFDIR | 0o700:
                return folder
    return Path(tempfile.mkdtemp(prefix=PRIVATE_PREFIX))


def environment(
    current: Mapping[str, str], *, real_loader: bool = False, any_path: bool = False
) -> dict[str, str]:
    """The variables that send a program to this driver, given those it would have otherwise.

    With `real_loader` the machine's own loader stays in place and is told to load the driver. With
    `any_path` a program gets the driver that opens its loader by a path instead of its name.
    """
    path = library()
    changes = {"ZE_ENABLE_ALT_DRIVERS": str(path)}
    if not real_loader:
        changes |= in_front(folder(), current)
    changes |= opencl_compiler(current)
    changes |= own_kernels_of_xla(current)
    changes |= {name: current.get(name, value) for name, value in _COLLECTIVES.items()}
    if any_path:
        changes["LD_AUDIT"] = first_of(path.with_name(REDIRECT_NAME), current.get("LD_AUDIT", ""))
    return changes


def in_front(place: Path, current: Mapping[str, str]) -> dict[str, str]:
    """The variables that make programs find their loader in a folder."""
    libraries = first_of(place, current.get("LD_LIBRARY_PATH", ""))
    return {"LD_LIBRARY_PATH": libraries, "ZEL_LIBRARY_PATH": str(place)}


def opencl_compiler(current: Mapping[str, str]) -> dict[str, str]:
    """The variable that adds the OpenCL driver which compiles and runs nothing, after all others.

    Libraries that have kernels for Level Zero as texts look for the OpenCL driver of the same GPU.
    """
    place = library().with_name(OPENCL_NAME)
    if not place.is_file():
        return {}
    listed = current.get("OCL_ICD_FILENAMES", "").split(":")
    others = [entry for entry in listed if entry and entry != str(place)]
    return {"OCL_ICD_FILENAMES": ":".join([*others, str(place)])}


def own_kernels_of_xla(current: Mapping[str, str]) -> dict[str, str]:
    """The variable that has XLA write kernels for matrix products and convolutions itself.

    It would leave them to oneDNN, whose kernels are machine code for Intel's GPUs. Transposed
    matrices are written before they are multiplied, so that kernels read what lies one behind the
    other. LLVM makes long vectors of such kernels otherwise, for which SPIR-V has no types, and
    forbids what multiplies and adds in one step, as products do on all other devices of XLA. A
    value that is the name of a file stays as it is.
    """
    flags = current.get("XLA_FLAGS", "").split()
    if flags and not flags[0].startswith("-"):
        return {}
    return {"XLA_FLAGS": " ".join(dict.fromkeys((*_XLA_FLAGS, *flags)))}


def first_of(place: Path, listed: str) -> str:
    """A list such as that of LD_LIBRARY_PATH with a path at its beginning, and nowhere else."""
    others = [entry for entry in listed.split(":") if entry and entry != str(place)]
    return ":".join([str(place), *others])


def _linked(place: Path, target: Path) -> Path:
    """Makes `place` if needed and points its links at `target`.

    One more leads to the neural-network library, which programs that use it find in no other way.
    """
    if not place.is_dir():
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(0o755)  # for other users too, whatever the umask
    links = dict.fromkeys(LINK_NAMES, target)
    if (beside := target.with_name(DNNL_NAME)).is_file():
        links[DNNL_NAME] = beside
    for name, to in links.items():
        link = place / name
        if not (link.is_symlink() and link.readlink() == to):
            _replace_link(link, to)
    return place


def _replace_link(link: Path, target: Path) -> None:
    """Swaps the link in one step: a program that starts meanwhile finds the old or the new."""
    pending = link.with_name(f".{link.name}.{os.getpid()}")
    pending.unlink(missing_ok=True)
    pending.symlink_to(target)
    pending.replace(link)
