"""Options of `@wp.kernel`: names, bounds of launches, what is refused where it is written."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp


def counting(**options: object) -> wp.Kernel:
    @wp.kernel(**options)
    def count(x: wp.array(dtype=float)):
        i = wp.tid()
        for k in range(x.shape[0] % 7):
            x[i] = x[i] + 1.0

    return count


def run(kernel: wp.Kernel, **how: object) -> None:
    x = wp.zeros(1000, dtype=float)
    wp.launch(kernel, 1000, [x], **how)
    assert np.all(x.numpy() == 1000 % 7)


@pytest.mark.parametrize("bounds", [64, (64,), (64, 4), [64, 1], (64, 2, 1)])
def test_launch_bounds(bounds, device):
    kernel = counting(launch_bounds=bounds)
    run(kernel)
    run(kernel, block_dim=64)
    run(kernel, block_dim=17)
    if device.is_cpu:  # blocks have no meaning there
        run(kernel, block_dim=128)
        return
    with pytest.raises(ValueError, match="kernel 'count': a block has 1 to 64 threads here, block_dim is 128"):
        run(kernel, block_dim=128)
    assert wp.get_suggested_block_size(kernel)[0] <= 64
    run(counting(), block_dim=128)


def test_bounds_hold_for_the_way_back(device):
    @wp.kernel(launch_bounds=32)
    def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * x[i]

    x, y = wp.full(100, 3.0, requires_grad=True), wp.zeros(100, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(square, 100, [x], [y])
    y.grad.fill_(1.0)
    tape.backward()
    assert np.all(x.grad.numpy() == 6.0)


def test_registers(device):
    @wp.kernel(cuda_max_registers=24)
    def few(x: wp.array(dtype=wp.mat44), y: wp.array(dtype=wp.mat44)):
        i = wp.tid()
        y[i] = x[i] * wp.transpose(x[i]) * x[i]

    x = wp.full(10, wp.identity(4, dtype=float), dtype=wp.mat44)
    y = wp.zeros_like(x)
    wp.launch(few, 10, [x, y])
    assert np.all(y.numpy() == np.eye(4))
    if device.is_cuda:
        assert wp.get_cuda_kernel_properties(few)["register_count"] <= 24


@pytest.mark.parametrize(
    "options, error",
    [
        ({"launch_bounds": 0}, ValueError),
        ({"launch_bounds": -1}, ValueError),
        ({"launch_bounds": 2048}, ValueError),
        ({"launch_bounds": ()}, ValueError),
        ({"launch_bounds": (1, 2, 3, 4)}, ValueError),
        ({"launch_bounds": (128, 0)}, ValueError),
        ({"launch_bounds": 3.5}, TypeError),
        ({"launch_bounds": "x"}, TypeError),
        ({"launch_bounds": True}, TypeError),
        ({"cuda_max_registers": 0}, ValueError),
        ({"cuda_max_registers": 3.5}, TypeError),
        ({"cuda_max_registers": 32, "launch_bounds": 128}, ValueError),
        ({"cluster_dim": 17}, ValueError),
        ({"cluster_dim": (1, 2)}, TypeError),
        ({"enable_cuda_smem_spilling": "x"}, TypeError),
        ({"no_such_option": 3}, TypeError),
        ({"module_options": 3}, TypeError),
    ],
)
def test_refused(options, error):
    with pytest.raises(error, match="|".join([*options, "each number of launch_bounds"])):
        wp.kernel(**options)


def test_names_and_options_of_a_module():
    kernel = counting(name="other", module_options={"fast_math": True}, cluster_dim=2, grid_stride=True)
    assert kernel.key == "other" and kernel.options["fast_math"] is True
    run(kernel)


def test_enable_backward_off(device: wp.Device, capfd: pytest.CaptureFixture) -> None:
    @wp.kernel(enable_backward=False, name=f"silent_{device.alias[:3]}")  # what was said once is not said again
    def silent(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * 2.0

    @wp.kernel(enable_backward=False, name=silent.key)
    def other(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = x[i] * 3.0

    x, y = wp.ones(5, requires_grad=True), wp.zeros(5, requires_grad=True)
    for kernel, times in ((silent, 1), (silent, 0), (other, 1)):  # kernels of one name are told apart by their places
        with wp.Tape() as tape:
            wp.launch(kernel, 5, [x], [y])
        capfd.readouterr()
        tape.backward(grads={y: wp.ones(5)})
        said = "".join(capfd.readouterr())
        assert said.count("enable_backward=False") == said.count(f"'{silent.key}' (") == times
    assert not x.grad.numpy().any()


def test_whose_option_keeps_a_tape_from_going_back(device: wp.Device, capfd: pytest.CaptureFixture) -> None:
    """The warning says whether it is the kernel's own option or its module's."""

    @wp.kernel(enable_backward=False, name=f"own_{device.alias[:3]}")  # what was said once is not said again
    def own(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[wp.tid()] = x[wp.tid()] * 2.0

    @wp.kernel(module="unique", name=f"of_module_{device.alias[:3]}")
    def of_module(x: wp.array(dtype=float), y: wp.array(dtype=float)):
        y[wp.tid()] = x[wp.tid()] * 3.0

    of_module.module.options["enable_backward"] = False
    for kernel, said in ((own, "is configured with"), (of_module, "is defined in a module with")):
        x, y = wp.ones(2, dtype=float, requires_grad=True), wp.zeros(2, dtype=float, requires_grad=True)
        with wp.Tape() as tape:
            wp.launch(kernel, dim=2, inputs=[x], outputs=[y])
        tape.backward(grads={y: wp.ones(2, dtype=float)})
        heard = capfd.readouterr()
        assert f"{said} the option 'enable_backward=False'" in heard.out + heard.err


@wp.kernel(fast_math=True)
def what_is_infinite(x: wp.array(dtype=float), out: wp.array(dtype=int)):
    i = wp.tid()
    if not wp.isinf(x[i]) and not wp.isnan(x[i]):
        out[i] = 1


def test_infinite_numbers_stay_so_with_fast_math(device):
    out = wp.zeros(4, dtype=int, device=device)
    values = wp.array([1.0, float("inf"), float("-inf"), float("nan")], dtype=float, device=device)
    wp.launch(what_is_infinite, 4, [values, out], device=device)
    assert out.numpy().tolist() == [1, 0, 0, 0]
