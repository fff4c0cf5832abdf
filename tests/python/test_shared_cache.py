"""Several processes that compile the same kernels at once into one cache, on one GPU too."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
import warp as wp

PROGRAM = """
import sys
import numpy as np
import warp as wp

wp.config.quiet = True

wp.config.kernel_cache_dir = sys.argv[2]
wp.set_device(sys.argv[1])


@wp.kernel
def forward(x: wp.array(dtype=float), y: wp.array(dtype=float), n: int):
    i = wp.tid()
    s = float(0.0)
    for k in range(n):
        s += wp.sin(x[i] + float(k))
    y[i] = s


@wp.kernel
def atomics(x: wp.array(dtype=float), total: wp.array(dtype=int)):
    wp.atomic_add(total, 0, int(x[wp.tid()]))


for round in range(3):
    x = wp.array(np.arange(10000, dtype=np.float32), requires_grad=True)
    y = wp.zeros(10000, requires_grad=True)
    total = wp.zeros(1, dtype=int)
    with wp.Tape() as tape:
        wp.launch(forward, dim=10000, inputs=[x, y, 5])
    tape.backward(grads={y: wp.ones(10000)})
    wp.launch(atomics, dim=10000, inputs=[x, total])
    expected = sum(np.sin(np.arange(10000) + k) for k in range(5))
    np.testing.assert_allclose(y.numpy(), expected, atol=2e-3)
    slopes = sum(np.cos(np.arange(10000) + k) for k in range(5))
    np.testing.assert_allclose(x.grad.numpy(), slopes, atol=2e-3)
    assert total.list() == [49995000]
print("good", y.numpy().tobytes().hex()[:4000])
"""


@pytest.mark.parametrize("warm", [False, True])
def test_processes_share_a_device_and_a_cache(device, gpu_environment, tmp_path, warm):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    environment = dict(gpu_environment if device.is_cuda else os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    command = [sys.executable, str(program), str(device), str(tmp_path / "cache")]
    if warm:
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=120)
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    outputs = [process.communicate(timeout=120) for process in running]
    assert all(process.returncode == 0 for process in running), outputs
    assert outputs[0][0].startswith("good") and len({out for out, _ in outputs}) == 1
    assert wp.get_device() == device  # the tests' own process is as it was
