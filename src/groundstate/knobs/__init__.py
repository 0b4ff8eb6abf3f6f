"""Every environment variable that Groundstate reads, each with its type, default and meaning.

This is the only package that looks at the environment. A knob is read when its value is asked for
(the driver asks once, when it starts), never when this module is imported. `kinds` says how.

`docs/reference/knobs.md` is printed by `python -m groundstate.knobs`.
"""

import os

from groundstate.knobs.kinds import Choice, Duration, Flag, Folder, Knob, Number, Size, Text, Words

_GUIDE = "Variables of the Level Zero programming guide"
_DEVICE = "What the device looks like"
_PLACES = "Where things are"
_PYTHON = "Python"
_CAPTURE = "Recording"
_SCRIPT = "Scripts"

AFFINITY_MASK = Text(
    "ZE_AFFINITY_MASK",
    values="list of `device` or `device.sub-device`, such as `0, 1.2`",
    default="",
    otherwise="all devices",
    sentence="Reports only the devices and sub-devices in the list. With "
    "`ZE_FLAT_DEVICE_HIERARCHY` other than `COMPOSITE` the numbers count the "
    "devices of that hierarchy. Invalid entries are ignored.",
    group=_GUIDE,
)
FLAT_DEVICE_HIERARCHY = Choice(
    "ZE_FLAT_DEVICE_HIERARCHY",
    choices=("COMPOSITE", "FLAT", "COMBINED"),
    default="COMPOSITE",
    sentence="`COMPOSITE`: a device has sub-devices. `FLAT`: the sub-devices of all devices "
    "are reported as devices, and nothing else. `COMBINED`: the same, and "
    "`zeDeviceGetRootDevice` returns their parent device.",
    group=_GUIDE,
)
ENABLE_PCI_ID_DEVICE_ORDER = Flag(
    "ZE_ENABLE_PCI_ID_DEVICE_ORDER",
    default=False,
    sentence="Devices are reported from the lowest to the highest PCI address.",
    group=_GUIDE,
)
ENABLE_METRICS = Flag(
    "ZET_ENABLE_METRICS",
    default=True,
    sentence="`0`: `zetMetricGroupGet` fails until a program calls `zetDeviceEnableMetricsExp`. "
    "Metrics cost nothing before a group is active, so that they are there by default.",
    group=_GUIDE,
)
ENABLE_PROGRAM_DEBUGGING = Flag(
    "ZET_ENABLE_PROGRAM_DEBUGGING",
    default=False,
    sentence="`1`: another process of the same user may attach by `zetDebugAttach` and debug the "
    "kernels of this one. While it is attached, launches are executed by Python.",
    group=_GUIDE,
)
SHARED_FORCE_DEVICE_ALLOC = Flag(
    "ZE_SHARED_FORCE_DEVICE_ALLOC",
    default=False,
    sentence="Shared allocations count as device memory from the start.",
    group=_GUIDE,
)
TOPOLOGY = Text(
    "GROUNDSTATE_TOPOLOGY",
    values="`devices` or `devices`x`sub-devices`, such as `2x4`",
    default="1",
    otherwise="1",
    sentence="The number of devices, and of sub-devices of each. Cores and memory are "
    "divided among them; sub-devices share cores if there are not enough.",
    group=_DEVICE,
)
THREADS = Number(
    "GROUNDSTATE_THREADS",
    minimum=1,
    otherwise="one for each CPU that the process may use",
    sentence="The number of worker threads of all devices together. It may exceed the number "
    "of CPUs.",
    group=_DEVICE,
)
MEMORY = Size(
    "GROUNDSTATE_MEMORY",
    otherwise="the memory of the machine, or of the container",
    sentence="The memory of all devices together.",
    group=_DEVICE,
)
DEVICE_TYPE = Choice(
    "GROUNDSTATE_DEVICE_TYPE",
    choices=("gpu", "cpu", "both"),
    default="gpu",
    sentence="The type that the device reports. Most programs accept only a GPU. `both`: each "
    "device is reported a second time as a CPU, with the same cores and memory, after all GPUs.",
    group=_DEVICE,
)
VENDOR_ID = Number(
    "GROUNDSTATE_VENDOR_ID",
    minimum=0,
    otherwise="the PCI vendor id of the maker of the CPU",
    sentence="The vendor id that the device reports.",
    group=_DEVICE,
)
DEVICE_ID = Number(
    "GROUNDSTATE_DEVICE_ID",
    minimum=0,
    otherwise="the identification number that the CPU gives itself",
    sentence="The device id that the device reports.",
    group=_DEVICE,
)
IP_VERSION = Number(
    "GROUNDSTATE_IP_VERSION",
    minimum=0,
    otherwise="`0x08c00000`, 35.0.0; another one for JAX",
    sentence="The hardware version that the device reports. Libraries choose their kernels "
    "by it, and oneMKL refuses versions that it does not know (docs/howto/sycl.md).",
    group=_DEVICE,
)
MAX_ISA = Choice(
    "GROUNDSTATE_MAX_ISA",
    choices=("native", "avx2", "sse4"),
    default="native",
    sentence="The newest x86-64 instruction set that kernels may use. `avx2` avoids AVX-512 "
    "and AMX, to test a program as on a CPU without them.",
    group=_DEVICE,
)
SHAPE = Choice(
    "GROUNDSTATE_SHAPE",
    choices=("measured", "vector", "refilled", "scalar"),
    default="measured",
    sentence="How the work-items of a kernel run where nobody can tell: as vectors, as vectors "
    "whose lanes take the next work-item when they have left a loop (`refilled`), one after the "
    "other (`scalar`), or in whichever way is faster on the program's data.",
    group=_DEVICE,
)
SYSTEM_MEMORY = Flag(
    "GROUNDSTATE_SYSTEM_MEMORY",
    default=True,
    sentence="Whether the device reports that kernels can use memory of `malloc`. With 0, "
    "programs that ask use allocations of the driver instead, as on most GPUs. "
    "`groundstate record` sets 0, because a recorder cannot know the size of such "
    "memory.",
    group=_DEVICE,
)
FAULTS = Choice(
    "GROUNDSTATE_FAULTS",
    choices=("lost", "crash"),
    default="lost",
    sentence="What happens if a kernel accesses invalid memory or traps. `lost`: its context "
    "is lost (`ZE_RESULT_ERROR_DEVICE_LOST`), and the program continues. `crash`: "
    "the program gets the signal, for debuggers.",
    group=_DEVICE,
)
KERNEL_LIMIT = Duration(
    "GROUNDSTATE_KERNEL_LIMIT",
    otherwise="no limit",
    sentence="The longest time that a kernel may run. A kernel that takes longer is stopped, "
    "and its context is lost (`ZE_RESULT_ERROR_DEVICE_LOST`). A number without a "
    "unit is in seconds.",
    group=_DEVICE,
)
GDB = Flag(
    "GROUNDSTATE_GDB",
    default=False,
    sentence="Tells debuggers of the code of all kernels, by GDB's interface for JIT compilers. "
    "The build option `-g` does so for the kernels of one module.",
    group=_DEVICE,
)
PERF_MAP = Flag(
    "GROUNDSTATE_PERF_MAP",
    default=False,
    sentence="Writes `/tmp/perf-PID.map` with the addresses of kernels, so that `perf report` "
    "names them.",
    group=_DEVICE,
)
PROFILE = Text(
    "GROUNDSTATE_PROFILE",
    values="a folder",
    default="",
    otherwise="no profile",
    sentence="Each process writes what it does into a file in this folder. `groundstate profile` "
    "sets this.",
    group=_PLACES,
)
PROFILE_COUNTERS = Flag(
    "GROUNDSTATE_PROFILE_COUNTERS",
    default=True,
    sentence="Whether the first launch of each kernel in a profile counts what the kernel does.",
    group=_PLACES,
)
NATIVE = Choice(
    "GROUNDSTATE_NATIVE",
    choices=("trusted", "own", "never"),
    default="own",
    sentence="Whose native binaries are accepted; their machine code runs with all rights of "
    "the program. `own`: those of this user's drivers, which sign them with a key "
    "in the folder of `GROUNDSTATE_CACHE`. `trusted`: all. `never`: none. Others "
    "return `ZE_RESULT_ERROR_INVALID_NATIVE_BINARY` (docs/reference/security.md).",
    group=_DEVICE,
)
ERRORS = Choice(
    "GROUNDSTATE_ERRORS",
    choices=("0", "serious", "1"),
    default="0",
    sentence="For which failures the driver prints a sentence on stderr. A program can ask "
    "for it (`zeDriverGetLastErrorDescription`), but many show only a number. `1`: "
    "each failed call, also harmless ones. `serious`: failures that a working "
    "program does not have, each reason once: kernel faults, missing memory, "
    "modules that cannot be built or were not linked, values that no enumeration has, "
    "bugs of the driver. `groundstate run` sets `serious`.",
    group=_DEVICE,
)
NO_COLOR = Text(
    "NO_COLOR",
    values="any text",
    default="",
    otherwise="colour on a terminal",
    sentence="If this is set, nothing is printed in colour.",
    group=_DEVICE,
)
PROGRESS = Flag(
    "GROUNDSTATE_PROGRESS",
    default=True,
    sentence="Whether work of more than two seconds, such as compiling a large kernel, is "
    "announced on stderr, and commands show a progress bar there, if it is a "
    "terminal.",
    group=_DEVICE,
)
CHECK_WAITS = Flag(
    "GROUNDSTATE_CHECK_WAITS",
    default=False,
    sentence="Whether the driver ends the process with a sentence if one of its threads "
    "waits while it holds a lock that other calls need. For people who work on the "
    "driver; its tests set this.",
    group=_DEVICE,
)
DEBUG = Text(
    "GROUNDSTATE_DEBUG",
    values="path of a Unix socket",
    default="",
    otherwise="no debugger",
    sentence="Where a debugger of kernels waits for the program. `groundstate debug` sets it. "
    "OpenCL C is compiled with `-O0 -g` then, and launches that the debugger wants to see are "
    "executed by Python, one work-item at a time.",
    group=_DEVICE,
)
CHECK = Words(
    "GROUNDSTATE_CHECK",
    words=("memory", "uninit", "races", "sync", "arithmetic", "host", "portability"),
    usual=("memory", "uninit", "races", "sync", "host"),
    sentence="Checked mode: kernels and calls are watched for these kinds of mistakes, and each is "
    "reported with its place in the source. `1`: all but those that are by option.",
    group=_DEVICE,
)
CHECK_VARY = Number(
    "GROUNDSTATE_CHECK_VARY",
    minimum=0,
    otherwise="0",
    sentence="A seed by which the order of groups and sub-groups, the size of sub-groups, and what "
    "memory holds that nobody has written vary, so that what works by luck fails, and can be "
    "repeated. `0`: nothing varies. `groundstate check --vary` sets this.",
    group=_DEVICE,
)
CHECK_DEVICE = Choice(
    "GROUNDSTATE_CHECK_DEVICE",
    choices=("none", "uhd-630", "uhd-770", "iris-xe", "arc-a770", "arc-b580", "max-1550"),
    default="none",
    sentence="The GPU whose limits the checker `portability` goes by: launches that ask for more "
    "are reported. `groundstate check --device` sets this.",
    group=_DEVICE,
)
CHECK_SAME_VALUES = Flag(
    "GROUNDSTATE_CHECK_SAME_VALUES",
    default=False,
    sentence="Whether the race checker also reports work-items that write the same value to one "
    "place without synchronising. `groundstate check --same-values` sets this.",
    group=_DEVICE,
)
CHECK_STRICT = Flag(
    "GROUNDSTATE_CHECK_STRICT",
    default=False,
    sentence="Whether the checker `host` also reports device memory that the program itself reads "
    "or writes, which works here and not on a discrete GPU. `groundstate check --strict` sets "
    "this.",
    group=_DEVICE,
)
LIBRARY = Text(
    "GROUNDSTATE_LIBRARY",
    values="a path",
    default="",
    otherwise="`_native/libze_groundstate.so.1` in the package",
    sentence="The driver library that the Python side opens.",
    group=_PLACES,
)
SYSFS_ROOT = Text(
    "GROUNDSTATE_SYSFS_ROOT",
    values="a path",
    default="/",
    otherwise="`/`",
    sentence="The folder with the `proc`, `sys` and `etc` that describe the machine. It can "
    "be a copy of another machine's files.",
    group=_PLACES,
)
CHECK_STOP = Flag(
    "GROUNDSTATE_CHECK_STOP",
    default=False,
    sentence="Whether checked mode stops a kernel at its first mistake; its context is lost. "
    "Otherwise wrong accesses are left out, and the kernel goes on. `groundstate check --stop` "
    "sets this.",
    group=_DEVICE,
)
CHECK_SUPPRESS = Text(
    "GROUNDSTATE_CHECK_SUPPRESS",
    values="paths with `:` between them",
    default="",
    otherwise="everything is reported",
    sentence="Files that say what checked mode does not report (docs/howto/checking.md). "
    "`groundstate check --suppress` sets this.",
    group=_PLACES,
)
CHECK_OUTPUT = Text(
    "GROUNDSTATE_CHECK_OUTPUT",
    values="a path",
    default="",
    otherwise="stderr",
    sentence="The file to which checked mode appends what it finds, a line of JSON for each. "
    "`groundstate check` sets this.",
    group=_PLACES,
)
NVIDIA = Choice(
    "GROUNDSTATE_NVIDIA",
    choices=("1", "0", "first", "only"),
    default="1",
    sentence="Whether NVIDIA's GPUs are devices: after the CPU's (`1`), before them (`first`), "
    "alone (`only`) or not at all (`0`). System management lists them if `nvidia-ml-py` is "
    "installed.",
    group=_DEVICE,
)
CUDA_LIBRARY = Text(
    "GROUNDSTATE_CUDA_LIBRARY",
    values="a path",
    default="",
    otherwise="`libcuda.so.1`, where NVIDIA's kernel driver is loaded",
    sentence="The library of NVIDIA's driver through which its GPUs are used.",
    group=_PLACES,
)
CACHE = Folder(
    "GROUNDSTATE_CACHE",
    otherwise="`groundstate` in the user's cache folder",
    sentence="The folder of the kernel cache. `0`: no cache.",
    group=_PLACES,
)
CACHE_SIZE = Size(
    "GROUNDSTATE_CACHE_SIZE",
    otherwise="1G",
    sentence="The maximum size of that folder. The least recently used entries are removed first.",
    group=_PLACES,
)
COMPILER_PROCESS = Flag(
    "GROUNDSTATE_COMPILER_PROCESS",
    default=True,
    sentence="Whether LLVM, which compiles kernels, runs in its own process. With 0 it runs "
    "in the program, and a kernel that crashes LLVM ends the program.",
    group=_DEVICE,
)
COMPILE_LIMIT = Duration(
    "GROUNDSTATE_COMPILE_LIMIT",
    otherwise="10min",
    default=600 * 10**9,
    sentence="How long it may take to make LLVM IR of a kernel, and then again how long LLVM may "
    "take for it in its own process. One that takes longer cannot be built. `0`: any time.",
    group=_DEVICE,
)
USER_CACHE = Text(
    "XDG_CACHE_HOME",
    values="a path",
    default="",
    otherwise="`~/.cache`",
    sentence="The user's cache folder.",
    group=_PLACES,
)
CLANG = Text(
    "GROUNDSTATE_CLANG",
    values="a program",
    default="",
    otherwise="the one in the `ziglang` package, or else the machine's",
    sentence="The clang that compiles OpenCL C: version 20 or newer, or `zig`.",
    group=_PLACES,
)
PREBUILT_SPIRV = Text(
    "GROUNDSTATE_PREBUILT_SPIRV",
    values="a path",
    default="",
    otherwise="none",
    sentence="A folder of SPIR-V for machines without clang. With a clang, compiled OpenCL C "
    "is added to it; without one, it is taken from there.",
    group=_PLACES,
)
PYZES_ERRORS = Flag(
    "GROUNDSTATE_PYZES_ERRORS",
    default=True,
    sentence="Whether the functions of `groundstate.pyzes` print errors on stderr, each once.",
    group=_PYTHON,
)

