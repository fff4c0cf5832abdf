"""wp.zeros, empty, zeros_like, empty_like, clone, from_numpy and array.numpy: the usual requests that C++ serves by itself, and
what it hands on to Python, give the same."""

import gc
import inspect
import pickle

import numpy as np
import pytest

import warp as wp


@wp.struct
class MadePair:
    a: float
    b: wp.vec3


SHAPES = [0, 5, (2, 3), [4, 1], (1, 2, 3, 4), np.int64(3)]
DTYPES = [float, int, bool, wp.float64, wp.uint8, wp.float16, wp.vec3, wp.mat22d, wp.quatf, wp.transformf, np.float32]
DEVICES = [{}, {"device": None}, {"device": "cpu"}, {"device": "".join(["c", "pu"])}, {"device": wp.get_device("cpu")}]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.__name__)
@pytest.mark.cpu_only("names it in every way")
def test_new_arrays_by_every_spelling(dtype):
    for shape in SHAPES:
        for place in DEVICES:
            made = wp.zeros(shape, dtype=dtype, **place)
            assert type(made) is wp.array and made.device == "cpu" and not made.requires_grad
            assert made.shape == (tuple(shape) if isinstance(shape, (tuple, list)) else (int(shape),))
            assert not made.numpy().any() and made.is_contiguous
            other = wp.empty(shape=shape, dtype=dtype, requires_grad=dtype in (float, wp.vec3), **place)
            assert other.shape == made.shape and other.dtype is made.dtype
            assert other.requires_grad == (dtype in (float, wp.vec3))


def test_defaults_and_positions():
    assert wp.zeros(3).dtype is wp.float32
    made = wp.zeros((2, 2), int, "cpu", False)
    assert made.dtype is wp.int32 and made.shape == (2, 2)
    assert wp.zeros(3, float, None, True).requires_grad
    assert wp.zeros(n=4).shape == (4,) and wp.zeros(dtype=float).shape == (0,)
    assert wp.zeros(3, dtype=float, retain_grad=True, requires_grad=True).retain_grad


@pytest.mark.parametrize("maker", [wp.zeros, wp.empty])
def test_mistakes_name_the_argument(maker):
    with pytest.raises(TypeError, match="colour"):
        maker(3, colour=1)
    with pytest.raises(TypeError, match="dtype"):
        maker(3, float, dtype=int)
    with pytest.raises(ValueError, match="non-negative"):
        maker(-1, device="cpu")
    with pytest.raises(TypeError, match="integer"):
        maker("three")
    with pytest.raises((TypeError, RuntimeError)):
        maker(3, dtype="float")
    with pytest.raises((TypeError, RuntimeError)):
        maker(3, dtype=[])
    with pytest.raises(ValueError, match="nowhere"):
        maker(3, device="nowhere")
    with pytest.raises(RuntimeError, match="1 to 4"):
        maker((1, 1, 1, 1, 1))
    with pytest.raises(TypeError):
        maker(1, 2, 3, 4, 5, 6, 7, 8)


def test_structs_go_the_careful_way():
    made = wp.zeros(3, dtype=MadePair, device="cpu")
    assert made.dtype is MadePair and made.numpy()["a"].tolist() == [0, 0, 0]
    assert wp.zeros_like(made).dtype is MadePair and wp.clone(made).dtype is MadePair
    made[1] = MadePair()
    assert wp.clone(made, device="cpu").numpy().dtype == made.numpy().dtype


@pytest.mark.parametrize("place", DEVICES)
def test_like_and_clone(place):
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    source = wp.array(values, dtype=wp.vec3, device="cpu", requires_grad=True)
    source.grad.fill_(2.0)
    zeros, empty, copy = wp.zeros_like(source, **place), wp.empty_like(source, **place), wp.clone(source, **place)
    assert all(one.requires_grad and one.dtype is wp.vec3 and one.shape == (4,) for one in (zeros, empty, copy))
    assert not zeros.numpy().any() and not zeros.grad.numpy().any()
    assert (copy.numpy() == values).all() and (copy.grad.numpy() == 2.0).all()
    assert copy.ptr != source.ptr and copy.grad.ptr != source.grad.ptr
    assert not wp.clone(source, requires_grad=False, **place).requires_grad
    assert wp.zeros_like(wp.zeros(3), requires_grad=True, **place).requires_grad
    columns = wp.array(values)[:, 1]
    assert (wp.clone(columns, **place).numpy() == values[:, 1]).all() and wp.clone(columns).is_contiguous
    assert wp.clone(wp.zeros(0)).shape == (0,)
    assert wp.clone(source, retain_grad=True).retain_grad


