"""Values of the domains that rows name; src/builtins/row.h lists the words."""

from __future__ import annotations

import itertools
import zlib

import numpy as np
from kinds import is_float, special_values, storage, stored, widened
from rotation_reference import random_quats, to_matrix
from signatures import Instance, Value

COUNT = 61  # no multiple of a number of lanes: the last ones are idle
TUPLES = 100
WILD = 22
SORTED = 37
MARGIN = 0.05  # of a range at either end where slopes are compared


def ends_of(domain: str) -> tuple[float, float]:
    low, high = domain.strip("[]").split(",")
    return float(low), float(high)


def is_wide(domain: str) -> bool:
    """A range of many sizes."""
    low, high = ends_of(domain) if domain.startswith("[") else (0.0, 0.0)
    return low > 0 and high > 1000 * low


def within(value: Value, domain: str, count: int, rng: np.random.Generator, smooth: bool) -> np.ndarray:
    """Numbers of a range. A quarter of the floats are multiples of one half; or, to be smooth, they keep off the ends."""
    low, high = ends_of(domain)
    shape = (count, *value.shape)
    if value.kind == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if not is_float(value.kind):
        info = np.iinfo(storage(value.kind))
        return rng.integers(max(int(low), info.min), min(int(high), info.max), shape, endpoint=True).astype(info.dtype)
    if is_wide(domain):
        return stored(np.exp(rng.uniform(np.log(low), np.log(high), shape)), value.kind)
    margin = MARGIN * (high - low) if smooth else 0.0
    values = rng.uniform(low + margin, high - margin, shape)
    if not smooth:
        nice = np.clip(np.round(values * 2) / 2, low, high)
        values = np.where(rng.random(shape) < 0.25, nice, values)
    return stored(values, value.kind)


def anything(value: Value, count: int, rng: np.random.Generator) -> np.ndarray:
    """Special values among ordinary ones; a composite often has none."""
    shape = (count, *value.shape)
    special = rng.choice(special_values(value.kind), shape)
    if value.kind == "bool" or not is_float(value.kind):
        return special
    share = 0.7 if not value.shape else 0.5 / np.prod(value.shape)
    return np.where(rng.random(shape) < share, special, stored(rng.uniform(-10, 10, shape), value.kind))


def matrices(value: Value, domain: str, count: int, rng: np.random.Generator) -> np.ndarray:
    n = value.shape[0]
    if domain in ("rotation", "scaled"):
        m = to_matrix(random_quats(rng, count))
        if domain == "scaled":
            m = m * rng.uniform(0.2, 4, (count, 1, 3))
        if n == 4:
            large = np.zeros((count, 4, 4))
            large[:, :3, :3], large[:, :3, 3], large[:, 3, 3] = m, rng.uniform(-10, 10, (count, 3)), 1
            m = large
        return m
    m = rng.uniform(-10, 10, (count, n, n))
    if domain == "symmetric":
        return m + m.transpose(0, 2, 1)
    # Far from singular: all singular values between 1 and 3.
    u, _, v = np.linalg.svd(m)
    return u * rng.uniform(1, 3, (count, 1, n)) @ v


def draw(value: Value, domain: str, count: int, rng: np.random.Generator, smooth: bool = False) -> np.ndarray:
    """That many values of a domain, as arrays store them."""
    if domain.startswith("sorted"):
        flat = within(Value("scalar", (), value.kind), domain[7:], SORTED, rng, smooth)
        order = np.argsort(widened(flat, value.kind), kind="stable")
        return flat[order]
    if domain.startswith("["):
        return within(value, domain, count, rng, smooth)
    if domain == "any":
        return anything(value, count, rng)
    if domain == "bool":
        bits = rng.integers(0, 2, (count, *value.shape))
        return bits.astype(storage(value.kind)) if not is_float(value.kind) else stored(bits, value.kind)
    if domain == "state":
        return rng.integers(0, 2**32, count, dtype=np.uint32)
    if domain == "out":
        return np.zeros((count, *value.shape), dtype=storage(value.kind))
    if domain == "unit_vec":
        v = rng.normal(size=(count, *value.shape))
        return stored(v / np.linalg.norm(v, axis=1, keepdims=True), value.kind)
    if domain == "unit_quat":
        return stored(random_quats(rng, count), value.kind)
    if domain == "transform":
        return stored(np.concatenate([rng.uniform(-10, 10, (count, 3)), random_quats(rng, count)], axis=1), value.kind)
    return stored(matrices(value, domain, count, rng), value.kind)


def takes_special_values(instance: Instance) -> bool:
    """Rows of numbers alone."""
    return all(
        value.form == "scalar" and param.domain[0] == "[" and not param.by_reference
        for value, param in zip(instance.params, instance.row.params)
    )


def samples(instance: Instance, count: int = COUNT, smooth: bool = False) -> list[np.ndarray]:
    """Values for each parameter; unless they should be smooth, followed by special ones.

    Where a row takes special values they are combined; elsewhere floats are anything, for the executors to agree upon.
    """
    rng = np.random.default_rng(zlib.crc32(instance.name.encode()))
    pairs = list(zip(instance.params, instance.row.params))
    given = [draw(value, param.domain, count, rng, smooth) for value, param in pairs]
    if smooth:
        return given
    if takes_special_values(instance):
        lists = [special_values(value.kind) for value in instance.params]
        tuples = list(itertools.product(*lists))
        if len(tuples) > TUPLES:
            tuples = [tuples[i] for i in rng.choice(len(tuples), TUPLES, replace=False)]
        extra = [np.array(column, dtype=g.dtype) for column, g in zip(zip(*tuples), given)]
    else:
        wild = [is_float(value.kind) and value.form != "array" and param.domain != "out" for value, param in pairs]
        extra = [
            anything(value, WILD, rng) if anyhow else draw(value, param.domain, WILD, rng)
            for (value, param), anyhow in zip(pairs, wild)
        ]
    return [
        g if value.form == "array" else np.concatenate([g, e]) for g, e, value in zip(given, extra, instance.params)
    ]
