"""SPIR-V that was compiled earlier, for machines without a clang.

GROUNDSTATE_PREBUILT_SPIRV names a folder. Where there is a clang, whatever is compiled is added to
it, as one file for each source and its options. Where there is none, it is looked up there: among
the files, and in zip files of them. A source that cannot be compiled has an entry too, with what
clang said of it.

A source that includes files has no entry, for it takes a clang to find out what they contain.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re

from groundstate import knobs
from groundstate.compiler.cache import kernel_cache
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.opencl.options import KEEP_ACCESSES, Options

SUFFIX = ".spirv"
LINES = "-g"
"""The option for modules that know the lines of their source."""

_DEPENDS_ON_MORE = re.compile(r"include|embed|__FILE__")
"""What a source may say if more than its text and its options decides what becomes of it."""


@light_dataclass()
class Prebuilt:
    """What became of one source."""

    source: str
    name: str
    """What messages call the source."""
    standard: str
    optimise: bool
    given: list[str]
    """Its options, as `options.Options` has them."""
    log: str
    spirv: bytes
    """Empty if it cannot be compiled."""

    @property
    def options(self) -> Options:
        given = [word for word in self.given if word not in (LINES, KEEP_ACCESSES)]
        has_lines, keeps = LINES in self.given, KEEP_ACCESSES in self.given
        return Options(self.standard, self.optimise, given, has_lines, keeps)

    def log_for(self, name: str) -> str:
        """What clang would have said, had the source been called `name`."""
        return self.log.replace(f"{self.name}:", f"{name}:")


def get(source: str, options: Options) -> Prebuilt | None:
    """What became of a source with these options, if that is known."""
    folder = knobs.PREBUILT_SPIRV.get()
    if not folder or _DEPENDS_ON_MORE.search(source):
        return None
    packed = _packed(folder, file_name(source, options))
    plain = Options(options.standard, options.optimise, options.given)
    for has_lines in (True, False):  # without lines and kept accesses, it computes the same
        if packed is None and (options.has_lines or options.keeps_accesses):
            plain.has_lines = has_lines
            packed = _packed(folder, file_name(source, plain))
    return unpack(packed) if packed is not None else None


def _packed(folder: str, file: str) -> bytes | None:
    return _read_file(os.path.join(folder, file)) or _read_zip_files(folder, file)


def put(source: str, name: str, options: Options, log: str, spirv: bytes) -> None:
    """Adds what became of a source, where the user asks for that. It never fails."""
    folder = knobs.PREBUILT_SPIRV.get()
    if not folder or _DEPENDS_ON_MORE.search(source):
        return
    entry = Prebuilt(source, name, options.standard, options.optimise, _given(options), log, spirv)
    path = os.path.join(folder, file_name(source, options))
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(folder, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(pack(entry))
        os.replace(temporary, path)
    except OSError:
        return


def file_name(source: str, options: Options) -> str:
    """The file of a source and its options."""
    settings = json.dumps([options.standard, options.optimise, _given(options)])
    text = f"{settings}\0{source}".encode("utf-8", "surrogateescape")
    return hashlib.sha256(text).hexdigest()[:32] + SUFFIX


def pack(entry: Prebuilt) -> bytes:
    """The content of an entry's file."""
    fields = ("source", "name", "standard", "optimise", "given", "log")
    return kernel_cache.pack({field: getattr(entry, field) for field in fields}, entry.spirv)


def unpack(packed: bytes) -> Prebuilt | None:
    """The entry again; None if it is damaged."""
    try:
        description, spirv = kernel_cache.unpack(packed)
        return Prebuilt(**description, spirv=spirv)
    except (ValueError, TypeError):
        return None


def _given(options: Options) -> list[str]:
    """The options without those that say where included files are."""
    given = [word for word in options.given if not word.startswith("-I")]
    lines = [LINES] if options.has_lines else []
    return [*given, *lines, *([KEEP_ACCESSES] if options.keeps_accesses else [])]


def _read_file(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def _read_zip_files(folder: str, name: str) -> bytes | None:
    import zipfile

    path = _zip_files(folder).get(name)
    if path is None:
        return None
    with zipfile.ZipFile(path) as archive:
        return archive.read(name)


@functools.cache
def _zip_files(folder: str) -> dict[str, str]:
    """In which zip file each entry is, of those in a folder and the folders in it."""
    import zipfile

    found = {}
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    found.update(dict.fromkeys(archive.namelist(), path))
    return found