CAPTURE_NEXT = Text(
    "GROUNDSTATE_CAPTURE_NEXT",
    values="a path",
    default="",
    otherwise="the driver beside the capture library",
    sentence="The library to which the capture library passes calls: a driver or a loader.",
    group=_CAPTURE,
)
CAPTURE_OUT = Text(
    "GROUNDSTATE_CAPTURE_OUT",
    values="a path",
    default="",
    otherwise="nothing is recorded",
    sentence="The folder for the recording of the capture library "
    "(docs/reference/stream-format.md).",
    group=_CAPTURE,
)
CAPTURE_TOOLS = Flag(
    "GROUNDSTATE_CAPTURE_TOOLS",
    default=False,
    sentence="Whether the `zes` and `zet` functions are also recorded.",
    group=_CAPTURE,
)

CAPTURE_PAGES = Choice(
    "GROUNDSTATE_CAPTURE_PAGES",
    choices=("auto", "userfaultfd", "compare", "none"),
    default="auto",
    sentence="How the recorder finds the memory that the program wrote: `userfaultfd` asks "
    "the kernel (Linux 6.7), `compare` compares all pages with their previous "
    "contents, `auto` asks if possible and compares otherwise, `none` records calls "
    "only.",
    group=_CAPTURE,
)
CAPTURE_RESULTS = Flag(
    "GROUNDSTATE_CAPTURE_RESULTS",
    default=False,
    sentence="Whether to record digests of what the device wrote, for comparison.",
    group=_CAPTURE,
)

