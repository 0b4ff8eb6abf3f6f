"""What is done with blocks that are no commands and no Python: compiled, parsed or looked up."""

from __future__ import annotations

import configparser
import json
import os
import re
import subprocess
from pathlib import Path

from .pages import ROOT, Block

FLAGS = ["-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]
OWN_HEADERS = ("native", "registry/facts", "src/groundstate/include")

STATEMENTS = """\
#include "functions.h"
void reader(ze_context_handle_t context, ze_device_handle_t device, ze_command_list_handle_t list,
            ze_kernel_handle_t kernel, ze_group_count_t groups, ze_event_handle_t event,
            ze_graph_handle_t graph, ze_executable_graph_handle_t executable);
void reader(ze_context_handle_t context, ze_device_handle_t device, ze_command_list_handle_t list,
            ze_kernel_handle_t kernel, ze_group_count_t groups, ze_event_handle_t event,
            ze_graph_handle_t graph, ze_executable_graph_handle_t executable) {{
{text}
}}
"""
"""Around statements of a page, with the names that a reader takes for what they say."""

CPP_STATEMENTS = """\
#include <level_zero/ze_api.h>
INCLUDES
void reader(ze_driver_handle_t driver, ze_device_handle_t device, ze_context_handle_t context,
            ze_command_list_handle_t list, void *pointer) {
STATEMENTS
}
"""


def problem_with(block: Block, folder: Path) -> str | None:
    """What is wrong with a block, or None."""
    check = CHECKS.get(block.info) or CHECKS.get(block.language)
    return check(block, folder) if check else None


def listed_files(block: Block, folder: Path) -> str | None:
    """Looks for each file of a listing: names, two spaces, a remark; indentation is nesting."""
    levels: list[tuple[int, Path]] = [(-1, ROOT)]
    missing = []
    for line in block.text.splitlines():
        indent = len(line) - len(line.lstrip())
        names = re.split(r" {2,}", line.strip())[0].split()
        while levels[-1][0] >= indent:
            levels.pop()
        parent = levels[-1][1]
        if indent > 20 or not all(re.fullmatch(r"[\w./-]+", name) for name in names):
            continue  # the remark of the line above goes on
        missing += [name for name in names if not (parent / name).exists()]
        levels.append((indent, parent / names[0]))
    return f"there is no {', '.join(missing)}" if missing else None


def c_code(block: Block, folder: Path) -> str | None:
    """Looks declarations up in our headers, and compiles everything else."""
    text = squeezed(block.text)
    if re.match(r"(typedef|struct|void) ", text):
        code = squeezed("\n".join(path.read_text() for path in own_headers()))
        parts = re.findall(r"typedef struct \w+ \{.*?\} \w+;", text)
        missing = [part for part in parts if part not in code]
        return f"no header has {missing}" if missing else None
    is_program = "main(" in text
    source = folder / "block.c"
    source.write_text(block.text if is_program else STATEMENTS.format(text=block.text))
    compiler = os.environ.get("CC", "cc").split()
    command = [*compiler, *FLAGS, f"-I{ROOT / 'native' / 'generated'}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr if done.returncode else None


def cpp_code(block: Block, folder: Path) -> str | None:
    """Compiles a program, or statements with the names that a reader takes for what they say."""
    lines = block.text.splitlines()
    includes = "\n".join(line for line in lines if line.startswith("#"))
    statements = "\n".join(line for line in lines if not line.startswith("#"))
    source = folder / "block.cpp"
    text = block.text if "main(" in statements else CPP_STATEMENTS
    source.write_text(text.replace("INCLUDES", includes).replace("STATEMENTS", statements))
    compiler = os.environ.get("CXX", "g++").split()
    include = f"-I{ROOT / 'src' / 'groundstate' / 'include'}"
    command = [*compiler, "-std=c++17", "-fsyntax-only", "-Wall", include, str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stderr if done.returncode else None


def own_headers() -> list[Path]:
    """The headers of the driver."""
    return [path for folder in OWN_HEADERS for path in (ROOT / folder).rglob("*.h")]


def squeezed(code: str) -> str:
    """C code without its comments, and with single spaces."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", " ", code, flags=re.S)
    return " ".join(code.split())


def json_text(block: Block, folder: Path) -> str | None:
    """Parses JSON."""
    try:
        json.loads(block.text)
    except ValueError as problem:
        return str(problem)
    return None


def ini_text(block: Block, folder: Path) -> str | None:
    """Parses a file of sections, such as a unit of systemd."""
    parser = configparser.ConfigParser()
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        parser.read_string(block.text)
    except configparser.Error as problem:
        return str(problem)
    return None


def promql(block: Block, folder: Path) -> str | None:
    """Has Prometheus check each line as the expression of a rule."""
    lines = [line for line in block.text.splitlines() if line and not line.startswith("#")]
    rules = [{"record": f"rule{number}", "expr": line} for number, line in enumerate(lines)]
    path = folder / "rules.yml"
    path.write_text(json.dumps({"groups": [{"name": "page", "rules": rules}]}))
    command = ["promtool", "check", "rules", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else None


CHECKS = {
    "text tree": listed_files,
    "c": c_code,
    "cpp": cpp_code,
    "json": json_text,
    "ini": ini_text,
    "promql": promql,
}
