"""Records which Python interpreter the library was built with, for processes that have none.

The C library looks for an interpreter in its own process first. When there is none (a C program),
it reads `interpreter.cfg` beside itself: lines of `key=value`, written here. Every value is a hint;
the library checks what it finds and derives the prefix from its own path when it was moved.
"""

from __future__ import annotations

import argparse
import os
import sys
import sysconfig
from pathlib import Path


def shared_libpython() -> str:
    """The path of this interpreter's libpython, or an empty string when it has none."""
    folders = [sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("LIBPL")]
    folders.append(os.path.join(sys.base_prefix, "lib"))
    multiarch = sysconfig.get_config_var("MULTIARCH")
    if multiarch:
        folders += [f"/usr/lib/{multiarch}", f"/usr/local/lib/{multiarch}"]
    folders += ["/usr/lib64", "/usr/lib", "/usr/local/lib"]
    version = sysconfig.get_config_var("VERSION")
    names = [sysconfig.get_config_var("INSTSONAME"), sysconfig.get_config_var("LDLIBRARY")]
    names += [f"libpython{version}.so.1.0", f"libpython{version}.so"]
    for folder in filter(None, folders):
        for name in filter(None, names):
            candidate = Path(folder, name)
            if ".so" in name and candidate.is_file():
                return str(candidate)
    return ""


def interpreter_facts(root: str) -> dict[str, str]:
    """What a C process needs to start this interpreter: example, `version=3.11`."""
    return {
        "version": "{}.{}".format(*sys.version_info[:2]),
        "prefix": sys.prefix,
        "executable": sys.executable,
        "libpython": shared_libpython(),
        "site": sysconfig.get_path("platlib"),
        "root": root or sysconfig.get_path("platlib"),
    }


def write_if_changed(path: Path, text: str) -> None:
    """Leaves the file alone when it already says so, to keep incremental builds quiet."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", default="", help="folder that contains the groundstate package")
    parser.add_argument("--output", type=Path, required=True, help="file to write")
    args = parser.parse_args()
    facts = interpreter_facts(args.root)
    write_if_changed(args.output, "".join(f"{key}={value}\n" for key, value in facts.items()))


if __name__ == "__main__":
    main()