CAPTURE_TIMES = Flag(
    "GROUNDSTATE_CAPTURE_TIMES",
    default=True,
    sentence="Whether the recorder measures when kernels, copies and fills run, with kernel "
    "timestamps of the device.",
    group=_CAPTURE,
)

SCRIPT = Text(
    "GROUNDSTATE_SCRIPT",
    values="a path",
    default="",
    otherwise="no function is hooked",
    sentence="The script whose functions replace API functions in the capture library "
    "(docs/howto/scripting.md).",
    group=_SCRIPT,
)
SCRIPT_ARGUMENTS = Text(
    "GROUNDSTATE_SCRIPT_ARGUMENTS",
    values="a text",
    default="",
    otherwise="empty",
    sentence="The text that `gits.getArgsStr()` returns to the script.",
    group=_SCRIPT,
)
SCRIPT_OUT = Text(
    "GROUNDSTATE_SCRIPT_OUT",
    values="a path",
    default="",
    otherwise="the current folder",
    sentence="The folder for files that the script writes, `gits.getOutDir()`.",
    group=_SCRIPT,
)
SCRIPT_STREAM = Text(
    "GROUNDSTATE_SCRIPT_STREAM",
    values="a path",
    default="",
    otherwise="the folder that is recorded into",
    sentence="The recording that is being played, `gits.getStreamDir()`.",
    group=_SCRIPT,
)
SCRIPT_STOP = Flag(
    "GROUNDSTATE_SCRIPT_STOP",
    default=False,
    sentence="Whether an error in the script ends the program.",
    group=_SCRIPT,
)
SCRIPT_SANDBOX = Flag(
    "GROUNDSTATE_SCRIPT_SANDBOX",
    default=False,
    sentence="Whether the script runs in the sandbox: it gets no files, programs or modules, "
    "changes no memory and no call, and its time and memory are limited "
    "(docs/howto/scripting.md).",
    group=_SCRIPT,
)
LUA = Text(
    "GROUNDSTATE_LUA",
    values="a path",
    default="",
    otherwise="the one in the package `lupa`",
    sentence="The library with Lua 5.4 that runs scripts.",
    group=_SCRIPT,
)

