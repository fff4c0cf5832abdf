"""Functions whose bodies divide by numbers of which it is known that they are neither small nor large (ir/tame.h): the same bits on
every device, and results that are as near as the others', ends of the range included."""

import numpy as np
import pytest
import warp as wp


@wp.kernel
def functions(x: wp.array(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    out[0, i] = wp.tanh(x[i])
    out[1, i] = wp.sinh(x[i])
    out[2, i] = wp.cosh(x[i])
    out[3, i] = wp.tan(x[i])
    out[4, i] = wp.pow(wp.abs(x[i]), 1.25)


@wp.kernel
def quotients(x: wp.array(dtype=float), y: wp.array(dtype=float), out: wp.array2d(dtype=float)):
    i = wp.tid()
    out[0, i] = wp._tame_quotient(x[i], y[i])
    out[1, i] = wp._tame_quotient(1.0, y[i])


@wp.kernel
def in_tiles(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    wp.tile_store(y, wp.tile_map(wp.tanh, wp.tile_load(x, shape=256, offset=i * 256)), offset=i * 256)


def numbers() -> np.ndarray:
    random = np.random.default_rng(11)
    bits = random.integers(0, 2**32, 6000, dtype=np.uint32).view(np.float32)  # of all sizes, and none
    halves = (np.arange(-200, 200) * (np.pi / 4)).astype(np.float32)  # where tangents are small and large
    ends = np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1.1754944e-38, 3.4e38, 88.7, 89.4159, 89.416, 16.0, 2.4414062e-4])
    near = np.concatenate([np.nextafter(halves, np.float32(9e9)), np.nextafter(halves, np.float32(-9e9))])
    plain = random.normal(0.0, 3.0, 3000).astype(np.float32)
    return np.concatenate([bits, halves, near, ends, plain])[: 40 * 256]


def on(device, x: np.ndarray) -> np.ndarray:
    out = wp.zeros((5, x.size), dtype=float, device=device)
    wp.launch(functions, dim=x.size, inputs=[wp.array(x, device=device), out], device=device)
    return out.numpy()


def test_results_are_within_a_unit(device):
    x = numbers()
    found = on(device, x)
    with np.errstate(all="ignore"):
        exact = x.astype(np.float64)
        wanted = [np.tanh(exact), np.sinh(exact), np.cosh(exact), np.tan(exact), np.abs(exact) ** 1.25]
        for name, got, want in zip(("tanh", "sinh", "cosh", "tan", "pow"), found, wanted):
            rounded = want.astype(np.float32)
            np.testing.assert_array_equal(np.isnan(got), np.isnan(rounded), err_msg=name)
            there = np.isfinite(rounded) & (np.abs(rounded) > 1e-37)
            units = np.abs(got[there].astype(np.float64) - want[there]) / np.spacing(np.abs(rounded[there])).astype(np.float64)
            assert units.max() <= 1.0, (name, x[there][units.argmax()], units.max())
            edge = ~there & ~np.isnan(rounded)
            np.testing.assert_allclose(got[edge], rounded[edge], rtol=0, atol=2e-45, err_msg=name)


def test_quotients_are_rounded(device):
    random = np.random.default_rng(5)
    sizes = [2.0 ** random.uniform(low, high, 20000) for low, high in ((-90, 60), (-60, 30))]
    x, y = ((size * random.choice([-1.0, 1.0], 20000)).astype(np.float32) for size in sizes)
    x[::100], y[::100] = 0.0, np.abs(y[::100])  # nothing divided by negative numbers has any sign
    out = wp.zeros((2, x.size), dtype=float, device=device)
    wp.launch(quotients, dim=x.size, inputs=[wp.array(x, device=device), wp.array(y, device=device), out], device=device)
    np.testing.assert_array_equal(out.numpy().view(np.uint32), np.stack([x / y, np.float32(1.0) / y]).view(np.uint32))


def test_devices_have_the_same_bits(device):
    if device.is_cpu:
        pytest.skip("compares another device with the CPU")
    x = numbers()
    here, there = on("cpu", x).view(np.uint32), on(device, x).view(np.uint32)
    none = np.isnan(here.view(np.float32))
    np.testing.assert_array_equal(np.where(none, 0, here), np.where(none, 0, there))


def test_tiles_have_the_same_bits(device):
    x = numbers()
    x = x[: x.size // 256 * 256]
    y = wp.zeros(x.size, dtype=float, device=device)
    wp.launch_tiled(in_tiles, dim=x.size // 256, inputs=[wp.array(x, device=device), y], block_dim=64, device=device)
    want = on("cpu", x)[0]
    np.testing.assert_array_equal(np.nan_to_num(y.numpy(), nan=7.0).view(np.uint32), np.nan_to_num(want, nan=7.0).view(np.uint32))
