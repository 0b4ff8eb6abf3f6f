"""Images whose texels come in or go out as a file descriptor."""

import ctypes
import mmap
import os

import numpy as np
import pytest

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.images.images import (
    create,
    create_view,
    describe,
    download,
    failure,
    format_of,
    image,
    upload,
)
from tests.driver.memory.test_external_memory import (
    DMA_BUF,
    OF_WINDOWS,
    OPAQUE_FD,
    UNSUPPORTED_TYPE,
)
from tests.driver.support import Bench, view

RNG = np.random.default_rng(9)


def export(bench: Bench, of: int, chained: ctypes.Structure) -> int:
    found = ze.ze_image_allocation_ext_properties_t(pNext=ctypes.addressof(chained))
    return int(ze.zeImageGetAllocPropertiesExt(bench.context, of, ctypes.byref(found)))


def exported(bench: Bench, of: int, flags: int = OPAQUE_FD) -> int:
    request = ze.ze_external_memory_export_fd_t(flags=flags, fd=-1)
    check(export(bench, of, request))
    return int(request.fd)


@pytest.mark.parametrize("flags", [OPAQUE_FD, DMA_BUF])
def test_file_imports_as_image_and_shows_writes(bench: Bench, flags: int) -> None:
    texels = RNG.integers(0, 256, (30, 50, 4), np.uint8)
    fd = os.memfd_create("picture")
    os.write(fd, texels.tobytes())
    request = ze.ze_external_memory_import_fd_t(flags=flags, fd=fd)
    picture = create(bench, describe("2D", (50, 30), format_of("8_8_8_8"), request))
    commands = bench.immediate()
    assert np.array_equal(download(bench, commands, picture, texels), texels)
    upload(bench, commands, picture, 255 - texels)
    with mmap.mmap(fd, texels.size) as there:
        assert there[:] == (255 - texels).tobytes()
    os.close(fd)


def test_imported_image_has_pitches_of_its_maker(bench: Bench) -> None:
    rows = RNG.integers(0, 256, (3, 7, 64), np.uint8)
    fd = os.memfd_create("picture")
    os.write(fd, rows.tobytes())
    request = ze.ze_external_memory_import_fd_t(flags=DMA_BUF, fd=fd)
    pitches = ze.ze_custom_pitch_exp_desc_t(rowPitch=64, slicePitch=7 * 64)
    picture = create(bench, describe("3D", (5, 7, 3), format_of("8_8"), request, pitches))
    texels = rows[:, :, :10].reshape(3, 7, 5, 2)
    found = download(bench, bench.immediate(), picture, texels)
    assert np.array_equal(found, texels)
    too_high = ze.ze_custom_pitch_exp_desc_t(rowPitch=128, slicePitch=7 * 128)
    description = describe("3D", (5, 7, 3), format_of("8_8"), request, too_high)
    assert failure(bench, description) == ze.ZE_RESULT_ERROR_INVALID_SIZE
    os.close(fd)


@pytest.mark.parametrize("flags", [0, OPAQUE_FD, DMA_BUF])
def test_an_image_is_exported_with_its_texels(bench: Bench, flags: int) -> None:
    wish = ze.ze_external_memory_export_desc_t(flags=flags)
    picture = create(bench, describe("2DARRAY", (40, 20, 3), format_of("32", "FLOAT"), wish))
    texels = RNG.random((3, 20, 40), np.float32)
    commands = bench.immediate()
    upload(bench, commands, picture, texels)
    fd = exported(bench, picture, flags)
    assert os.pread(fd, texels.nbytes, 0) == texels.tobytes()
    upload(bench, commands, picture, -texels)
    assert os.pread(fd, texels.nbytes, 0) == (-texels).tobytes(), "it is the image, not a copy"
    bench.end(picture)
    assert os.pread(fd, texels.nbytes, 0) == (-texels).tobytes()
    again = create(
        bench,
        describe(
            "2DARRAY",
            (40, 20, 3),
            format_of("32", "FLOAT"),
            ze.ze_external_memory_import_fd_t(flags=flags, fd=fd),
        ),
    )
    assert np.array_equal(download(bench, commands, again, texels), -texels)
    os.close(fd)


def test_a_view_is_exported_as_the_image_it_views(bench: Bench) -> None:
    picture = image(bench, "2D", (16, 16), "NV12", format_type="UNORM")
    chroma = describe(
        "2D",
        (8, 8),
        format_of("8_8", "UNORM"),
        ze.ze_image_view_planar_ext_desc_t(planeIndex=1),
    )
    whole, part = exported(bench, picture), exported(bench, create_view(bench, chroma, picture))
    assert os.fstat(whole).st_ino == os.fstat(part).st_ino
    assert os.fstat(whole).st_size >= 16 * 16 * 3 // 2
    os.close(whole)
    os.close(part)


def test_exports_of_images_that_are_refused(bench: Bench) -> None:
    picture = image(bench, "2D", (4, 4))
    for flags in OF_WINDOWS:
        request = ze.ze_external_memory_export_fd_t(flags=flags, fd=-1)
        assert export(bench, picture, request) == UNSUPPORTED_TYPE
        wish = ze.ze_external_memory_export_desc_t(flags=flags)
        assert failure(bench, describe("2D", (4, 4), format_of("8"), wish)) == UNSUPPORTED_TYPE
    handle = ze.ze_external_memory_export_win32_handle_t()
    assert export(bench, picture, handle) == UNSUPPORTED_TYPE
    memory = bench.local(4096)
    view(memory, 4096)[:] = 0
    pitched = ze.ze_image_pitched_exp_desc_t(ptr=memory)
    there = create(bench, describe("2D", (4, 4), format_of("8"), pitched))
    request = ze.ze_external_memory_export_fd_t(flags=OPAQUE_FD, fd=-1)
    assert export(bench, there, request) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    assert "export that memory" in last_error()


def test_imports_of_images_that_are_refused(bench: Bench) -> None:
    fd = os.memfd_create("small")
    os.ftruncate(fd, 100)
    request = ze.ze_external_memory_import_fd_t(flags=OPAQUE_FD, fd=fd)
    description = describe("2D", (11, 10), format_of("8"), request)
    assert failure(bench, description) == ze.ZE_RESULT_ERROR_INVALID_SIZE
    request.flags = OF_WINDOWS[0]
    assert failure(bench, description) == UNSUPPORTED_TYPE
    request.flags = OPAQUE_FD
    os.close(fd)
    assert failure(bench, description) == ze.ZE_RESULT_ERROR_INVALID_ARGUMENT
    handle = ze.ze_external_memory_import_win32_handle_t(handle=1)
    description = describe("2D", (4, 4), format_of("8"), handle)
    assert failure(bench, description) == UNSUPPORTED_TYPE
