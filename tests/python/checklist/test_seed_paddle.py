"""The interoperability document on Paddle. The programs that it prints run in tests/python/frameworks/test_paddle_documents.py."""

import subprocess
import sys

import numpy as np
import pytest

import warp as wp


@pytest.fixture
def paddle():
    return pytest.importorskip("paddle", reason="paddle is not installed (make test-frameworks installs it)")


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@pytest.mark.cpu_only("PyPI's Paddle is built for the CPU")
def test_seed_188_arrays_and_tensors_share_memory(paddle):
    w = wp.array([1.0, 2.0, 3.0], dtype=float, device="cpu")
    # convert to Paddle tensor
    t = wp.to_paddle(w)
    t[0] = 5.0
    assert w.numpy().tolist() == [5.0, 2.0, 3.0]
    # convert from Paddle tensor
    w = wp.from_paddle(t)
    w.fill_(2.0)
    assert t.numpy().tolist() == [2.0] * 3


@pytest.mark.cpu_only("PyPI's Paddle is built for the CPU")
def test_seed_189_devices_types_and_streams(paddle):
    assert wp.device_from_paddle(paddle.CPUPlace()) == "cpu" and wp.device_to_paddle("cpu") == "cpu"
    assert wp.dtype_from_paddle(paddle.float32) is wp.float32 and wp.dtype_to_paddle(wp.float32) == paddle.float32
    with pytest.raises(RuntimeError):
        wp.stream_from_paddle("cpu")


@pytest.mark.cpu_only("PyPI's Paddle is built for the CPU")
def test_seed_191_gradients_are_shared(paddle):
    x = paddle.to_tensor([1.0, 2.0, 3.0])
    x.stop_gradient = False
    wp_x, y = wp.from_paddle(x), wp.zeros(3, requires_grad=True, device="cpu")
    with wp.Tape() as tape:
        wp.launch(square, dim=3, inputs=[wp_x], outputs=[y], device=wp_x.device)
    tape.backward(grads={y: wp.ones(3, device="cpu")})
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 4.0, 6.0])


@pytest.mark.cpu_only("PyPI's Paddle is built for the CPU")
def test_seed_192_the_benchmark(paddle):
    module = "warp.examples.benchmarks.benchmark_interop_paddle"
    command = [sys.executable, "-m", module, "--launches", "20", "--device", "cpu"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    for line in ("from_paddle(...)", "from_paddle(..., return_ctype=True)", "direct from paddle"):
        assert done.stdout.count(f" ms  {line}\n") == 4, done.stdout
