"""The README and the pages of docs/, split into what a reader would type.

Every fenced block names its language, and the language says what the tests do with it:

| language | what is done |
|---|---|
| `sh` | each line is a command; it has to succeed |
| `console` | commands after `$ `, and below each of them what it prints; one that shall fail is |
| | followed by `$ echo $?` and its status |
| `python` | runs; a block that imports groundstate starts a program, any other one continues it |
| `c`, `cpp` | is compiled; declarations are looked up in our headers |
| `lua` | runs as a script in front of a program |
| `json`, `ini`, `promql` | is parsed |
| `text tree` | a listing of files: each of them is there |
| `text` | a grammar or a formula: for reading only |
| `text output` | what a program printed; `exceptions.py` says why it is no `console` |
| `{name}` | a directive of the site: test_site.py builds it |
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LANGUAGES = frozenset(
    "sh console python c cpp lua json ini promql text".split()  # noqa: SIM905 (read as a list)
)

_FENCE = re.compile(r"^(?P<indent> *)```(?P<info>.*)\n(?P<text>(?:.*\n)*?)(?P=indent)```$", re.M)
_INLINE = re.compile(r"(?<!`)`(groundstate\s[^`]+)`(?!`)")
_INSTALL = re.compile(r"pip install ([^`\n#]+)")


def name_of(page: Path) -> str:
    """How the tests call a page: `README.md`, or its path below docs/ such as `howto/sycl.md`."""
    return str(page.relative_to(ROOT)).removeprefix("docs/")


@dataclass(frozen=True)
class Block:
    """A fenced block, or a command in the middle of a sentence."""

    page: Path
    line: int
    info: str
    """What follows the three backticks: the language, and a word that tells its kinds apart."""
    text: str
    until_its_end: str
    """The page up to the end of the block: all that a reader has read when they come to run it."""
    rest: str

    @property
    def language(self) -> str:
        """The first word behind the backticks."""
        return self.info.partition(" ")[0]

    @property
    def is_directive(self) -> bool:
        """Whether it is an instruction to the generator of the site."""
        return self.info.startswith("{")

    @property
    def place(self) -> str:
        """Where the block is, such as `docs/howto/python.md:35`."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def installed(self) -> frozenset[str]:
        """What the page has told the reader to install so far: requirements as pip takes them.

        A dot stands for the checkout, and so for this package.
        """
        words = " ".join(_INSTALL.findall(self.until_its_end)).split()
        plain = (word.strip("'\"") for word in words if not re.match("-|.*[A-Z]", word))
        return frozenset(re.sub(r"^\.(?=\[|$)", "groundstate", word) for word in plain)

    @property
    def promised_output(self) -> str | None:
        """What the sentence below a block says that it prints."""
        found = re.match(r"\s*(?:That|It|This) prints `([^`]+)`", self.rest)
        return found[1] if found else None


def _block(page: Path, text: str, found: re.Match[str], info: str, code: str) -> Block:
    line = text.count("\n", 0, found.start()) + 1
    return Block(page, line, info, code, text[: found.end()], text[found.end() :])


def fenced_blocks(page: Path) -> list[Block]:
    """The blocks between lines of three backticks, without the indentation of a list."""
    text = page.read_text(encoding="utf-8")
    blocks = []
    for found in _FENCE.finditer(text):
        code = re.sub(rf"^{found['indent']}", "", found["text"], flags=re.M)
        blocks.append(_block(page, text, found, found["info"].strip(), code))
    return blocks


def inline_commands(page: Path) -> list[Block]:
    """The commands in sentences and tables that are complete: no name alone, no placeholder."""
    text = page.read_text(encoding="utf-8")
    prose = _FENCE.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)
    blocks = []
    for found in _INLINE.finditer(prose):
        command = " ".join(found[1].replace("\\|", "|").split())  # a table has to escape it
        if has_arguments(command) and not has_placeholders(command):
            blocks.append(_block(page, text, found, "sh inline", command + "\n"))
    return blocks


def has_arguments(command: str) -> bool:
    """Whether a command line is more than the name of a command.

    >>> [has_arguments(text) for text in ("groundstate stream calls", "groundstate top --once")]
    [False, True]
    """
    return re.fullmatch(r"groundstate( [a-z]+){0,2}", command) is None


def has_placeholders(command: str) -> bool:
    """Whether something in a command line is to be replaced by the reader.

    >>> has_placeholders("groundstate run -- PROGRAM"), has_placeholders("groundstate run -- ./a")
    (True, False)
    """
    return re.search(r"\.\.\.|…|<\w+>|(?<![\w$-])[A-Z]{3,}(?![\w=])", command) is not None


def parts(page: Path) -> list[Block]:
    """All that a reader of a page may run, from its top to its end."""
    return sorted([*fenced_blocks(page), *inline_commands(page)], key=lambda block: block.line)


@dataclass(frozen=True)
class Command:
    """A command, and what is shown below it."""

    line: int
    text: str
    shown: tuple[str, ...] = ()
    may_fail: bool = False
    """Whether the page goes on to show its status."""


def commands(block: Block) -> list[Command]:
    """The commands of a block of a shell, with the lines that continue them."""
    found: list[Command] = []
    pending, shown = "", []
    for number, line in enumerate(block.text.splitlines(), block.line + 1):
        if block.language == "console" and not pending:
            if not line.startswith("$ "):
                shown.append(line)
                continue
            line = line.removeprefix("$ ")
            if found:
                found[-1] = Command(found[-1].line, found[-1].text, tuple(shown))
            shown = []
        pending += line + "\n"
        if line.endswith("\\"):
            continue
        if pending.strip() and not pending.lstrip().startswith("#"):
            found.append(Command(number, pending.strip()))
        pending = ""
    if found and shown:
        found[-1] = Command(found[-1].line, found[-1].text, tuple(shown))
    followers = [*(each.text for each in found[1:]), ""]
    return [
        replace(each, may_fail=follower == "echo $?")
        for each, follower in zip(found, followers, strict=True)
    ]
