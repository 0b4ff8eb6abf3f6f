"""`groundstate completion`: prints a script that teaches a shell the commands and their options."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterator

from groundstate.cli.command_tree import Command, Option, command_tree
from groundstate.cli.commands import COMMANDS, make_parser

DESCRIPTION = """\
Prints a script with which bash, zsh or fish complete the commands of groundstate, their options and
the values of these. It is made from the parser of the commands, so it fits this version.
"""

EXAMPLES = """\
examples:
  eval "$(groundstate completion bash)"               in this shell; in ~/.bashrc for all
  groundstate completion zsh > _groundstate           for a folder of zsh's fpath
  groundstate completion fish | source                in this shell, fish
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `completion` to the commands."""
    parser = subparsers.add_parser(
        "completion",
        help=COMMANDS["completion"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", metavar="SHELL", choices=SCRIPTS, help="bash, zsh or fish")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints the script."""
    print("\n".join(SCRIPTS[args.shell](command_tree(make_parser()))))
    return 0


def names_of(command: Command) -> list[str]:
    """The words that may follow a command: those below it, and its options."""
    below = [child.words[-1] for child in command.children]
    return [*below, *(name for option in command.options for name in option.names)]


def options_with_choices(command: Command) -> Iterator[tuple[str, Option]]:
    """The options of which it is known what may follow."""
    for option in command.options:
        for name in option.names:
            if option.choices:
                yield name, option


# --- bash and zsh ---------------------------------------------------------------------------------

PATH = """\
    local word at=groundstate
    for word in {words}; do
        case "$at $word" in
            {commands}) at="$at $word" ;;
            *' --') return ;;
        esac
    done"""


def path_lines(tree: Command, words: str) -> Iterator[str]:
    """Lines that find out which command the words before the cursor have named."""
    commands = "|".join(
        shlex.quote(" ".join(each.words)) for each in tree.all() if each is not tree
    )
    yield PATH.format(words=words, commands=commands)


def bash(tree: Command) -> Iterator[str]:
    """The script for bash: other words than these are completed as files."""
    yield "# bash completion for groundstate, printed by 'groundstate completion bash'."
    yield "_groundstate() {"
    yield '    local current="${COMP_WORDS[COMP_CWORD]}" words='
    yield '    local previous="${COMP_WORDS[COMP_CWORD-1]}"'
    yield '    if [ "$current" = = ]; then current=; elif [ "$previous" = = ]; then'
    yield '        previous="${COMP_WORDS[COMP_CWORD-2]}"'
    yield "    fi"
    yield from path_lines(tree, '"${COMP_WORDS[@]:1:COMP_CWORD-1}"')
    yield '    case "$at $previous" in'
    for command in tree.all():
        for name, option in options_with_choices(command):
            key = shlex.quote(" ".join([*command.words, name]))
            yield f"        {key}) words={shlex.quote(' '.join(option.choices))} ;;"
    yield '        *) case "$at" in'
    for command in tree.all():
        key = shlex.quote(" ".join(command.words))
        yield f"            {key}) words={shlex.quote(' '.join(names_of(command)))} ;;"
    yield "        esac ;;"
    yield "    esac"
    yield '    COMPREPLY=($(compgen -W "$words" -- "$current"))'
    yield "}"
    yield "complete -o bashdefault -o default -F _groundstate groundstate"


def zsh(tree: Command) -> Iterator[str]:
    """The script for zsh, with what each word means."""
    yield "#compdef groundstate"
    yield "# zsh completion for groundstate, printed by 'groundstate completion zsh'."
    yield "_groundstate() {"
    yield "    local -a names"
    yield '    local previous="${words[CURRENT-1]}"'
    yield from path_lines(tree, '"${(@)words[2,CURRENT-1]}"')
    yield '    case "$at $previous" in'
    for command in tree.all():
        for name, option in options_with_choices(command):
            key = shlex.quote(" ".join([*command.words, name]))
            values = " ".join(map(shlex.quote, option.choices))
            yield f"        {key}) compadd -- {values}; return ;;"
    yield "    esac"
    yield '    case "$at" in'
    for command in tree.all():
        key = shlex.quote(" ".join(command.words))
        described = [(child.words[-1], child.summary) for child in command.children]
        described += [(name, each.sentence) for each in command.options for name in each.names]
        pairs = (shlex.quote(f"{name}:{short(sentence)}") for name, sentence in described)
        yield f"        {key}) names=({' '.join(pairs)}) ;;"
    yield "    esac"
    yield '    case "${words[CURRENT]}" in'
    yield "        -*) _describe -o option names ;;"
    yield "        *) [[ -n ${names[(r)[^-]*]} ]] && _describe command names || _files ;;"
    yield "    esac"
    yield "}"
    yield 'if [ "${funcstack[1]}" = _groundstate ]; then _groundstate "$@"; else'
    yield "    compdef _groundstate groundstate"
    yield "fi"


# --- fish -----------------------------------------------------------------------------------------

FISH_PATH = """\
function __groundstate_at
    set -l at groundstate
    for word in (commandline -opc)[2..]
        contains -- $word --; and return 1
        contains -- "$at $word" {commands}; and set at "$at $word"
    end
    test "$at" = "$argv"
end"""


def fish(tree: Command) -> Iterator[str]:
    """The script for fish."""
    yield "# fish completion for groundstate, printed by 'groundstate completion fish'."
    known = (fish_quoted(" ".join(each.words)) for each in tree.all() if each is not tree)
    yield FISH_PATH.format(commands=" ".join(known))
    for command in tree.all():
        path = " ".join(command.words)
        start = f"complete -c groundstate -n {fish_quoted(f'__groundstate_at {path}')}"
        for child in command.children:
            yield f"{start} -f -a {child.words[-1]} -d {fish_quoted(child.summary)}"
        for option in command.options:
            yield f"{start} {fish_option(option)}"


def fish_option(option: Option) -> str:
    """The words that describe an option to fish."""
    words = []
    for name in option.names:
        kind = "-l" if name.startswith("--") else "-s" if len(name) == 2 else "-o"
        words += [kind, name.lstrip("-")]
    if option.choices:
        words += ["-x", "-a", fish_quoted(" ".join(option.choices))]
    elif option.value:
        words.append("-r")
    return " ".join([*words, "-d", fish_quoted(short(option.sentence))])


def fish_quoted(text: str) -> str:
    """A text in fish's single quotes, in which only \\ and ' are special."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def short(sentence: str) -> str:
    """What fits beside an option: the beginning of its help."""
    return sentence.partition(";")[0].partition(" (")[0].replace(":", ",")


SCRIPTS: dict[str, Callable[[Command], Iterator[str]]] = {"bash": bash, "zsh": zsh, "fish": fish}
