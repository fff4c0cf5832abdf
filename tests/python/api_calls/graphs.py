"""Graphs, contexts and other processes: what every device has of them, and what there is where CUDA is not."""

from __future__ import annotations

from pathlib import Path

import pytest

import warp as wp

from . import calls


@wp.kernel
def _step(x: wp.array(dtype=float), left: wp.array(dtype=int)):
    x[0] = x[0] + 1.0
    left[0] = left[0] - 1


@calls("Graph", "capture_begin", "capture_end", "capture_launch")
def captures() -> None:
    x, left = wp.zeros(1), wp.array([2], dtype=int)
    wp.capture_begin(capture_mode=wp.CaptureMode.RELAXED, apic=False)
    with pytest.raises(RuntimeError, match="Graph capture already in progress"):
        wp.capture_begin()
    wp.launch(_step, 1, [x, left])
    graph = wp.capture_end()
    assert isinstance(graph, wp.Graph) and x.list() == [0.0]
    wp.capture_launch(graph)
    assert x.list() == [1.0]


@calls("ScopedCapture", "ScopedCapture.__enter__", "ScopedCapture.__exit__", "ScopedCapture.graph")
def scoped_capture() -> None:
    x, left = wp.zeros(1), wp.array([2], dtype=int)
    with wp.ScopedCapture() as capture:
        assert capture.graph is None
        wp.launch(_step, 1, [x, left])
    wp.capture_launch(capture.graph)
    assert x.list() == [1.0]


@calls("capture_save", "capture_load", "capture_load_from_bytes")
def files(tmp_path: Path) -> None:
    x, left = wp.zeros(1), wp.array([2], dtype=int)
    with wp.ScopedCapture(apic=True) as capture:
        wp.launch(_step, 1, [x, left])
    wp.capture_save(capture.graph, str(tmp_path / "step"), inputs={"x": x}, outputs={"left": left})
    data = (tmp_path / "step.wrp").read_bytes()
    for graph in (wp.capture_load(str(tmp_path / "step")), wp.capture_load_from_bytes(data)):
        graph.set_param("x", wp.full(1, 3.0))
        wp.capture_launch(graph)
        found = wp.zeros(1)
        graph.get_param("x", found)
        assert graph.is_loaded and found.list() == [4.0] and x.list() == [0.0]


@calls("capture_debug_dot_print")
def dots(tmp_path: Path) -> None:
    x, left = wp.zeros(1), wp.array([2], dtype=int)
    with wp.ScopedCapture() as capture:
        wp.launch(_step, 1, [x, left])
        x.fill_(3.0)
    wp.capture_debug_dot_print(capture.graph, str(tmp_path / "graph.dot"), verbose=False)
    text = (tmp_path / "graph.dot").read_text()
    assert text.startswith("digraph") and "->" in text
    with pytest.raises(TypeError, match=r"wp.Graph"):
        wp.capture_debug_dot_print(x, str(tmp_path / "graph.dot"))


@calls("capture_if", "capture_while", "is_conditional_graph_supported")
def conditions() -> None:
    x, left = wp.zeros(1), wp.array([3], dtype=int)
    wp.capture_while(left, lambda: wp.launch(_step, 1, [x, left]))
    wp.capture_if(left, on_true=lambda: x.fill_(-1.0), on_false=lambda amount: x.fill_(amount), amount=7.0)
    assert x.list() == [7.0]
    version = wp.get_cuda_driver_version()
    assert wp.is_conditional_graph_supported() == (version is not None and version >= (12, 4))


@calls("map_cuda_device", "unmap_cuda_device")
def contexts() -> None:
    with pytest.raises(ValueError, match="a device's own name"):
        wp.map_cuda_device("cuda:0")
    with pytest.raises(RuntimeError, match="no device was mapped"):
        wp.unmap_cuda_device("nobody")


@calls("event_from_ipc_handle", "from_ipc_handle", "array.ipc_handle")
def processes() -> None:
    for use in (
        lambda: wp.event_from_ipc_handle(bytes(64), "cpu"),
        lambda: wp.from_ipc_handle(bytes(64), float, (3,), device="cpu"),
        lambda: wp.zeros(3, device="cpu").ipc_handle(),
    ):
        with pytest.raises(RuntimeError, match="CUDA"):
            use()


@calls("device_from_torch", "device_to_torch", "stream_from_torch", "stream_to_torch")
def torch_streams() -> None:
    assert wp.device_to_torch("cpu") == "cpu"
    torch = pytest.importorskip("torch")
    assert wp.device_from_torch(torch.device("cpu")) == "cpu"
    for use in (wp.stream_from_torch, wp.stream_to_torch):
        with pytest.raises(RuntimeError, match="CUDA"):
            use("cpu")
