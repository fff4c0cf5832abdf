"""Several threads that use operators, functions and conversions of PyTorch and Paddle at once."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import warp as wp
from process_support import needs
from thread_support import in_threads

needs("torch")
import torch  # noqa: E402

pytestmark = pytest.mark.cpu_only("threads share what the CPU's paths keep")
HERE = os.path.dirname(os.path.abspath(__file__))


@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]


@wp.kernel
def grow(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = y[i] * y[i] * x[i]


def steps(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    between = wp.zeros(x.shape, dtype=float, requires_grad=x.requires_grad)
    wp.launch(square, dim=x.shape, inputs=[x], outputs=[between])
    wp.launch(square, dim=x.shape, inputs=[between], outputs=[y])


def test_operators_are_made_at_once():
    made = in_threads(lambda k: wp.torch.op(square))
    assert len({one.name for one in made}) == len(made)
    x = torch.arange(4.0)
    for one in made:
        torch.testing.assert_close(one(x), x * x)


def test_operators_go_back_in_threads():
    """By the adjoint, and by a tape where values are overwritten; a tape of the program hears nothing of either."""
    plain, in_place = wp.torch.op(square), wp.torch.op(grow, in_out="y")

    def work(k: int) -> None:
        for n in range(10):
            x = torch.full((5,), float(k + n), requires_grad=True)
            y = torch.full((5,), 2.0, requires_grad=True)
            plain(x).sum().backward()
            torch.testing.assert_close(x.grad, 2 * x.detach())
            x.grad = None
            in_place(x, y).sum().backward()
            torch.testing.assert_close(x.grad, torch.full((5,), 4.0))
            torch.testing.assert_close(y.grad, 4 * x.detach())

    in_threads(work)
    a, b = wp.ones(3, dtype=float, requires_grad=True), wp.zeros(3, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        work(3)
        wp.launch(square, dim=3, inputs=[a], outputs=[b])
    assert len(tape.launches) == 1


def test_tangents_in_threads():
    """What torch.func.jvp calls; torch counts its levels of forward mode for all threads together."""
    operator = wp.torch.op(square)

    def work(k: int) -> None:
        for n in range(5):
            x = torch.full((5,), float(k + n))
            (slope,) = operator.tangent((x,), (5,), [(5,)], (torch.ones(5),))
            torch.testing.assert_close(slope, 2 * x)

    in_threads(work)


def test_functions_go_back_in_threads():
    function = wp.torch.function(steps)

    def work(k: int) -> None:
        for n in range(5):
            x = torch.full((5,), 0.1 * (k + n), requires_grad=True)
            function(x).sum().backward()
            torch.testing.assert_close(x.grad, 4 * x.detach() ** 3)

    in_threads(work)


def test_threads_go_back_over_one_node():
    x = torch.linspace(0.5, 1.5, 50, requires_grad=True)
    y = wp.torch.function(steps)(x)

    def work(k: int) -> None:
        for _ in range(5):
            (slope,) = torch.autograd.grad(y, x, torch.full((50,), float(k + 1)), retain_graph=True)
            torch.testing.assert_close(slope, (k + 1) * 4 * x.detach() ** 3)

    in_threads(work)


def test_the_first_tensor_of_a_process_in_many_threads(tmp_path):
    """What is found out once about a library is found out by one, and nobody waits for ever."""
    body = """
        import sys
        sys.path.insert(0, {here!r})
        from thread_support import in_threads
        import numpy as np, warp as wp
        wp.config.quiet = True
        @wp.kernel
        def double(x: wp.array(dtype=float), y: wp.array(dtype=float)):
            i = wp.tid()
            y[i] = 2.0 * x[i]
        import {library}
        tensors = [({library}.ones([4]), {library}.zeros([4])) for _ in range(8)]
        def work(k):
            x, y = tensors[k]
            wp.launch(double, dim=4, inputs=[x, y], device="cpu")
            a = wp.{function}(x)
            return a.numpy().sum() + y.numpy().sum() + np.asarray(wp.{back}(a)).sum()
        assert in_threads(work) == [16.0] * 8
    """
    for library, function, back in (("torch", "from_torch", "to_torch"), ("paddle", "from_paddle", "to_paddle")):
        try:
            __import__(library)
        except ImportError:
            continue
        program = textwrap.dedent(body).format(here=HERE, library=library, function=function, back=back)
        path = tmp_path / f"{library}_first.py"
        path.write_text(program)
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr


def test_conversions_in_threads():
    def work(k: int) -> None:
        for n in range(200):
            tensor = torch.full((n % 7 + 1,), float(k), requires_grad=bool(n % 2))
            array = wp.from_torch(tensor)
            assert array.ptr == tensor.data_ptr() and array.numpy().tolist() == [k] * array.size
            back = wp.to_torch(array)
            assert back.data_ptr() == tensor.data_ptr()
            np.testing.assert_array_equal(wp.from_dlpack(back.detach()).numpy(), k)

    in_threads(work)


def test_a_child_of_a_fork_goes_on():
    """As the workers of a DataLoader are: what was known of torch, and array objects that died, are there twice then."""
    call = wp.torch.op(square)
    x = torch.full((64,), 3.0)

    def use():
        y = torch.zeros(64)
        seen = wp.from_torch(x)
        wp.launch(square, dim=64, inputs=[seen], outputs=[y], device="cpu")
        return (y == 9.0).all() and (call(x) == 9.0).all() and seen.ptr == x.data_ptr()

    assert use()
    child = os.fork()
    if child == 0:
        fine = False
        try:
            fine = all(use() for _ in range(100))
        finally:
            os._exit(0 if fine else 1)
    assert all(use() for _ in range(100))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
