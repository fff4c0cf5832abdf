"""wp.timing_*, wp.ScopedTimer with cuda_filter, the profiler's range, and what the driver says of kernels."""

from __future__ import annotations

import pytest
import warp as wp


@wp.kernel
def scale(a: float, x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = a * x[i]


@wp.kernel
def anything(x: wp.array(dtype=wp.types.Float)):
    x[wp.tid()] *= x.dtype(2.0)


def work(device: wp.Device) -> None:
    x = wp.zeros(100, device=device)
    recorded = wp.launch(scale, dim=100, inputs=[2.0, x], device=device, record_cmd=True)
    wp.launch(scale, dim=100, inputs=[2.0, x], device=device)
    recorded.launch()
    wp.copy(x, wp.ones(100, device="cpu"))
    x.numpy()


def test_activities(device):
    work(device)
    wp.timing_begin()
    work(device)
    results = wp.timing_end()
    if device.is_cpu:
        assert results == []
        return
    names = [one.name for one in results]
    assert names == ["memset", "forward kernel scale", "forward kernel scale", "memcpy HtoD", "memcpy DtoH"]
    assert [one.filter for one in results] == [8, 1, 1, 4, 4]
    assert all(one.device == device and one.elapsed > 0.0 for one in results)
    assert "forward kernel scale" in repr(results[1])


def test_only_what_is_asked_for(device):
    wp.timing_begin(wp.TIMING_KERNEL, synchronize=False)
    work(device)
    results = wp.timing_end(synchronize=False)
    assert [one.name for one in results] == ([] if device.is_cpu else ["forward kernel scale"] * 2)
    assert wp.timing_end() == []


def test_adjoints_and_graphs(device):
    x = wp.ones(10, device=device, requires_grad=True)
    with wp.Tape() as tape:
        wp.launch(scale, dim=10, inputs=[2.0, x], device=device)
    with wp.ScopedCapture(device) as capture:
        wp.launch(scale, dim=10, inputs=[2.0, x], device=device)
    tape.backward(grads={x: wp.ones(10, device=device)})
    wp.timing_begin(wp.TIMING_KERNEL | wp.TIMING_GRAPH)
    tape.backward(grads={x: wp.ones(10, device=device)})
    wp.capture_launch(capture.graph)
    names = [one.name for one in wp.timing_end()]
    assert names == [] if device.is_cpu else ("backward kernel scale" in names and names[-1] == "graph")


def test_kernels_of_equal_text_keep_their_names(device):
    """They share code; times and errors name the one that was launched."""

    @wp.kernel
    def one(x: wp.array(dtype=float)):
        x[wp.tid()] = 3.25

    @wp.kernel
    def other(x: wp.array(dtype=float)):
        x[wp.tid()] = 3.25

    x = wp.zeros(10, device=device)
    for kernel in (one, other):
        wp.launch(kernel, dim=10, inputs=[x], device=device)
    wp.timing_begin(wp.TIMING_KERNEL)
    for kernel in (one, other):
        wp.launch(kernel, dim=10, inputs=[x], device=device)
    names = [result.name for result in wp.timing_end()]
    assert names == ([] if device.is_cpu else ["forward kernel one", "forward kernel other"])
    if device.is_cuda:
        with pytest.raises(ValueError, match="'other'.*block_dim is 4096"):
            wp.launch(other, dim=10, inputs=[x], device=device, block_dim=4096)


def test_timer(device, capsys):
    heard = []
    work(device)
    with wp.ScopedTimer("steps", cuda_filter=wp.TIMING_KERNEL, synchronize=True) as timer:
        work(device)
    with wp.ScopedTimer("steps", cuda_filter=wp.TIMING_KERNEL, report_func=lambda r, i: heard.append((len(r), i))):
        work(device)
    out = capsys.readouterr().out
    assert "steps took" in out
    if device.is_cpu:
        assert timer.timing_results == [] and heard == []
    else:
        assert len(timer.timing_results) == 2 and heard == [(2, "")]
        assert "CUDA timeline:" in out and "|       2 | forward kernel scale" in out


def test_print(capsys, device):
    wp.timing_print([], "  ")
    wp.timing_print([wp.TimingResult("cuda:0", "memset", 8, 0.5), wp.TimingResult("cuda:1", "memset", 8, 0.25)], "  ")
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == "  No activity"
    assert lines[1:5] == [
        "  CUDA timeline:",
        "  ----------------+---------+-------",
        "  Time            | Device  | Activity",
        "  ----------------+---------+-------",
    ]
    assert lines[5] == "      0.500000 ms | cuda:0  | memset"
    assert "      0.750000 ms |       2 | memset" in lines and "      0.250000 ms |       1 | cuda:1" in lines


@pytest.mark.parametrize("wrong", ["kernels", -1, 1 << 32, 1.5])
def test_wrong_filters(wrong, device):
    with pytest.raises(TypeError, match="TIMING_"):
        wp.timing_begin(wrong)


def test_profiler_range(device):
    with wp.ScopedCudaProfiler() as scope:
        assert scope.device == device
        work(device)
    wp.cuda_profiler_start(device)
    wp.cuda_profiler_stop(device)


def test_kernel_properties(device):
    if device.is_cpu:
        with pytest.raises(RuntimeError, match="requires a CUDA device, got 'cpu'"):
            wp.get_cuda_kernel_properties(scale)
        assert wp.get_suggested_block_size(scale) == (1, 1)
        assert wp.get_cuda_max_cluster_dim(scale) == 1
        return
    found = wp.get_cuda_kernel_properties(scale)
    assert 0 < found["register_count"] <= 255 and found["local_memory_size"] >= 0
    block, blocks = wp.get_suggested_block_size(scale)
    assert 32 <= block <= 1024 and blocks >= device.sm_count
    x = wp.ones(1000)
    wp.launch(scale, dim=1000, inputs=[2.0, x], block_dim=block)
    assert (x.numpy() == 2.0).all()
    assert wp.get_cuda_max_cluster_dim(scale) in ((8, 16) if device.arch >= 90 else (1,))
    for ask in (wp.get_cuda_kernel_properties, wp.get_suggested_block_size):
        with pytest.raises(RuntimeError, match="wp.overload"):
            ask(anything)
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="positive integer"):
            wp.get_cuda_kernel_properties(scale, block_dim=wrong)


def test_not_a_kernel(device):
    for ask in (wp.get_cuda_kernel_properties, wp.get_suggested_block_size, wp.get_cuda_max_cluster_dim):
        with pytest.raises(TypeError, match="expected a wp.Kernel"):
            ask(3)
