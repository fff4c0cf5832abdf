"""Options of code for GPUs, on one: libdevice, approximations, kept PTX, line tables. Skipped without a CUDA device."""

import contextlib
import math
from typing import Any, Callable, Iterator

import numpy as np
import pytest
import warp as wp
from warp._src.session import gpu_options

pytestmark = pytest.mark.skipif(not wp.is_cuda_available(), reason="there is no CUDA device")

N = 20000


@pytest.fixture(autouse=True)
def on_cuda() -> Iterator[None]:
    with wp.ScopedDevice("cuda:0"):
        yield
    wp.synchronize()


@contextlib.contextmanager
def setting(name: str, value: Any) -> Iterator[None]:
    before = getattr(wp.config, name)
    setattr(wp.config, name, value)
    try:
        yield
    finally:
        setattr(wp.config, name, before)


def _unary(function: Any, scalar: Any, **options: Any) -> Any:
    @wp.kernel(module="unique", **options)
    def kernel(x: wp.array(dtype=scalar), y: wp.array(dtype=scalar)):
        i = wp.tid()
        y[i] = function(x[i])

    return kernel


def run(function: Any, scalar: Any, values: np.ndarray, device: str = "cuda:0", **options: Any) -> np.ndarray:
    x = wp.array(values, dtype=scalar, device=device)
    y = wp.zeros(len(values), dtype=scalar, device=device)
    wp.launch(_unary(function, scalar, **options), dim=len(values), inputs=[x], outputs=[y], device=device)
    return y.numpy()


def ulps(a: np.ndarray, b: np.ndarray) -> float:
    """The largest distance in units of the last place; not-a-number is equal to itself."""
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(all="ignore"):
        distance = np.abs(a.astype(np.longdouble) - b.astype(np.longdouble)) / np.spacing(np.abs(b))
    return float(np.max(np.where(same, 0, distance)))


# Where values are taken from, and how far libdevice may be from ours: the sum of the two stated errors.
DOMAINS: dict[str, tuple[float, float, int, int]] = {
    "sin": (-30, 30, 3, 3),
    "cos": (-30, 30, 3, 3),
    "tan": (-30, 30, 5, 4),
    "asin": (-1, 1, 5, 4),
    "acos": (-1, 1, 5, 4),
    "atan": (-50, 50, 4, 4),
    "sinh": (-20, 20, 5, 4),
    "cosh": (-20, 20, 4, 4),
    "tanh": (-5, 5, 4, 4),
    "exp": (-80, 80, 4, 3),
    "log": (1e-30, 1e30, 4, 3),
    "log2": (1e-30, 1e30, 4, 3),
    "log10": (1e-30, 1e30, 5, 3),
    "cbrt": (-1e3, 1e3, 4, 3),
    "erf": (-4, 4, 5, 5),
    "erfc": (-3, 5, 8, 8),
    "erfinv": (-0.99, 0.99, 8, 10),
    "erfcinv": (0.01, 1.99, 10, 12),
}


def _values(name: str, dtype: type) -> np.ndarray:
    low, high, *_ = DOMAINS[name]
    random = np.random.default_rng(3)
    if low > 0 and high / low > 1e6:
        return np.exp(random.uniform(math.log(low), math.log(high), N)).astype(dtype)
    return random.uniform(low, high, N).astype(dtype)


@pytest.mark.skipif(not gpu_options.find_libdevice(), reason="there is no libdevice")
@pytest.mark.parametrize("name", DOMAINS)
def test_libdevice_agrees(name: str) -> None:
    for scalar, dtype, most in ((wp.float32, np.float32, DOMAINS[name][2]), (wp.float64, np.float64, DOMAINS[name][3])):
        values = _values(name, dtype)
        ours = run(getattr(wp, name), scalar, values)
        theirs = run(getattr(wp, name), scalar, values, cuda_libdevice=True)
        assert ulps(theirs, ours) <= most, scalar


