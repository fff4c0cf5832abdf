"""Builtin rows as instances to test: each overload, for each scalar type that its type words allow."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from kinds import FLOATS, INTEGERS

from warp import _weft

NUMBERS = INTEGERS + FLOATS
CHOICES = {"F": FLOATS, "I": INTEGERS, "S": NUMBERS, "B": ("bool", *NUMBERS)}
EXTENTS = {"N": 3, "R": 2, "C": 3, "K": 4}
# An overload for any size comes after those for fixed sizes; this one is none of them.
OTHER_EXTENT = 5
PLAIN = {"int": "int32", "float": "float32"}


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


@dataclass(frozen=True)
class Value:
    """The type of a parameter or result: a form, its shape, its scalar type."""

    form: str  # scalar, vec, mat, quat, transform, array
    shape: tuple[int, ...]
    kind: str

    def spelled(self) -> str:
        """As an annotation."""
        scalar = f"wp.{self.kind}"
        if self.form in ("scalar", "array"):
            return scalar
        if self.form == "vec":
            return f"wp.types.vector({self.shape[0]}, {scalar})"
        if self.form == "mat":
            return f"wp.types.matrix({self.shape}, {scalar})"
        return f"wp.types.{'quaternion' if self.form == 'quat' else 'transformation'}({scalar})"


@dataclass
class Param:
    name: str
    words: str
    domain: str
    by_reference: bool
    differentiable: bool


@dataclass
class Row:
    """One overload as its row has it."""

    name: str
    key: str  # "lerp(F, F, F)"
    params: list[Param]
    results: list[str]  # type words
    sample: str


@dataclass
class Instance:
    """A row for one choice of types."""

    row: Row
    kinds: dict[str, str]
    params: list[Value]
    returns: list[Value]
    updated: list[int] = field(default_factory=list)  # parameters that are results too

    @property
    def name(self) -> str:
        kinds = "-".join(self.kinds.values()) or "fixed"
        return f"{self.row.key}:{kinds}"

    @property
    def of_numbers(self) -> bool:
        """No vectors, matrices or arrays go in."""
        return all(value.form == "scalar" for value in self.params)

    @property
    def results(self) -> list[Value]:
        return self.returns + [self.params[i] for i in self.updated]


def all_rows() -> list[Row]:
    rows = []
    for name in _weft.builtin_names():
        gradients = _weft.builtin_gradients(name)
        for (signature, _, sample), differentiable in zip(_weft.builtin_rows(name), gradients):
            rows.append(read_row(signature, sample, differentiable))
    return rows


def read_row(signature: str, sample: str, differentiable: tuple[bool, ...]) -> Row:
    match = re.fullmatch(r"(\w+)\((.*?)\) -> (.+)", signature)
    assert match is not None, signature
    domains = [] if sample.startswith("none") else split(sample)
    params = []
    for i, part in enumerate(split(match[2])):
        name, _, words = part.partition(":")
        words = words.partition("=")[0].strip()
        by_reference = words.startswith("ref[")
        words = words[4:-1] if by_reference else words
        params.append(Param(name.strip(), words, domains[i] if domains else "none", by_reference, differentiable[i]))
    key = f"{match[1]}({', '.join(p.words for p in params)})"
    result = match[3]
    results = [] if result == "None" else split(result[1:-1]) if result.startswith("(") else [result]
    return Row(match[1], key, params, results, sample)


def value_of(words: str, kinds: dict[str, str], extents: dict[str, int]) -> Value:
    """Type words with their variables filled in."""
    head, bracket, rest = words.partition("[")
    if not bracket:
        bound = kinds.get(words)
        if isinstance(bound, Value):
            return bound
        return Value("scalar", (), bound or PLAIN.get(words, words))
    inner = split(rest.rpartition("]")[0])
    if head == "array":
        return Value("array", (), value_of(inner[0], kinds, extents).kind)
    kind = value_of(inner[-1], kinds, extents).kind
    shape = {"quat": (4,), "transform": (7,)}.get(head)
    if shape is None:
        shape = tuple(int(e) if e.isdigit() else extents[e] for e in inner[:-1])
    return Value(head, shape, kind)


# What stands for T ("any type") in rows that pass values through.
ANY = [Value("scalar", (), kind) for kind in ("bool", *NUMBERS)] + [
    Value("vec", (3,), "float32"),
    Value("vec", (2,), "uint8"),
    Value("mat", (2, 3), "float64"),
    Value("quat", (4,), "float16"),
    Value("transform", (7,), "float32"),
]


def choices(row: Row) -> list[dict]:
    """What the type variables of a row may stand for."""
    variables = sorted({v for p in row.params for v in re.findall(r"\b[TSIFB]\b", p.words)})
    if not variables:
        return [{}]
    if variables == ["T"]:
        return [{"T": value} for value in ANY]
    if variables == ["B", "T"]:
        floats = Value("scalar", (), "float32")
        return [{"B": "bool", "T": value} for value in ANY] + [{"B": kind, "T": floats} for kind in NUMBERS]
    assert len(variables) == 1, row.key
    return [{variables[0]: kind} for kind in CHOICES[variables[0]]]


def fixed_shapes(row: Row, rows: list[Row]) -> bool:
    """True if another overload takes a fixed size where this one takes any."""
    square = [p for p in row.params if "mat[N,N," in p.words]
    return bool(square) and any(re.search(r"mat\[3,3,", o.key) for o in rows if o.name == row.name)


def instances() -> list[Instance]:
    """Every row that computes, for every scalar type."""
    rows = all_rows()
    made = []
    for row in rows:
        if row.sample.startswith("none"):
            continue
        extents = dict(EXTENTS, N=OTHER_EXTENT) if fixed_shapes(row, rows) else EXTENTS
        for kinds in choices(row):
            params = [value_of(p.words, kinds, extents) for p in row.params]
            returns = [value_of(words, kinds, extents) for words in row.results]
            updated = [i for i, p in enumerate(row.params) if p.by_reference]
            names = {k: v.spelled() if isinstance(v, Value) else v for k, v in kinds.items()}
            made.append(Instance(row, names, params, returns, updated))
    return made
