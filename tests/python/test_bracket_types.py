"""Types written with brackets: Vector[float, Literal[3]], wp.array[float, Literal[2]], tuple[int, ...]."""

from __future__ import annotations

import typing
from typing import Any, Literal, TypeVar

import numpy as np
import pytest
import warp as wp
from warp._src.kernels.definitions import kernel_from_text
from warp.types import Matrix, Quaternion, Transformation, Vector

pytestmark = pytest.mark.cpu_only


def test_they_are_the_types_of_the_factories() -> None:
    assert Vector[float, Literal[3]] is wp.vec3f is Vector[wp.float32, 3] is wp.types.vector(3, wp.float32)
    assert Vector[wp.float64, 5] is wp.types.vector(5, wp.float64)
    assert Matrix[float, Literal[2], Literal[4]] is wp.types.matrix((2, 4), wp.float32)
    assert Quaternion[wp.float64] is wp.quatd and Transformation[float] is wp.transformf


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Vector[float], "requires 2 parameters"),
        (lambda: Matrix[float, 3], "requires 3 parameters"),
        (lambda: Quaternion[float, 4], "requires 1 parameter "),
        (lambda: Vector[float, 0], "positive integer"),
        (lambda: Vector[float, -1], "positive integer"),
        (lambda: Vector[float, True], "positive integer"),
        (lambda: Matrix[float, 2, 1.5], "positive integer"),
        (lambda: Vector[float, Literal[2, 3]], "Expected a single Literal value"),
        (lambda: wp.vec3[float, 3], "takes no parameters"),
        (lambda: wp.array[float, Literal[1, 2]], "Expected a single Literal value"),
        (lambda: wp.array[float, "x"], "ndim must be an integer"),
        (lambda: wp.array2d[float, Literal[2]], "single type parameter"),
    ],
)
def test_what_is_no_type(make: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        make()


def test_ranks_out_of_range() -> None:
    with pytest.raises(ValueError, match="ndim must be between 1 and 4"):
        wp.array[float, 5]


def test_type_variables_are_left_to_the_typing_module() -> None:
    T, N = TypeVar("T"), TypeVar("N", bound=int)
    assert typing.get_origin(Vector[T, N]) is Vector and typing.get_args(Vector[T, N]) == (T, N)


def test_ranks_of_arrays() -> None:
    assert wp.array[float].ndim == 1 and wp.array[float, Literal[3]].ndim == 3 and wp.array[float, 2].ndim == 2
    assert wp.indexedarray[float, Literal[2]].ndim == 2 and wp.indexedarray[float].dtype is wp.float32
    anything = wp.array[float, Any]
    assert anything.ndim is Any and anything.shape == ()


V3 = Vector[float, Literal[3]]
BRACKETS = """
@wp.func
def weight(v: Vector[float, {three}], m: Matrix[float, {two}, {two}], q: Quaternion[float], t: Transformation[float]):
    return v[2] * m[1, 1] + q[3] + wp.transform_get_translation(t)[0]

@wp.func
def length(v: Vector[Any, Any]):
    return len(v)

@wp.func
def any_rank(a: wp.array[float, Any]):
    return a.ndim

@wp.func
def total(values: tuple[int, ...]):
    out = int(0)
    for i in range(wp.static(len(values))):
        out += values[i]
    return out

@wp.func
def total(values: Tuple[float, ...]):
    return values[0]

@wp.kernel
def run(a: wp.array[V3], b: wp.array[float, {two}], out: wp.array[float]):
    q = wp.quat(0.0, 0.0, 0.0, 1.0)
    t = wp.transform(wp.vec3(5.0, 0.0, 0.0), q)
    out[0] = weight(a[0], wp.mat22(1.0, 2.0, 3.0, 4.0), q, t)
    out[1] = float(length(a[0]) * 10 + length(wp.vec2d()))
    out[2] = float(any_rank(b) * 10 + any_rank(out))
    out[3] = float(total((1,)) * 100 + total((2, 3, 4)))
    out[4] = total((0.5, 0.25))
"""


@pytest.mark.parametrize("three", ["3", "Literal[3]", "typing.Literal[3]"])
@pytest.mark.parametrize("future", [False, True])
def test_kernels_take_them(three: str, future: bool, tmp_path: Any) -> None:
    head = "from __future__ import annotations\n" if future else ""
    names = "import typing\nfrom typing import Any, Literal, Tuple\nimport warp as wp\n"
    names += "from warp.types import Matrix, Quaternion, Transformation, Vector\nV3 = Vector[float, 3]\n"
    path = tmp_path / "brackets.py"
    path.write_text(head + names + BRACKETS.format(three=three, two=three.replace("3", "2")))
    import importlib.util

    spec = importlib.util.spec_from_file_location("brackets", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    out = wp.zeros(5, dtype=float)
    a = wp.array([wp.vec3(1.0, 2.0, 3.0)], dtype=wp.vec3)
    wp.launch(module.run, dim=1, inputs=[a, wp.zeros((2, 2), dtype=float), out])
    assert out.numpy().tolist() == [18.0, 32.0, 21.0, 109.0, 0.5]


def test_a_kernel_for_arrays_of_every_rank() -> None:
    text = "@wp.kernel\ndef rank(a: wp.array[float, Any], out: wp.array[int]):\n    out[0] = a.ndim\n"
    kernel = kernel_from_text(text, "rank", {"wp": wp, "Any": Any})
    for shape in ((2,), (2, 3), (1, 2, 3)):
        out = wp.zeros(1, dtype=int)
        wp.launch(kernel, dim=1, inputs=[wp.array(np.zeros(shape, dtype=np.float32)), out])
        assert out.numpy()[0] == len(shape)


def test_fixed_arrays_are_annotations() -> None:
    kind = wp.fixedarray(shape=(2, 3), dtype=int)
    assert isinstance(kind, wp.array) and kind.shape == (2, 3) and kind.ndim == 2 and kind.dtype is wp.int32

    @wp.func
    def filled() -> wp.fixedarray(shape=(2, 3), dtype=int):
        made = wp.zeros(shape=(2, 3), dtype=int)
        for i in range(made.shape[0]):
            for j in range(made.shape[1]):
                made[i][j] = i * made.shape[1] + j
        return made

    @wp.kernel
    def run(out: wp.array2d(dtype=int)):
        made = filled()
        for i in range(2):
            for j in range(3):
                out[i, j] = made[i, j]

    out = wp.zeros((2, 3), dtype=int)
    wp.launch(run, dim=1, inputs=[out])
    assert out.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]


def test_extents_of_tiles_as_type_checkers_want_them():
    made = wp.tile[float, Literal[8], Literal[4]]
    assert made.shape == (8, 4) and made.ndim == 2 and wp.tile[float, Literal[8], Any].shape == (8, Any)
    assert made.dtype is wp.float32
    assert wp.types.get_type_code(made) == "tl8x4f4" and wp.types.get_type_code(wp.tile[float]) == "tl?f4"
    with pytest.raises(ValueError, match="numbers from 1 to 65536"):
        wp.tile[float, Literal[8, 4]]
    with pytest.raises(TypeError, match="at least a dtype"):
        wp.tile[()]

    @wp.func
    def doubled(t: wp.tile[float, Literal[8], Literal[4]]):
        return t + t

    @wp.kernel
    def launched(x: wp.array2d(dtype=float)):
        wp.tile_store(x, doubled(wp.tile_load(x, shape=(8, 4))))

    x = wp.ones((8, 4), dtype=float, device="cpu")
    wp.launch_tiled(launched, dim=[1], inputs=[x], block_dim=32, device="cpu")
    assert np.all(x.numpy() == 2.0)
