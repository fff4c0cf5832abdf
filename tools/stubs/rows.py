"""Builtin rows as stubs: one overload per row, its type words as type variables and classes of the stubs."""

from __future__ import annotations

import keyword
import re
from collections import Counter

SIGNATURE = re.compile(r"(?P<name>\w+)\((?P<params>.*)\) -> (?P<result>.+)")
EXTENT = re.compile(r"[A-Z]\d?")
VARIABLE = re.compile(r"(?P<kind>[TSIF])(?P<number>\d?)")
# What stands for a variable that occurs once: there is nothing to tie it to.
LOOSE = {"T": "Any", "S": "_AnyNumber", "I": "_AnyInt", "F": "_AnyFloat"}
PLAIN = {"int": "_b.int", "float": "_b.float", "bool": "_b.bool", "str": "_b.str", "None": "None", "B": "_Condition"}
SCALARS = {"int32": "_b.int", "float32": "_b.float"}
STRUCTS: set[str] = set()  # of the library: rows name them as they are
CLASSES = {"vec": "Vector", "mat": "Matrix", "quat": "Quaternion", "transform": "Transformation"}


def split(text: str) -> list[str]:
    """The parts between commas that stand in no brackets."""
    parts, depth, word = [], 0, ""
    for char in text:
        depth += (char in "[(") - (char in "])")
        if char == "," and depth == 0:
            parts.append(word.strip())
            word = ""
        else:
            word += char
    return [*parts, word.strip()] if word.strip() else parts


class Signature:
    """One row's first line, taken apart."""

    def __init__(self, text: str) -> None:
        match = SIGNATURE.fullmatch(text)
        if match is None:
            raise ValueError(f"not a signature: {text}")
        # A component is a number, whatever letter the row has for it.
        component = re.search(r"(?:vec|mat|quat|transform)\[(?:\w+,)*(T\d?)\]", text)
        if component is not None:
            match = SIGNATURE.fullmatch(re.sub(rf"\b{component[1]}\b", component[1].replace("T", "S"), text))
            assert match is not None
        self.name = match["name"]
        self.result = match["result"]
        self.params: list[tuple[str, str, bool]] = []  # name, type words, has a default
        for part in split(match["params"]):
            name, _, words = part.partition(":")
            words, equals, _ = words.partition("=")
            self.params.append((name.strip(), words.strip(), bool(equals)))
        everything = " ".join([*(words for _, words, _ in self.params), self.result])
        self.count = Counter(re.findall(r"\b[A-Z]\d?\b", everything))
        self.bound = set(re.findall(r"\b[A-Z]\d?\b", " ".join(words for _, words, _ in self.params)))

    def extent(self, word: str) -> str:
        """A length: a number, a variable that ties lengths together, or anything."""
        if word.isdigit():
            return f"Literal[{word}]"
        return f"_{word}" if word in "NRCK" and self.count[word] > 1 and word in self.bound else "Any"

    def type(self, words: str) -> str:
        """The stub's type for type words."""
        head, bracket, rest = words.partition("[")
        if bracket:
            inner = split(rest.rpartition("]")[0])
            if head == "ref":
                return self.type(inner[0])
            if head == "array":
                return f"array[{self.type(inner[0])}, {f'Literal[{inner[1]}]' if len(inner) > 1 else 'Any'}]"
            if head == "tuple":
                return f"tuple[{', '.join(map(self.type, inner))}]"
            if head in CLASSES:
                return f"{CLASSES[head]}[{', '.join([self.type(inner[-1]), *map(self.extent, inner[:-1])])}]"
            return "Any"
        if words.startswith("("):
            return f"tuple[{', '.join(map(self.type, split(words[1:-1])))}]"
        variable = VARIABLE.fullmatch(words)
        if variable:
            if self.count[words] < 2 or words not in self.bound:
                return LOOSE[variable["kind"]]
            return f"_{words}"
        if words in STRUCTS:
            return words
        if words in PLAIN or words in SCALARS:
            return PLAIN.get(words) or SCALARS[words]
        return words if re.fullmatch(r"(u?int|b?float)\d+", words) else "Any"

    def parameter(self, name: str, words: str, has_default: bool) -> str:
        """A parameter as the stub writes it."""
        if name == "dtype":
            variable = f"_{words}" if VARIABLE.fullmatch(words) and self.count[words] > 1 else "Any"
            kind = f"type[{variable}]"
        else:
            kind = self.type(words)
            if re.fullmatch(r"u?int\d+", kind):
                kind += " | _b.int"
        spelled = name + "_" if keyword.iskeyword(name) else name
        return f"{spelled}: {kind}" + (" = ..." if has_default else "")

    def definition(self) -> str:
        """The function's head without the word def."""
        params = ", ".join(self.parameter(*param) for param in self.params)
        return f"{self.name}({params}) -> {self.type(self.result)}"


def function(name: str, rows: list[tuple[str, str]]) -> str:
    """The stub of a builtin from its rows (signature, documentation)."""
    seen: dict[str, str] = {}
    for signature, doc in rows:
        seen.setdefault(Signature(signature).definition(), doc)
    # A bool is an int to type checkers: rows for bools come before those for integers.
    seen = dict(sorted(seen.items(), key=lambda item: "_b.bool," not in item[0]))
    decorator = "@_overload\n" if len(seen) > 1 else ""
    return "".join(f"{decorator}def {definition}:\n    {docstring(doc)}\n" for definition, doc in seen.items())


def docstring(text: str, indent: str = "    ") -> str:
    """A docstring whose further lines stand at an indent."""
    lines = [line.rstrip() for line in text.strip().replace("\\", "\\\\").replace('"""', "'''").split("\n")]
    if len(lines) == 1:
        return f'"""{lines[0]}{" " if lines[0].endswith(chr(34)) else ""}"""'
    return f'"""' + "\n".join([lines[0], *(indent + line if line else "" for line in lines[1:]), f'{indent}"""'])
