"""The words of a kernel's text, and types among them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TypeVar

from groundstate.compiler.spirv import types
from groundstate.compiler.spirv.types import (
    STORAGE_WORDS,
    Array,
    Float,
    FunctionType,
    Image,
    Int,
    Opaque,
    Pipe,
    Pointer,
    RuntimeArray,
    SampledImage,
    Struct,
    Type,
    Vector,
)

T = TypeVar("T")

TOKEN = re.compile(
    r'\s*("(?:[^"\\]|\\.)*"|struct\.\d+\.\d+|%\d+|\d+\.\d+|-?0x[0-9a-f]+|-?\d+|[A-Za-z_][\w.]*|\S)'
)
STORAGES = {word: number for number, word in STORAGE_WORDS.items()}
SIMPLE = {"void": types.Void, "bool": types.Bool} | {
    each.__name__: each
    for each in (
        *(types.Event, types.DeviceEvent, types.ReserveId, types.Queue),
        *(types.PipeStorage, types.NamedBarrier, types.Sampler),
    )
}


class ParseError(ValueError):
    """The text is not that of a kernel."""


class TypeParser:
    """Reads tokens of one line after the other, and types."""

    def __init__(self) -> None:
        self.line = ""
        self.tokens: list[str] = []
        self.position = 0
        self.structs: dict[str, Struct] = {}
        self._owners: dict[str, object] = {}
        self._bodies: dict[str, str] = {}
        self._forward: dict[str, Pointer] = {}
        self._unsettled: dict[str, str] = {}

    # --- Tokens ---------------------------------------------------------------------------------

    def read(self, line: str) -> None:
        """Begins with a line."""
        self.line, self.position = line, 0
        self.tokens = [match.group(1) for match in TOKEN.finditer(line.rstrip())]

    @property
    def is_at_end(self) -> bool:
        """True behind the last token."""
        return self.position >= len(self.tokens)

    def peek(self) -> str:
        """The next token."""
        if self.is_at_end:
            raise ParseError(f"{self.line}: something is missing at the end")
        return self.tokens[self.position]

    def take(self) -> str:
        """The next token, which is then read."""
        token = self.peek()
        self.position += 1
        return token

    def accept(self, token: str) -> bool:
        """Reads a token if it is the next."""
        if not self.is_at_end and self.tokens[self.position] == token:
            self.position += 1
            return True
        return False

    def expect(self, token: str) -> None:
        """Reads a token that has to be there."""
        if not self.accept(token):
            found = "the end" if self.is_at_end else repr(self.peek())
            raise ParseError(f"{self.line}: {token!r} is expected, and there is {found}")

    def number(self) -> int:
        """An integer."""
        token = self.take()
        try:
            return int(token, 0)
        except ValueError:
            raise ParseError(f"{self.line}: {token!r} is no number") from None

    def string(self) -> str:
        """A string in quotes."""
        token = self.take()
        if not token.startswith('"'):
            raise ParseError(f"{self.line}: {token!r} is no string")
        return str(json.loads(token))

    def several(self, read: Callable[[], T], end: str = "") -> list[T]:
        """Things with commas between them, up to a token that ends them."""
        found: list[T] = []
        if end and self.accept(end):
            return found
        while True:
            found.append(read())
            if not self.accept(","):
                break
        if end:
            self.expect(end)
        return found

    # --- Types ----------------------------------------------------------------------------------

    def declare(self, bodies: dict[str, str]) -> None:
        """Takes what structures consist of."""
        self._bodies = bodies
        for name in bodies:
            self._struct(name)
        for text, pointee in self._unsettled.items():
            self._forward[text].settle_pointee(self._type_of(pointee))

    def type(self) -> Type:
        """A type."""
        kind = self._simple_type()
        while not self.is_at_end and (count := re.fullmatch(r"x(\d+)", self.peek())):
            self.take()
            kind = Vector(kind, int(count[1]))
        return kind

    def _simple_type(self) -> Type:
        token = self.peek()
        if token == "[":
            return self._array()
        if token == "forward":
            return self._forward_pointer()
        if token in STORAGES or token.isdecimal():
            return self._pointer()
        self.take()
        if token.startswith("struct."):
            return self._struct(token)
        found = re.fullmatch(r"(void|bool|bf16|[uif]\d+)(?:x(\d+))?", token)
        if found is not None:
            kind = _scalar(found[1])
            return kind if found[2] is None else Vector(kind, int(found[2]))
        if token in SIMPLE:
            return SIMPLE[token]()
        return self._constructed(token)

    def _constructed(self, token: str) -> Type:
        self.expect("(")
        if token == "function":
            result, *parameters = self.several(self.type, ")")
            return FunctionType(result, tuple(parameters))
        if token == "float":
            width, encoding = self.several(self.number, ")")
            return Float(width, encoding)
        kind: Type
        if token == "SampledImage":
            kind = SampledImage(self.type())
        elif token == "Pipe":
            kind = Pipe(self.number())
        elif token == "Opaque":
            kind = Opaque(self.string())
        elif token == "Image":
            sampled = self.type()
            self.expect(",")
            fields = self.several(lambda: None if self.accept("none") else self.number())
            kind = Image(sampled, *fields)  # type: ignore[arg-type]
        else:
            raise ParseError(f"{self.line}: {token!r} is no type")
        self.expect(")")
        return kind

    def _array(self) -> Type:
        self.expect("[")
        length = None if self.accept("?") else self.number()
        self.expect("x")
        element = self.type()
        self.expect("]")
        return RuntimeArray(element) if length is None else Array(element, length)

    def _pointer(self) -> Pointer:
        word = self.take()
        storage = STORAGES[word] if word in STORAGES else int(word)
        pointee = None if self.accept("?") else self.type()
        self.expect("*")
        return Pointer(storage, pointee)

    def _forward_pointer(self) -> Pointer:
        """A pointer that may lead to what is not known yet."""
        start = self.position
        self.expect("forward")
        word = self.take()
        inner = self.position
        depth = 0
        while self.peek() != "*" or depth:
            depth += {"[": 1, "(": 1, "]": -1, ")": -1}.get(self.take(), 0)
        pointee = " ".join(self.tokens[inner : self.position])
        self.expect("*")
        text = " ".join(self.tokens[start : self.position])
        if text not in self._forward:
            storage = STORAGES[word] if word in STORAGES else int(word)
            self._forward[text] = Pointer(storage, None, forward=True)
            self._unsettled[text] = pointee
        return self._forward[text]

    def _struct(self, name: str) -> Struct:
        if name not in self.structs:
            if name not in self._bodies:
                raise ParseError(f"{name} is not declared")
            state = self.line, self.tokens, self.position
            self.read(self._bodies[name])
            self.expect("{")
            members = tuple(self.several(self.type, "}"))
            packed = self.accept("packed")
            self.expect("align")
            align = self.number()
            self.line, self.tokens, self.position = state
            _, owner, identifier = name.split(".")
            home = self._owners.setdefault(owner, object())
            self.structs[name] = Struct(int(identifier), members, packed, align, home)
        return self.structs[name]

    def _type_of(self, text: str) -> Type:
        state = self.line, self.tokens, self.position
        self.read(text)
        kind = self.type()
        self.line, self.tokens, self.position = state
        return kind


def _scalar(word: str) -> Type:
    if word in SIMPLE:
        return SIMPLE[word]()
    if word == "bf16":
        return Float(16, 0)
    width = int(word[1:])
    return Float(width) if word[0] == "f" else Int(width, word[0] == "i")
