"""OpenCL C to SPIR-V: the function, its options, its messages and its cache."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from groundstate.compiler.cache import disk
from groundstate.compiler.opencl import clang, frontend
from groundstate.compiler.opencl.frontend import CompileError, compile_opencl, compile_with_log
from tests.compiler.opencl.frontend_support import disassemble, opcodes, validate

SIMPLE = "kernel void f(global int *a) { a[get_global_id(0)] += 1; }"


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("GROUNDSTATE_CACHE", str(folder))
    return folder


def test_simple_kernel() -> None:
    spirv = compile_opencl(SIMPLE)
    validate(spirv)
    text = disassemble(spirv)
    assert 'OpEntryPoint Kernel %f "f"' in text
    assert "OpMemoryModel Physical64 OpenCL" in text
    assert "BuiltIn GlobalInvocationId" in text


def test_only_the_entry_point_is_left_of_a_kernel() -> None:
    text = disassemble(compile_opencl(SIMPLE))
    assert opcodes(text).count("OpFunction") == 1


def test_only_non_static_functions_are_exported() -> None:
    source = "int twice(int a) { return 2 * a; } static int once(int a) { return a + 1; }"
    text = disassemble(compile_opencl(source + SIMPLE.replace("+= 1", "= twice(once(3))")))
    assert 'LinkageAttributes "twice" Export' in text
    assert '"once"' not in text


@pytest.mark.parametrize("options", [["-cl-opt-disable"], ["-O2"], ["-g", "-fkeep-accesses"]])
def test_inline_function_needs_no_other_module(options: list[str]) -> None:
    """In C99 it would, if it is not `static` and a call of it is not inlined."""
    waits = "inline int f(local int *t, int i) { t[i] = i; barrier(1); return t[i ^ 1]; } "
    kernel = "kernel void k(global int *a, local int *t) { *a = f(t, 5) + f(t, *a); }"
    text = disassemble(compile_opencl(waits + kernel, options=options))
    assert "LinkageAttributes" not in text


def test_a_kernel_may_call_a_kernel() -> None:
    spirv = compile_opencl(SIMPLE + "kernel void g(global int *a) { f(a + 1); }")
    validate(spirv)
    assert disassemble(spirv).count("OpEntryPoint") == 2


def test_variables_become_values() -> None:
    source = "kernel void f(global int *a) { int v[4]; for (int i = 0; i < 4; i++) v[i] = a[i];"
    text = disassemble(compile_opencl(source + " a[0] = v[3] + v[1]; }"))
    assert "Function" not in [
        line.split()[-1] for line in text.splitlines() if "OpVariable" in line
    ]


# --- Messages -------------------------------------------------------------------------------------


def test_syntax_error_shows_line_and_caret() -> None:
    with pytest.raises(CompileError) as caught:
        compile_opencl("kernel void f(global int *a) {\n    a[0] = 1\n}\n", name="broken.cl")
    assert str(caught.value).splitlines() == [
        "broken.cl:2:13: error: expected ';' after expression",
        "    2 |     a[0] = 1",
        "      |             ^",
        "      |             ;",
    ]
    (message,) = caught.value.messages
    assert (message.file, message.line, message.column) == ("broken.cl", 2, 13)
    assert message.severity == "error"
    assert message.text == "expected ';' after expression"
    assert "a[0] = 1" in message.excerpt


def test_several_errors() -> None:
    with pytest.raises(CompileError) as caught:
        compile_opencl("kernel void f() { x = 1;\n y = 2; }")
    assert [message.line for message in caught.value.messages] == [1, 2]


@pytest.mark.needs_compiler
def test_error_in_an_included_file_names_it(tmp_path: Path) -> None:
    (tmp_path / "part.h").write_text("int broken( {\n")
    with pytest.raises(CompileError) as caught:
        compile_opencl('#include "part.h"\n' + SIMPLE, options=[f"-I{tmp_path}"])
    assert f"{tmp_path}/part.h:1:" in str(caught.value)


@pytest.mark.needs_compiler
def test_missing_include() -> None:
    with pytest.raises(CompileError, match=r"kernel\.cl:1:10: fatal error: 'nowhere\.h'"):
        compile_opencl('#include "nowhere.h"\n')


def test_name_with_odd_characters() -> None:
    with pytest.raises(CompileError, match=r'a "b\\" c\.cl:1:1: error'):
        compile_opencl("?", name='a "b\\" c.cl')


def test_compile_warnings_survive_the_cache() -> None:
    source = "kernel void f(global uchar *a) {\n    a[0] = 1 / 0;\n}"
    for _ in range(2):
        compiled = compile_with_log(source)
        assert "kernel.cl:2:14: warning: division by zero is undefined" in compiled.log
        validate(compiled.spirv)


@pytest.mark.needs_compiler
def test_the_machine_s_headers_are_not_seen() -> None:
    with pytest.raises(CompileError, match=r"'stdio\.h' file not found"):
        compile_opencl("#include <stdio.h>\n")


def test_no_clang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GROUNDSTATE_CLANG", "no-such-clang")
    monkeypatch.delenv("GROUNDSTATE_PREBUILT_SPIRV", raising=False)
    with pytest.raises(CompileError, match="GROUNDSTATE_CLANG='no-such-clang'"):
        compile_opencl(SIMPLE)


def test_missing_clang_error_names_pip_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("GROUNDSTATE_CLANG", raising=False)
    monkeypatch.delenv("GROUNDSTATE_PREBUILT_SPIRV", raising=False)
    monkeypatch.setattr(clang, "_zig_clang", lambda: None)
    monkeypatch.setattr(clang, "_system_clang", lambda: None)
    clang._find.cache_clear()
    with pytest.raises(CompileError, match=r"pip install 'groundstate\[opencl\]'"):
        compile_opencl(SIMPLE)


def test_clang_that_cannot_be_used_is_not_taken(tmp_path: Path) -> None:
    old = tmp_path / "clang"
    old.write_text("#!/bin/sh\necho clang version 14.0.6\n")
    old.chmod(0o755)
    assert not clang._writes_spirv(str(old))


# --- Options --------------------------------------------------------------------------------------


def test_define() -> None:
    source = "kernel void f(global int *a) { a[0] = VALUE + EMPTY + 1; }"
    for options in (["-DVALUE=41", "-DEMPTY="], ["-D", "VALUE=41", "-D", "EMPTY="]):
        assert "OpConstant %uint 42" in disassemble(compile_opencl(source, options=options))


def test_undefine() -> None:
    with pytest.raises(CompileError, match="undeclared identifier 'A'"):
        compile_opencl("kernel void f() { int x = A; }", options=["-DA=1", "-UA"])


@pytest.mark.needs_compiler
def test_include_folder(tmp_path: Path) -> None:
    (tmp_path / "size.h").write_text("#define SIZE 77\n")
    source = '#include "size.h"\nkernel void f(global int *a) { a[0] = SIZE; }'
    assert "%uint 77" in disassemble(compile_opencl(source, options=["-I", str(tmp_path)]))


@pytest.mark.parametrize(
    ("standard", "version"),
    [("CL1.1", 110), ("CL1.2", 120), ("CL2.0", 200), ("CL3.0", 300), ("cl3.0", 300)],
)
def test_standard(standard: str, version: int) -> None:
    source = "kernel void f(global int *a) { a[0] = __OPENCL_C_VERSION__; }"
    text = disassemble(compile_opencl(source, options=[f"-cl-std={standard}"]))
    assert f"OpConstant %uint {version}" in text


def test_default_standard_is_3() -> None:
    source = "kernel void f(global int *a) { a[0] = __OPENCL_C_VERSION__; }"
    assert "OpConstant %uint 300" in disassemble(compile_opencl(source))


def test_cpp_for_opencl() -> None:
    source = "template <class T> T twice(T v) { return v + v; }"
    source += "kernel void f(global float *a) { a[0] = twice(a[1]); }"
    validate(compile_opencl(source, options=["-cl-std=CLC++2021"]))


def test_options_as_one_text() -> None:
    source = "kernel void f(global int *a) { a[0] = A; }"
    assert compile_opencl(source, options="-D A=5 -cl-std=CL1.2")


@pytest.mark.parametrize(
    "option",
    [
        "-cl-mad-enable",
        "-cl-no-signed-zeros",
        "-cl-unsafe-math-optimizations",
        "-cl-finite-math-only",
        "-cl-fast-relaxed-math",
        "-cl-denorms-are-zero",
        "-cl-single-precision-constant",
        "-cl-fp32-correctly-rounded-divide-sqrt",
        "-cl-uniform-work-group-size",
        "-cl-kernel-arg-info",
        "-cl-opt-disable",
        "-cl-strict-aliasing",
        "-cl-no-subgroup-ifp",
        "-g",
        "-w",
        "-Werror",
    ],
)
def test_every_option_gives_valid_spirv(option: str) -> None:
    source = """kernel void f(global float *a, global const double *b) {
        size_t i = get_global_id(0);
        a[i] = sin(a[i]) * 2.5 + convert_float_rtz(b[i]) / a[i + 1] + convert_int_sat(a[i]);
    }"""
    validate(compile_opencl(source, options=[option]))


def test_fast_math_is_marked() -> None:
    source = "kernel void f(global float *a) { a[0] = (a[1] + a[2]) / a[3]; }"
    assert "ContractionOff" in disassemble(compile_opencl(source))
    fast = disassemble(compile_opencl(source, options=["-cl-fast-relaxed-math"]))
    assert "FPFastMathMode" in fast
    assert "ContractionOff" not in fast


def test_contraction_is_decided_in_the_source() -> None:
    body = "kernel void f(global float *a) { %s a[0] = a[1] * a[2] + a[3]; }"
    assert " fma " in disassemble(compile_opencl(body % ""))
    off = disassemble(compile_opencl(body % "\n#pragma OPENCL FP_CONTRACT OFF\n"))
    assert " fma " not in off


@pytest.mark.parametrize(
    ("option", "sentence"),
    [
        ("-cl-mad-enabled", "did you mean -cl-mad-enable?"),
        ("--nonsense", "there is no option '--nonsense'"),
        ("-cl-std=CL4.0", "the standards are"),
        ("-D", "option -D needs a value"),
    ],
)
def test_unknown_options_are_refused(option: str, sentence: str) -> None:
    with pytest.raises(CompileError) as caught:
        compile_opencl(SIMPLE, options=[option])
    assert sentence in str(caught.value)


# --- Programs that print --------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["", "global int *a", "global float *a, int n"])
@pytest.mark.parametrize(
    "second",
    [
        "int a, global int *b",
        "global int *a, global int *b",
        "int a, int b, global float *c",
        "float4 a, local int *b, ulong c",
        "read_only image2d_t a, sampler_t b",
    ],
)
def test_printf_in_first_kernel_gives_valid_spirv(first: str, second: str) -> None:
    """clang 22 takes a value of the last kernel for the format, and asks for an extension."""
    source = f"""
        kernel void one({first}) {{ printf("hello %d\\n", (int)get_global_id(0)); printf("bye"); }}
        kernel void two({second}) {{ }}
        kernel void three({second}, global ulong *sum) {{ *sum = sizeof(a) + sizeof(b); }}
    """
    spirv = compile_opencl(source)
    validate(spirv)
    assert "relaxed_printf" not in disassemble(spirv)


# --- Cache ----------------------------------------------------------------------------------------


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What clang is run for."""
    seen: list[str] = []
    original = clang.Clang.run

    def record(
        self: clang.Clang,
        arguments: list[str],
        text: bytes,
        meanwhile: clang.Meanwhile | None = None,
    ) -> object:
        seen.append("-E" if "-E" in arguments else "compile")
        return original(self, arguments, text, meanwhile)

    monkeypatch.setattr(clang.Clang, "run", record)
    return seen


