"""Workers that multiprocessing starts: forked before SYCL is used, spawned while it is in use."""

import multiprocessing
import sys

from numbers_in_sycl import check

if __name__ == "__main__":
    spirv = sys.argv[1]
    forked = multiprocessing.get_context("fork").Process(target=check, args=(spirv, 5))
    forked.start()
    check(spirv, 6)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pool.starmap(check, [(spirv, start) for start in range(4)])
    forked.join()
    assert forked.exitcode == 0
    check(spirv, 7)
    print("equal")