@pytest.mark.parametrize("name", DOMAINS)
def test_own_functions_are_those_of_the_cpu(name: str) -> None:
    odd = [0.0, -0.0, 1.0, -1.0, 2.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 1e-45, 3e38, -3e38, 86.9, 87.0]
    odd += [88.7, 89.0, -86.9, -87.0, -87.4, -88.0, -103.0, -103.98, -104.1, 1.17549435e-38, 1.1754942e-38]
    odd += [0.5, 1e5, 1e10]
    values = np.concatenate([_values(name, np.float32), np.array(odd * 8, dtype=np.float32)])
    on_gpu, on_cpu = (run(getattr(wp, name), wp.float32, values, device) for device in ("cuda:0", "cpu"))
    assert ulps(on_gpu, on_cpu) == 0
    alone = np.array(odd, dtype=np.float32)  # fewer than a group of neighbours
    for one in alone:
        value = np.array([one])
        assert ulps(run(getattr(wp, name), wp.float32, value), run(getattr(wp, name), wp.float32, value, "cpu")) == 0


# Absolute and relative errors that docs/gpus.md states for the GPU's approximations.
FAST: list[tuple[str, Callable, float, float, float, float]] = [
    ("sin", np.sin, -math.pi, math.pi, 1e-6, 0),
    ("cos", np.cos, -math.pi, math.pi, 1e-6, 0),
    ("tan", np.tan, -1.2, 1.2, 1e-5, 0),
    ("exp", np.exp, -20, 20, 0, 3e-6),
    ("log", np.log, 0.01, 100, 1e-6, 1e-6),
    ("log2", np.log2, 0.01, 100, 1e-6, 1e-6),
    ("log10", np.log10, 0.01, 100, 1e-6, 1e-6),
    ("tanh", np.tanh, -4, 4, 1e-3, 1e-3),
    ("sqrt", np.sqrt, 0.01, 100, 0, 1e-6),
]


@pytest.mark.parametrize("case", FAST, ids=[case[0] for case in FAST])
def test_fast_math_errors(case: tuple) -> None:
    name, exact, low, high, absolute, relative = case
    values = np.random.default_rng(2).uniform(low, high, N).astype(np.float32)
    found = run(getattr(wp, name), wp.float32, values, fast_math=True)
    np.testing.assert_allclose(found, exact(values.astype(np.float64)), rtol=relative, atol=absolute)


def test_fast_powers() -> None:
    @wp.kernel(module="unique", fast_math=True)
    def power(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
        i = wp.tid()
        z[i] = wp.pow(x[i], y[i])

    x = np.array([2, 2, -2, -2, -2, 0, 0, 9, 0.5, -1.5], dtype=np.float32)
    y = np.array([3, -1, 2, 3, 0.5, 0, 2, 0.5, 10, 4], dtype=np.float32)
    z = wp.zeros(len(x))
    wp.launch(power, dim=len(x), inputs=[wp.array(x), wp.array(y), z])
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(z.numpy(), np.power(x, y), rtol=1e-5)


def _double() -> wp.Kernel:
    @wp.kernel(module="unique")
    def double(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = 2.0 * x[i]

    return double


@pytest.mark.parametrize("arch", [None, 75, 80])
def test_ptx_output(arch: int | None) -> None:
    x = wp.ones(100)
    with setting("cuda_output", "ptx"), setting("ptx_target_arch", arch):
        kernel = _double()
        wp.launch(kernel, dim=100, inputs=[x])
        again = _double()  # from the cache
        wp.launch(again, dim=100, inputs=[x])
    assert (x.numpy() == 4.0).all()


def test_ptx_for_newer_devices_is_refused() -> None:
    with setting("cuda_output", "ptx"), setting("ptx_target_arch", 999), pytest.raises(Exception, match="sm_999"):
        wp.launch(_double(), dim=1, inputs=[wp.ones(1)])


def test_line_info() -> None:
    x = wp.ones(100)
    with setting("lineinfo", True):
        wp.launch(_double(), dim=100, inputs=[x])
    assert (x.numpy() == 2.0).all()


def test_atomics_on_arrays_that_may_be_private() -> None:
    @wp.kernel(module="unique")
    def count(out: wp.array(dtype=wp.float16), n: int):
        i = wp.tid()
        own = wp.zeros(shape=4, dtype=wp.float16)
        other = wp.zeros(shape=4, dtype=wp.float16)
        for k in range(n):
            if i % 2 == 0:
                wp.atomic_add(own, k % 4, wp.float16(1.0))
            else:
                wp.atomic_add(other, k % 4, wp.float16(2.0))
        out[i] = own[0] + other[0]

    out = wp.zeros(64, dtype=wp.float16)
    wp.launch(count, dim=64, inputs=[out, 9])
    assert out.numpy().astype(np.float32).tolist() == [3.0, 6.0] * 32