@pytest.mark.needs_compiler
def test_second_time_runs_nothing(runs: list[str]) -> None:
    first = compile_opencl(SIMPLE)
    runs.clear()
    assert compile_opencl(SIMPLE) == first
    assert runs == []


@pytest.mark.needs_compiler
def test_cache_key_covers_source_options_and_name(runs: list[str]) -> None:
    compile_opencl(SIMPLE)
    for source, options, name in (
        (SIMPLE + " ", [], "kernel.cl"),
        (SIMPLE, ["-DX"], "kernel.cl"),
        (SIMPLE, [], "other.cl"),
    ):
        runs.clear()
        compile_opencl(source, options=options, name=name)
        assert "compile" in runs


@pytest.mark.needs_compiler
def test_changed_include_is_seen(tmp_path: Path, runs: list[str]) -> None:
    header = tmp_path / "value.h"
    source = '#include "value.h"\nkernel void f(global int *a) { a[0] = VALUE; }'
    options = [f"-I{tmp_path}"]
    header.write_text("#define VALUE 1234\n")
    assert "%uint 1234" in disassemble(compile_opencl(source, options=options))
    header.write_text("#define VALUE 5678\n")
    assert "%uint 5678" in disassemble(compile_opencl(source, options=options))
    runs.clear()
    compile_opencl(source, options=options)
    assert runs == ["-E"]


