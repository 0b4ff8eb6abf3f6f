"""Every environment variable that Groundstate reads, each with its type, default and meaning.

This is the only file that looks at the environment. A knob is read when its value is asked for (the
driver asks once, when it starts), never when this module is imported. A value that cannot be
understood is reported on stderr once and the default is used instead.

`docs/reference/knobs.md` is printed by `python -m groundstate.knobs`.
"""

import os
import sys
from abc import abstractmethod

_complained: set[tuple[str, str]] = set()


def complain(name: str, value: str, problem: str) -> None:
    """Says on stderr, once for each value, why a variable is not used as it is written."""
    if (name, value) not in _complained:
        _complained.add((name, value))
        print(f"groundstate: {name}={value!r}: {problem}", file=sys.stderr)


class Knob:
    """One environment variable. Subclasses say how its text becomes a value."""

    values = ""

    def __init__(self, name: str, sentence: str, group: str) -> None:
        self.name = name
        self.sentence = sentence
        self.group = group
        KNOBS.append(self)

    def text(self) -> str:
        """The variable as it is written, without the blanks around it; empty if it is not set."""
        return os.environ.get(self.name, "").strip()

    @abstractmethod
    def get(self) -> object:
        """What the variable says, or the default."""

    @abstractmethod
    def described_default(self) -> str:
        """The default in the words of the documentation."""


KNOBS: list[Knob] = []


_ON = ("1", "true", "on", "yes")
_OFF = ("0", "false", "off", "no")


class Flag(Knob):
    """A variable that switches something on or off."""

    values = "`0`, `1`"
    _meanings = dict.fromkeys(_ON, True) | dict.fromkeys(_OFF, False)

    def __init__(self, name: str, default: bool, sentence: str, group: str) -> None:
        super().__init__(name, sentence, group)
        self.default = default

    def get(self) -> bool:
        text = self.text()
        if not text:
            return self.default
        value = self._meanings.get(text.lower())
        if value is None:
            complain(self.name, text, f"expected 0 or 1; using {self.described_default()}")
            return self.default
        return value

    def described_default(self) -> str:
        return str(int(self.default))


class Choice(Knob):
    """A variable that names one of a few possibilities, in upper or lower case."""

    def __init__(
        self, name: str, choices: tuple[str, ...], default: str, sentence: str, group: str
    ) -> None:
        super().__init__(name, sentence, group)
        self.choices = choices
        self.default = default
        self.values = ", ".join(f"`{choice}`" for choice in choices)

    def get(self) -> str:
        text = self.text()
        if not text:
            return self.default
        for choice in self.choices:
            if choice.lower() == text.lower():
                return choice
        complain(
            self.name, text, f"expected one of {', '.join(self.choices)}; using {self.default}"
        )
        return self.default

    def described_default(self) -> str:
        return self.default


class Number(Knob):
    """A whole number of at least `minimum`, decimal or with a 0x prefix; None if it is not set."""

    values = "a number"

    def __init__(self, name: str, minimum: int, otherwise: str, sentence: str, group: str) -> None:
        super().__init__(name, sentence, group)
        self.minimum = minimum
        self.otherwise = otherwise

    def get(self) -> int | None:
        text = self.text()
        if not text:
            return None
        try:
            value = int(text, 0)
        except ValueError:
            value = self.minimum - 1
        if not self.minimum <= value < 1 << 32:
            complain(
                self.name,
                text,
                f"expected a whole number from {self.minimum} up; using {self.otherwise}",
            )
            return None
        return value

    def described_default(self) -> str:
        return self.otherwise


class Size(Knob):
    """A number of bytes such as 512M or 8G (powers of 1024); None if it is not set."""

    values = "a size such as `512M` or `8G`"
    _powers = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}

    def __init__(self, name: str, otherwise: str, sentence: str, group: str) -> None:
        super().__init__(name, sentence, group)
        self.otherwise = otherwise

    def get(self) -> int | None:
        text = self.text()
        if not text:
            return None
        value = self._parse(text)
        if value is None:
            complain(self.name, text, f"expected a size such as 512M or 8G; using {self.otherwise}")
        return value

    def _parse(self, text: str) -> int | None:
        unit = text.upper().removesuffix("B").removesuffix("I")
        digits = unit.rstrip("KMGT")
        power = self._powers.get(unit[len(digits) :])
        if power is None:
            return None
        try:
            size = int(float(digits.strip()) * 1024**power)
        except (ValueError, OverflowError):
            return None
        return size if 0 < size < 1 << 63 else None

    def described_default(self) -> str:
        return self.otherwise


