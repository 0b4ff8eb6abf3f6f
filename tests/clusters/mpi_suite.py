"""Ranks of an MPI program, each with a device of its own (`make test-mpi`)."""

from __future__ import annotations

from tests.clusters.running import ON_THE_DRIVER, ROOT, run

FOLDER = ROOT / ".venv" / "mpi" / "bin"
RANKS = [str(FOLDER / "mpiexec"), "-n", "2", *ON_THE_DRIVER, str(FOLDER / "python")]


def test_ranks_have_a_device_each_and_reduce_usm() -> None:
    found = run(RANKS, "with_mpi", topology="2")
    assert [each["rank"] for each in found] == [0, 1]
    for each in found:
        assert each["devices"] == 1
        assert each["memory"] == 2 << 30
        assert each["sums"] == {"Shared": [3.0], "Host": [3.0], "Device": [3.0]}


def test_oneccl_reduces_device_memory_of_two_ranks() -> None:
    library = FOLDER.parent / "lib" / "libmpi.so.12"
    transport = {"CCL_ATL_TRANSPORT": "mpi", "CCL_MPI_LIBRARY_PATH": str(library)}
    transport["LD_LIBRARY_PATH"] = str(library.parent)
    found = run(RANKS, "with_oneccl", topology="2", **transport)
    assert found == [[3.0], [3.0]]
