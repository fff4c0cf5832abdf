"""Rotations in NumPy float64, written from their definitions, and calls of builtins over whole arrays."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import numpy as np

import warp as wp
from warp._src.kernels.definitions import kernel_from_text
from warp._src.values import types as wt

SCALARS = (wp.float16, wp.float32, wp.float64)
TOLERANCE = {wp.float16: 2e-2, wp.float32: 4e-6, wp.float64: 1e-13}


def singular_quats() -> np.ndarray:
    """Unit quaternions on the lattice {-1, 0, 1}⁴: no rotation, half and quarter turns about axes, diagonals; both signs."""
    lattice = np.array([q for q in itertools.product((-1.0, 0.0, 1.0), repeat=4) if any(q)])
    return lattice / np.linalg.norm(lattice, axis=1, keepdims=True)


def random_quats(rng: np.random.Generator, count: int) -> np.ndarray:
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def all_quats(seed: int = 0) -> np.ndarray:
    """Singular orientations, their neighbours at several distances, and random ones."""
    rng = np.random.default_rng(seed)
    singular = singular_quats()
    near = [singular + rng.normal(size=singular.shape) * 10.0**-k for k in (2, 4, 6, 8, 12)]
    q = np.concatenate([singular, *near, random_quats(rng, 500)])
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def multiply(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    av, aw, bv, bw = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    return np.concatenate(
        [aw * bv + bw * av + np.cross(av, bv), aw * bw - np.sum(av * bv, axis=-1, keepdims=True)], axis=-1
    )


def about(axis: np.ndarray, angle: np.ndarray) -> np.ndarray:
    half = np.asarray(angle)[..., None] / 2
    return np.concatenate([axis * np.sin(half), np.cos(half) + 0 * axis[..., :1]], axis=-1)


def about_axis(index: int, angle: np.ndarray) -> np.ndarray:
    return about(np.broadcast_to(np.eye(3)[index], (*np.shape(angle), 3)), angle)


def rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    u, w = q[..., :3], q[..., 3:]
    return v + 2 * np.cross(u, np.cross(u, v) + w * v)


def to_matrix(q: np.ndarray) -> np.ndarray:
    return np.stack([rotate(q, np.broadcast_to(e, q[..., :3].shape)) for e in np.eye(3)], axis=-1)


def same_rotation(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distance of unit quaternions that may differ in sign."""
    return np.minimum(np.abs(a - b).max(axis=-1), np.abs(a + b).max(axis=-1))


@functools.lru_cache(maxsize=None)
def _kernel(name: str, inputs: tuple[type, ...], outputs: tuple[type, ...]) -> wp.Kernel:
    params = [f"a{i}: wp.array(dtype=A{i})" for i in range(len(inputs))]
    params += [f"o{i}: wp.array(dtype=R{i})" for i in range(len(outputs))]
    results = ", ".join(f"r{i}" for i in range(len(outputs)))
    lines = ["t = wp.tid()", f"{results} = wp.{name}({', '.join(f'a{i}[t]' for i in range(len(inputs)))})"]
    lines += [f"o{i}[t] = r{i}" for i in range(len(outputs))]
    source = f"@wp.kernel\ndef k({', '.join(params)}):\n    " + "\n    ".join(lines) + "\n"
    space = {"wp": wp, **{f"A{i}": c for i, c in enumerate(inputs)}, **{f"R{i}": c for i, c in enumerate(outputs)}}
    return kernel_from_text(source, "k", space)


def typed(values: np.ndarray, cls: type) -> wp.array:
    scalar = wt.dtype_to_numpy(getattr(cls, "_wp_scalar_type_", cls))
    return wp.array(np.ascontiguousarray(values).astype(scalar), dtype=cls)


def rounded(values: np.ndarray, scalar: type) -> np.ndarray:
    """What an array of this type holds of the values, in float64."""
    return np.asarray(values).astype(wt.dtype_to_numpy(scalar)).astype(np.float64)


def call(name: str, inputs: list[tuple[np.ndarray, type]], *outputs: type) -> Any:
    """A builtin over arrays, by a kernel at all lanes; results in float64 (integers stay)."""
    arrays = [typed(values, cls) for values, cls in inputs]
    results = [wp.zeros(len(arrays[0]), dtype=cls) for cls in outputs]
    kernel = _kernel(name, tuple(cls for _, cls in inputs), outputs)
    wp.launch(kernel, len(arrays[0]), [*arrays, *results])
    values = [r.numpy() if r.numpy().dtype.kind == "i" else r.numpy().astype(np.float64) for r in results]
    return values[0] if len(values) == 1 else values