@pytest.mark.needs_compiler
def test_errors_are_not_cached(empty_cache: Path) -> None:
    with pytest.raises(CompileError):
        compile_opencl("?")
    assert disk.size() == (0, 0)


@pytest.mark.needs_compiler
def test_processes_share_the_cache(empty_cache: Path) -> None:
    program = (
        "from groundstate.compiler.opencl.frontend import compile_opencl\n"
        f"print(hash(compile_opencl({SIMPLE!r}).hex()))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    started = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment)
        for _ in range(4)
    ]
    printed = {process.communicate()[0] for process in started}
    assert len(printed) == 1
    assert disk.size()[0] == 1


def test_fingerprint_covers_the_headers() -> None:
    frontend._fingerprint.cache_clear()
    assert len(frontend._fingerprint()) == 64


def test_result_is_whole_words() -> None:
    spirv = compile_opencl(SIMPLE)
    assert len(spirv) % 4 == 0
    assert struct.unpack_from("<I", spirv)[0] == 0x07230203


def test_entries_depend_on_the_whole_front_end() -> None:
    names = {os.path.basename(path) for path in frontend.own_files()}
    assert {"frontend.py", "atomics.py", "spirv_words.py"} <= names
    assert any(name.endswith(".h") for name in names)


CHAINED_COPIES = """
kernel void chained(global int *in, local int *t) {
    event_t done = 0;
    for (int i = 0; i < get_local_size(0); i++)
        done = async_work_group_copy(t + i, in + i, 1, done);
    wait_group_events(1, &done);
}"""
MAYBE_NULL = """
int *chosen(int *p, int i) { return i ? p : 0; }
kernel void maybe_null(global int *out) { int x = 1; out[0] = *chosen(&x, out[0]); }
"""


@pytest.mark.needs_compiler
@pytest.mark.parametrize("source", [CHAINED_COPIES, MAYBE_NULL])
@pytest.mark.parametrize("options", [[], ["-fkeep-accesses", "-g"]])
def test_what_the_back_end_cannot_say_becomes_valid(source: str, options: list[str]) -> None:
    validate(compile_opencl(source, options=options))


@pytest.mark.needs_compiler
def test_contracted_halves_are_left_to_the_device() -> None:
    """`fma` of halves costs more than both operations where floats compute them."""
    source = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void f(global half *a, global half4 *b, global float *c) {
    *a = *a * *a + 1; *b = *b * *b + 1; *c = *c * *c + 1; }
"""
    text = disassemble(compile_opencl(source))
    assert (text.count(" mad "), text.count(" fma ")) == (2, 1)