KNOBS = tuple(each for each in tuple(globals().values()) if isinstance(each, Knob))
"""All of them, in the order of the page about them."""


def cache_folder() -> str | None:
    """The folder of the disk cache; None if nothing is to be kept."""
    if CACHE.is_off():
        return None
    return CACHE.get() or default_cache_folder()


def default_cache_folder() -> str | None:
    """The folder of the disk cache unless GROUNDSTATE_CACHE says otherwise.

    None for a user without a home: one that the system does not know, in a container for example.
    """
    base = USER_CACHE.get()
    # A relative XDG_CACHE_HOME is to be ignored, says its specification.
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return os.path.join(base, "groundstate") if os.path.isabs(base) else None


_NEWER: dict[str, tuple[str, ...]] = {"avx2": ("avx512", "avx10", "amx", "evex512")}
_NEWER["sse4"] = (*_NEWER["avx2"], "avx", "fma", "f16c", "vaes", "vpclmul")
"""How the names of features begin that came after a generation, by Linux and LLVM alike."""


def allows(feature: str) -> bool:
    """Whether kernels may use a feature of the CPU."""
    return not feature.startswith(_NEWER.get(MAX_ISA.get(), ()))


def environment_of_children() -> dict[str, str]:
    """The environment of a process that works for this one: without what is meant for this
    program, which such a process must not load or be led astray by."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "LD_PRELOAD", "LD_AUDIT"))
    }


def library() -> str:
    """The path of the driver library."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return LIBRARY.get() or os.path.join(package, "_native", "libze_groundstate.so.1")
