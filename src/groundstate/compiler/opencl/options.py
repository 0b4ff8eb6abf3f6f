"""The options of OpenCL C: which there are, and what clang is told for them.

The options are those of the OpenCL specification's "Compiler Options". One that is not known is
refused with a sentence, because an option that is quietly ignored costs someone an afternoon.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from groundstate.compiler.light_dataclass import field, light_dataclass
from groundstate.printable import printable

INCLUDE_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")
"""Where our own headers are."""

DEFAULT_STANDARD = "CL3.0"

STANDARDS = ("CL1.0", "CL1.1", "CL1.2", "CL2.0", "CL3.0", "CLC++", "CLC++1.0", "CLC++2021")

FLAGS = (
    "-cl-denorms-are-zero",
    "-cl-fast-relaxed-math",
    "-cl-finite-math-only",
    "-cl-fp32-correctly-rounded-divide-sqrt",
    "-cl-kernel-arg-info",
    "-cl-mad-enable",
    "-cl-no-signed-zeros",
    "-cl-no-subgroup-ifp",
    "-cl-opt-disable",
    "-cl-single-precision-constant",
    "-cl-strict-aliasing",
    "-cl-uniform-work-group-size",
    "-cl-unsafe-math-optimizations",
    "-fkeep-accesses",
    "-g",
    "-O0",
    "-O1",
    "-O2",
    "-O3",
    "-w",
    "-Werror",
)
"""The options without a value."""

REASSOCIATING = {"-cl-unsafe-math-optimizations", "-cl-fast-relaxed-math"}
CONTRACTING = {"-cl-mad-enable", *REASSOCIATING}

KEEP_ACCESSES = "-fkeep-accesses"
"""The option for modules from which no access is optimised away; ours, for checked mode."""

WITHOUT_EFFECT = ("-cl-strict-aliasing", "-cl-no-subgroup-ifp", "-O1", "-O2", "-O3")
"""The options that are accepted and change nothing."""

WITH_VALUE = ("-D", "-U", "-I")
"""The options whose value follows, in the same word or the next."""

ABSENT_EXTENSIONS = (
    "cl_amd_media_ops",
    "cl_amd_media_ops2",
    "cl_intel_device_side_avc_motion_estimation",
    "cl_khr_gl_msaa_sharing",
    "cl_khr_mipmap_image",
    "cl_khr_mipmap_image_writes",
    "cl_khr_subgroup_named_barrier",
    "__opencl_c_device_enqueue",
    "__opencl_c_pipes",
)
"""What clang would offer for SPIR-V and the device does not have."""


WARNING = r"-W[a-zA-Z][\w+=-]*"
"""The name of a warning. With a comma, clang would take what follows for anything but that."""

MAX_CHARACTERS = 1 << 16
"""Of all options together: a system runs no program with arguments of any length."""
MOST_SHOWN = 100
"""Characters of an option that is not known."""


class UnknownOptionError(ValueError):
    """An option that OpenCL C does not have."""


@light_dataclass(frozen=False)
class Options:
    """The options of one compilation, understood."""

    standard: str = DEFAULT_STANDARD
    optimise: bool = True
    given: list[str] = field(default_factory=list)
    """What goes to clang as it is."""
    has_lines: bool = False
    """Whether the module says which lines of the source its instructions come from."""
    keeps_accesses: bool = False
    """Whether the module has all accesses of the source, also those that have no effect."""

    @property
    def has_variables(self) -> bool:
        """Whether the module says where the variables of the source are, of which none is
        optimised away then: for debuggers."""
        return self.has_lines and not self.optimise and not self.keeps_accesses

    @property
    def contract(self) -> bool:
        """Whether multiplications and additions may be fused wherever they meet."""
        return not CONTRACTING.isdisjoint(self.given)

    @property
    def reassociates(self) -> bool:
        """Whether sums may be computed in another order. Then no `fma` is written: it would hide
        that, and the compiler of the device fuses what is left."""
        return not REASSOCIATING.isdisjoint(self.given)

    def front_arguments(self) -> list[str]:
        """What clang is told to turn the source into LLVM IR without optimising it."""
        return [
            *self._common_arguments(),
            *("-S", "-emit-llvm", "-O2" if self.optimise else "-O1"),
            "-fno-discard-value-names",  # so that the arguments of kernels have their names
            *(["-g" if self.has_variables else "-gline-tables-only"] if self.has_lines else []),
            *("-Xclang", "-disable-llvm-passes", "-o", "-", "-"),
        ]

    def preprocess_arguments(self) -> list[str]:
        """What clang is told to print the source with everything that it includes."""
        return [*self._common_arguments(), "-E", "-o", "-", "-"]

    def _common_arguments(self) -> list[str]:
        extensions = ",".join(f"-{name}" for name in ABSENT_EXTENSIONS)
        return [
            *("-x", "cl", "--target=spirv64", f"-cl-std={self.standard}"),
            *("-Xclang", f"-cl-ext={extensions}"),
            *("-nostdinc", "-isystem", INCLUDE_FOLDER),
            *("-fno-color-diagnostics", "-Wno-unused-command-line-argument"),
            *self.given,
            *(["-ffp-contract=off"] if self.reassociates else []),
        ]


def parse(words: Sequence[str] | str) -> Options:
    """Understands options given as words, or as one text of words with blanks between.

    >>> parse("-cl-std=CL1.2 -D SIZE=16 -cl-mad-enable").given
    ['-DSIZE=16', '-cl-mad-enable']
    """
    options = Options()
    if isinstance(words, str):
        words = split(words)
    if sum(map(len, words)) > MAX_CHARACTERS:
        raise UnknownOptionError(f"the options have more than {MAX_CHARACTERS} characters")
    remaining = iter(words)
    for word in remaining:
        _take(options, word, remaining)
    return options


def is_option(word: str) -> bool:
    """Whether a word is one of these options, with its value if it has one."""
    return bool(
        word[:2] in WITH_VALUE
        or word.startswith("-cl-std=")
        or word in FLAGS
        or re.fullmatch(WARNING, word)
    )


def split(text: str) -> list[str]:
    """The words of a text, in which blanks may stand between quotation marks."""
    import shlex

    if len(text) > MAX_CHARACTERS:
        raise UnknownOptionError(f"the options have more than {MAX_CHARACTERS} characters")
    try:
        return shlex.split(text)
    except ValueError as problem:
        raise UnknownOptionError(f"the options cannot be read: {problem}") from None


def _take(options: Options, word: str, following: Iterator[str]) -> None:
    if "\0" in word:
        raise UnknownOptionError(f"{printable(word[:MOST_SHOWN])} contains a zero byte")
    if word[:2] in WITH_VALUE:
        value = word[2:] or next(following, "")
        if not value or "\0" in value:
            raise UnknownOptionError(f"option {word[:2]} needs a value without a zero byte")
        options.given.append(word[:2] + value)
    elif word.startswith("-cl-std="):
        options.standard = _standard(word.removeprefix("-cl-std="))
    elif word == "-cl-opt-disable" or word == "-O0":
        options.optimise = False
    elif word == "-g":
        options.has_lines = True
    elif word == KEEP_ACCESSES:
        options.keeps_accesses = True
    elif word in WITHOUT_EFFECT:
        return
    elif word in FLAGS or re.fullmatch(WARNING, word):
        options.given.append(word)
    else:
        shown = word if len(word) <= MOST_SHOWN else word[:MOST_SHOWN] + "..."
        raise UnknownOptionError(f"there is no option {shown!r}{_suggestion(shown)}")


def _standard(name: str) -> str:
    for standard in STANDARDS:
        if standard.lower() == name.lower():
            return standard
    shown = printable(name[:MOST_SHOWN])
    raise UnknownOptionError(f"-cl-std={shown}: the standards are {', '.join(STANDARDS)}")


def _suggestion(word: str) -> str:
    import difflib  # only for who made a mistake

    near = difflib.get_close_matches(word, [*FLAGS, "-cl-std=CL3.0", "-D", "-I"], n=1)
    return f"; did you mean {near[0]}?" if near else ""
