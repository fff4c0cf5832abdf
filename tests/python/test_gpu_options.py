"""Settings of code for GPUs: what is checked where no GPU is needed."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Iterator

import pytest
import warp as wp
from warp._src.session import gpu_options, settings
from warp._src.api import startup


@contextlib.contextmanager
def setting(name: str, value: Any) -> Iterator[None]:
    before = getattr(wp.config, name)
    setattr(wp.config, name, value)
    try:
        yield
    finally:
        setattr(wp.config, name, before)


def test_defaults_ask_for_nothing() -> None:
    assert gpu_options.compile_options(lambda name: getattr(wp.config, name)) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [("cuda_output", "object"), ("ptx_target_arch", 35), ("ptx_target_arch", "sm_75"), ("cuda_libdevice", 3)],
)
def test_wrong_values_are_refused(name: str, value: object) -> None:
    with pytest.raises((ValueError, TypeError), match=f"wp.config.{name}"):
        setattr(wp.config, name, value)


def test_output_and_architecture() -> None:
    with setting("cuda_output", "ptx"), setting("ptx_target_arch", 80):
        assert settings.compile_options({}) | {"keep_ptx": True, "ptx_arch": 80} == settings.compile_options({})
    with setting("ptx_target_arch", 80):
        assert "ptx_arch" not in settings.compile_options({}), "machine code is for the device"
    assert settings.compile_options({"cuda_output": "ptx"})["keep_ptx"]
    assert settings.compile_options({"lineinfo": True})["line_info"]


def test_a_missing_libdevice_is_named(tmp_path: Any) -> None:
    with pytest.raises(FileNotFoundError, match="libdevice.10.bc"):
        wp.config.cuda_libdevice = str(tmp_path)
    assert wp.config.cuda_libdevice is False


def test_libdevice_by_path(tmp_path: Any) -> None:
    folder = tmp_path / "nvvm" / "libdevice"
    folder.mkdir(parents=True)
    file = folder / "libdevice.10.bc"
    file.write_bytes(b"")
    for given in (str(file), str(tmp_path), tmp_path):
        with setting("cuda_libdevice", given):
            assert settings.compile_options({})["libdevice"] == str(file)
            assert str(file) in startup.diagnostics()["elementary_functions"]
    assert "own on every device" in startup.diagnostics()["elementary_functions"]


def test_libdevice_in_a_python_package(tmp_path: Any, monkeypatch: Any) -> None:
    folder = tmp_path / "nvidia" / "cuda_nvcc" / "nvvm" / "libdevice"
    folder.mkdir(parents=True)
    (folder / "libdevice.10.bc").write_bytes(b"")
    for name in ("WEFT_LIBDEVICE", "CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert gpu_options.find_libdevice() == os.fspath(folder / "libdevice.10.bc")


def test_kernels_on_the_cpu_do_not_care(tmp_path: Any) -> None:
    (tmp_path / "libdevice.10.bc").write_bytes(b"no bitcode")

    @wp.kernel(module="unique")
    def sines(x: wp.array(dtype=float)):
        i = wp.tid()
        x[i] = wp.sin(x[i])

    x = wp.ones(4, dtype=float, device="cpu")
    with setting("cuda_libdevice", str(tmp_path)), setting("lineinfo", True), setting("cuda_output", "ptx"):
        wp.launch(sines, dim=4, inputs=[x], device="cpu")
    assert abs(float(x.numpy()[0]) - 0.84147098) < 1e-6