def test_like_and_clone_refuse_what_is_no_array():
    for maker in (wp.zeros_like, wp.empty_like, wp.clone):
        with pytest.raises(TypeError, match="expected a wp.array"):
            maker(np.zeros(3))
        with pytest.raises(TypeError, match="src"):
            maker()


def test_classes_derived_from_array_are_read():
    class Mine(wp.array):
        pass

    mine = Mine([1.0, 2.0], dtype=float)
    assert type(wp.clone(mine)) is wp.array and wp.clone(mine).numpy().tolist() == [1.0, 2.0]
    assert mine.numpy().tolist() == [1.0, 2.0]


def test_clone_is_recorded():
    x = wp.array([3.0], dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        y = wp.clone(x)
    y.grad.fill_(5.0)
    tape.backward()
    assert x.grad.numpy().tolist() == [5.0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8, np.int64, np.float16, np.bool_])
def test_from_numpy_finds_the_type(dtype):
    for shape, kind in (((4,), "scalar"), ((4, 3), "vec"), ((4, 2, 2), "mat")):
        values = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        for place in DEVICES:
            made = wp.from_numpy(values, **place)
            assert made._element.kind == kind and made.shape == (4,)
            assert (made.numpy() == values).all() and made.numpy().dtype == values.dtype


def test_from_numpy_with_a_type():
    values = np.arange(6, dtype=np.float64)
    made = wp.from_numpy(values, dtype=float, device="cpu", requires_grad=True)
    assert made.dtype is wp.float32 and made.requires_grad and made.numpy().tolist() == values.tolist()
    assert wp.from_numpy(values.reshape(2, 3), dtype=wp.vec3d, device="cpu").shape == (2,)
    assert wp.from_numpy(values.reshape(2, 3), dtype=wp.float64).shape == (2, 3)
    assert wp.from_numpy(values, shape=(2, 3)).shape == (2, 3)
    assert wp.from_numpy(values[::-2]).numpy().tolist() == values[::-2].tolist()
    assert wp.from_numpy(values.astype(">f8")).numpy().tolist() == values.tolist()
    made = wp.from_numpy(values)
    values[0] = 7.0
    assert made.numpy()[0] == 0.0  # a copy
    with pytest.raises((RuntimeError, TypeError)):
        wp.from_numpy(np.array([object()]))


def test_numpy_shows_the_memory():
    made = wp.zeros((2, 3), dtype=wp.mat22, device="cpu")
    seen = made.numpy()
    assert seen.shape == (2, 3, 2, 2) and seen.flags.writeable and seen.flags.aligned and seen.flags.c_contiguous
    assert not seen.flags.owndata and seen.ctypes.data == made.ptr
    seen[1, 2, 0, 1] = 5.0
    assert made[1, 2][0, 1] == 5.0
    part = made.transpose()[::-1, :1]
    assert part.numpy().strides[:2] == part.strides and part.numpy().shape == (3, 1, 2, 2)
    del made, part
    gc.collect()
    assert seen[1, 2, 0, 1] == 5.0
    assert wp.zeros(0).numpy().shape == (0,) and wp.zeros((2, 0), dtype=wp.vec3).numpy().shape == (2, 0, 3)
    assert wp.zeros(2, dtype=wp.bfloat16).numpy().shape == (2,)
    assert seen.dtype == np.float32 and wp.zeros(1, dtype=wp.int64).numpy().dtype == np.int64
    with pytest.raises(TypeError):
        wp.zeros(2).numpy(1)


def test_numpy_outlives_a_reshaped_array():
    made = wp.zeros(6)
    seen = made.numpy()
    made.shape = (2, 3)
    assert made.numpy().shape == (2, 3)
    made.ptr = None
    seen[:] = 1.0
    assert seen.sum() == 6.0


@pytest.mark.parametrize("name", ["zeros", "empty", "zeros_like", "empty_like", "clone", "from_numpy"])
def test_they_look_like_functions(name):
    maker = getattr(wp, name)
    assert maker.__name__ == name and maker.__doc__ and pickle.loads(pickle.dumps(maker)) is maker
    assert {"device", "requires_grad"} <= set(inspect.signature(maker).parameters)
    with pytest.raises(TypeError):
        maker(device="cpu", nonsense=1)


def test_scopes_choose_the_device():
    with wp.ScopedDevice("cpu"):
        assert wp.zeros(3).device == "cpu" and wp.from_numpy(np.zeros(3)).device == "cpu"
        assert wp.array(np.zeros(3), dtype=float).device == "cpu"