class Duration(Knob):
    """A time such as 500ms, 10s or 2min, in nanoseconds; None if it is not set, or 0."""

    values = "a time such as `500ms`, `10s` or `2min`"
    _units = {"us": 10**3, "ms": 10**6, "": 10**9, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}

    def __init__(
        self, name: str, otherwise: str, sentence: str, group: str, default: int | None = None
    ) -> None:
        super().__init__(name, sentence, group)
        self.otherwise = otherwise
        self.default = default

    def get(self) -> int | None:
        text = self.text()
        if not text:
            return self.default
        value = self._parse(text.lower())
        if value is None:
            problem = f"expected a time such as 500ms, 10s or 2min; using {self.otherwise}"
            complain(self.name, text, problem)
            return self.default
        return value or None

    def _parse(self, text: str) -> int | None:
        digits = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
        unit = self._units.get(text[len(digits) :].strip())
        try:
            value = int(float(digits) * unit) if unit is not None else -1
        except (ValueError, OverflowError):
            return None
        return value if 0 <= value < 1 << 63 else None

    def described_default(self) -> str:
        return self.otherwise


class Text(Knob):
    """Any text, understood by whoever asks for it."""

    def __init__(
        self, name: str, values: str, default: str, otherwise: str, sentence: str, group: str
    ) -> None:
        super().__init__(name, sentence, group)
        self.values = values
        self.default = default
        self.otherwise = otherwise

    def get(self) -> str:
        return self.text() or self.default

    def described_default(self) -> str:
        return self.otherwise


class Folder(Knob):
    """The absolute path of a folder that is written to, or a word that turns it off.

    A relative path would mean another folder in each program, so it is refused.
    """

    values = "an absolute path, or `0`"

    def __init__(self, name: str, otherwise: str, sentence: str, group: str) -> None:
        super().__init__(name, sentence, group)
        self.otherwise = otherwise

    def is_off(self) -> bool:
        return self.text().lower() in _OFF

    def get(self) -> str | None:
        """The path; None if it is not set, turned off or relative."""
        text = self.text()
        if not text or self.is_off():
            return None
        path = os.path.expanduser(text)
        if not os.path.isabs(path):
            problem = f"expected an absolute path, or 0 to turn it off; using {self.otherwise}"
            complain(self.name, text, problem)
            return None
        return os.path.normpath(path)

    def described_default(self) -> str:
        return self.otherwise


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
    otherwise="`0x08c00000`, 35.0.0",
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
    "modules that cannot be built, bugs of the driver. `groundstate run` sets "
    "`serious`.",
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
NVIDIA = Flag(
    "GROUNDSTATE_NVIDIA",
    default=True,
    sentence="Whether system management also lists NVIDIA's GPUs, if `nvidia-ml-py` is installed.",
    group=_DEVICE,
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
COMPILE_APART = Flag(
    "GROUNDSTATE_COMPILE_APART",
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
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_native")
    return LIBRARY.get() or os.path.join(beside, "libze_groundstate.so.1")


def document() -> str:
    """The text of docs/reference/knobs.md."""
    lines = [
        "# Environment variables",
        "",
        "Generated by `python -m groundstate.knobs` from `src/groundstate/knobs.py`.",
        "",
        "The driver reads a variable when it starts. An invalid value is reported once on stderr,",
        "and the default is used.",
    ]
    for group in dict.fromkeys(knob.group for knob in KNOBS):
        lines += ["", f"## {group}", "", "| variable | values | default | meaning |"]
        lines += ["|---|---|---|---|"]
        for knob in KNOBS:
            if knob.group == group:
                lines.append(
                    f"| `{knob.name}` | {knob.values} | {knob.described_default()} "
                    f"| {knob.sentence} |"
                )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(document(), end="")
