"""The registry is complete, clean and in step with everything generated from it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from registry import outputs
from registry.checks import CheckKind, checks_of, expression, is_executable
from registry.generators import implemented
from registry.load import load
from registry.model import CType

ROOT = Path(__file__).parents[3]
REGISTRY = load()


def test_everything_of_the_specification_is_there() -> None:
    assert REGISTRY.version == "1.17.24"
    assert len(REGISTRY.functions) == 478
    assert len(REGISTRY.structs) == 443
    assert len(REGISTRY.enums) == 246
    assert len(REGISTRY.tables) == 84
    assert sum(1 for table in REGISTRY.tables.values() if table.getter) == 76


def test_generated_files_are_current() -> None:
    check = subprocess.run(
        [sys.executable, "-m", "registry", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (check.returncode, check.stdout) == (0, "")


def test_check_shows_what_is_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "ROOT", tmp_path)
    name = "native/generated/functions.c"
    generator = outputs.OUTPUTS[name]
    monkeypatch.setattr(outputs, "OUTPUTS", {name: generator})
    assert len(outputs.stale()) == 1
    assert outputs.write_all() == [name]
    assert outputs.stale() == []
    path = tmp_path / name
    path.write_text(path.read_text().replace('"zeInit",', '"zeInitialise",'))
    (summary,) = outputs.stale()
    assert '-    "zeInitialise",' in summary
    assert '+    "zeInit",' in summary


def test_errors_are_results() -> None:
    results = dict(REGISTRY.enums["ze_result_t"].values)
    named = {name for f in REGISTRY.functions.values() for name, _ in f.errors}
    assert named <= set(results)
    assert "ZE_RESULT_SUCCESS" not in named


def test_every_type_is_known() -> None:
    plain = {"void", "char", "int", "unsigned int", "size_t", "float", "double"}
    plain |= {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)}
    known = plain | {
        *REGISTRY.structs,
        *REGISTRY.enums,
        *REGISTRY.handles,
        *REGISTRY.typedefs,
        *REGISTRY.callbacks,
    }
    used = {p.type.base for f in REGISTRY.functions.values() for p in f.parameters}
    used |= {field.type.base for s in REGISTRY.structs.values() for field in s.fields}
    used |= {t.base for c in REGISTRY.callbacks.values() for t in c.parameters}
    assert used - known == set()


def test_each_function_is_in_exactly_one_table() -> None:
    in_tables = [
        field.function
        for table in REGISTRY.tables.values()
        for field in table.fields
        if field.function
    ]
    assert sorted(in_tables) == sorted(REGISTRY.functions)


def test_older_table_fields_come_first() -> None:
    for table in REGISTRY.tables.values():
        versions = [field.since for field in table.fields if field.since is not None]
        assert versions == sorted(versions), table.name


def test_structs_know_stype_and_what_they_extend() -> None:
    for struct in REGISTRY.structs.values():
        if struct.fields[0].name == "stype" and "_base_" not in struct.name:
            values = dict(REGISTRY.enums[struct.fields[0].type.base].values)
            assert struct.stype in values, struct.name
        else:
            assert struct.stype is None or "_base_" in struct.name, struct.name
        for target in struct.extends:
            assert target in REGISTRY.structs or target in REGISTRY.functions, struct.name
    assert "ze_device_properties_t" in REGISTRY.structs["ze_device_luid_ext_properties_t"].extends


def test_handle_kinds_match_across_namespaces() -> None:
    assert REGISTRY.kind_of("zes_device_handle_t") == "DEVICE"
    assert REGISTRY.kind_of("zet_device_handle_t") == REGISTRY.kind_of("ze_device_handle_t")
    assert REGISTRY.kind_of("zes_sched_handle_t") == "ZES_SCHED"
    assert REGISTRY.kind_of("ze_ipc_mem_handle_t") is None
    kinds = [h.kind for h in REGISTRY.handles.values() if h.alias_of is None]
    assert len(kinds) == len(set(kinds))


def test_types_are_taken_apart() -> None:
    assert CType.parse("const ze_context_desc_t *") == CType(
        "const ze_context_desc_t *", "ze_context_desc_t", 1, True, None
    )
    assert CType.parse("char[256]").declare("name") == "char name[256]"
    assert CType.parse("void ***").declare("p") == "void ***p"
    with pytest.raises(ValueError, match="not a C type"):
        CType.parse("void (*)(void *)")


def test_checks_of_a_function_in_order() -> None:
    function = REGISTRY.functions["zeCommandListAppendMemoryFill"]
    seen = [(check.kind, check.subject, check.result) for check in checks_of(function)]
    handle = "ZE_RESULT_ERROR_INVALID_NULL_HANDLE"
    event = "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT"
    pointer = "ZE_RESULT_ERROR_INVALID_NULL_POINTER"
    size = "ZE_RESULT_ERROR_INVALID_SIZE"
    assert seen == [
        (CheckKind.HANDLE, "hCommandList", handle),
        (CheckKind.HANDLE_ARRAY, "phWaitEvents", event),
        (CheckKind.OPTIONAL_HANDLE, "hSignalEvent", event),
        (CheckKind.POINTER, "ptr", pointer),
        (CheckKind.POINTER, "pattern", pointer),
        (CheckKind.CONDITION, "numWaitEvents", size),
        (CheckKind.CONDITION, "pattern_size", size),
    ]


def test_missing_handle_array_is_never_read() -> None:
    """Where one may be left out, a count above zero without it is refused."""
    arrays = 0
    for function in REGISTRY.functions.values():
        checks = checks_of(function)
        for array in (each for each in checks if each.kind is CheckKind.HANDLE_ARRAY):
            condition = f"(nullptr == {array.parameter}) && (0 < {array.count})"
            guarded = [each for each in checks if condition == each.condition]
            required = [
                each
                for each in checks
                if each.kind is CheckKind.POINTER and each.subject == array.parameter
            ]
            assert guarded or required, (function.name, array.parameter)
            arrays += 1
    assert arrays > 40


def test_only_functions_without_handle_check_init() -> None:
    asking = {
        function.name
        for function in REGISTRY.functions.values()
        if any(check.kind is CheckKind.INITIALISED for check in checks_of(function))
    }
    assert asking == {
        "zeDriverGet",
        "zesDriverGet",
        "zerGetLastErrorDescription",
        "zerTranslateIdentifierToDeviceHandle",
        "zerGetDefaultContext",
    }


def test_conditions_in_words_are_no_expressions() -> None:
    function = REGISTRY.functions["zeVirtualMemMap"]
    assert is_executable("0 == size", function, REGISTRY)
    assert not is_executable("size is not page aligned", function, REGISTRY)
    assert not is_executable("0 == nonsense", function, REGISTRY)
    pool = REGISTRY.functions["zeEventPoolCreate"]
    assert is_executable("0 == desc->count", pool, REGISTRY)
    assert not is_executable("0 == desc->nonsense", pool, REGISTRY)


def test_a_remainder_is_guarded_against_zero() -> None:
    assert expression("size % pattern_size != 0") == "0 == pattern_size || size % pattern_size != 0"
    assert expression("nullptr == desc->pKernelName") == "NULL == desc->pKernelName"


def test_every_comparison_condition_is_executed() -> None:
    for function in REGISTRY.functions.values():
        for _, conditions in function.errors:
            for condition in conditions:
                if re.search(r"nullptr|[=!<]=|<", condition):
                    assert is_executable(condition, function, REGISTRY), (function.name, condition)


def test_implementations_are_found_in_sources(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.c").write_text(
        "ze_result_t gs_zeMemFree(ze_context_handle_t hContext, void *ptr);\n"
        "ze_result_t gs_zeMemAllocHost(ze_context_handle_t hContext,\n"
        "                              void **pptr)\n{\n    return gs_zeInit(0);\n}\n"
        "ze_context_handle_t\ngs_zerGetDefaultContext(void)\n{\n}\n"
        "GS_GETTER(zeEventGetWaitScope, ze_event_handle_t, uint32_t, gs_event, wait_scope)\n"
    )
    assert implemented.native_functions(tmp_path) == {
        "zeEventGetWaitScope",
        "zeMemAllocHost",
        "zerGetDefaultContext",
    }
    (tmp_path / "driver.py").write_text(
        "@handler\ndef zeInit(flags): ...\n@api.handler\ndef zeDriverGet(a, b): ...\n"
        "def zeInitDrivers(a): ...\n@cache\ndef zeDeviceGet(a): ...\n"
    )
    assert implemented.python_functions(tmp_path) == {"zeInit", "zeDriverGet"}
