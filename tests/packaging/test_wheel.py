"""A wheel installed in a fresh environment outside the source tree: imports, runs, gets on with others, goes away.

The wheel is the one that WEFT_WHEEL names, or one for this interpreter in the folder that WEFT_DIST names.
"""

import importlib.util
import itertools
import os
import pathlib
import subprocess
import sys
import sysconfig
import textwrap
import venv

import numpy
import pytest

NEIGHBOURS = [name for name in ("numba", "torch", "jax") if importlib.util.find_spec(name)]
"""Packages with an LLVM, a TBB or a C++ runtime of their own, where they are installed."""

PROGRAM = """
    import numpy as np
    import warp as wp

    @wp.struct
    class Scale:
        factor: float

    @wp.func
    def twice(x: float):
        return 2.0 * x

    @wp.kernel
    def work(s: Scale, x: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        y[i] = wp.vec3(twice(x[i]) * s.factor, wp.sin(x[i]), float(i))

    def run(n=10000):
        s = Scale()
        s.factor = 3.0
        x = wp.array(np.linspace(0.0, 1.0, n, dtype=np.float32))
        y = wp.zeros(n, dtype=wp.vec3)
        wp.launch(work, dim=n, inputs=[s, x], outputs=[y])
        out = y.numpy()
        np.testing.assert_allclose(out[:, 0], 6.0 * x.numpy(), rtol=1e-6)
        np.testing.assert_allclose(out[:, 1], np.sin(x.numpy()), rtol=1e-5, atol=1e-6)
"""

USE = {
    "numba": """
        import numba
        @numba.njit(parallel=True)
        def add(a):
            total = 0.0
            for i in numba.prange(a.shape[0]):
                total += a[i]
            return total
        import numpy
        assert add(numpy.ones(1000)) == 1000.0
    """,
    "torch": """
        import torch
        assert float((torch.ones(64, 64) @ torch.ones(64, 64)).sum()) == 64.0**3
    """,
    "jax": """
        import jax
        assert float(jax.jit(lambda x: (x * 2.0).sum())(jax.numpy.ones(100))) == 200.0
    """,
    "warp": """
        import program
        program.run()
    """,
}


def find_wheel() -> pathlib.Path:
    if "WEFT_WHEEL" in os.environ:
        return pathlib.Path(os.environ["WEFT_WHEEL"]).resolve()
    free_threaded = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}{free_threaded}"
    wheels = sorted(pathlib.Path(os.environ.get("WEFT_DIST", "build/dist")).glob(f"weft-*-{tag}-manylinux*.whl"))
    if not wheels:
        pytest.skip(f"no wheel for {tag} was built; `make wheel` builds one")
    return wheels[-1].resolve()


class Environment:
    """A virtual environment that holds the wheel, and sees NumPy and the neighbours of the testing interpreter."""

    def __init__(self, folder: pathlib.Path, wheel: pathlib.Path) -> None:
        self.folder = folder
        venv.create(folder / "env", with_pip=True)
        self.python = folder / "env" / "bin" / "python"
        installed = pathlib.Path(self.run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        self.site = installed
        (installed / "neighbours.pth").write_text(str(pathlib.Path(numpy.__file__).parents[1]) + "\n")
        self.before = {path.name for path in installed.iterdir()}
        self.run("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel))
        (folder / "program.py").write_text(textwrap.dedent(PROGRAM))

    def run(self, *arguments: str, check: bool = True) -> str:
        """What a Python command prints; it starts in the environment's folder, away from the sources."""
        settings = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "WEFT_EXTENSION_DIR", "PYTHONHOME")}
        settings["WARP_CACHE_PATH"] = str(self.folder / "cache")
        settings["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
        done = subprocess.run(
            [str(self.python), *arguments], cwd=self.folder, env=settings, capture_output=True, text=True, timeout=300
        )
        if check and done.returncode != 0:
            pytest.fail(f"{' '.join(arguments)[:200]} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("wheel"), find_wheel())


def test_runs_kernels(environment: Environment) -> None:
    where = environment.run("-c", "import program; program.run(); print(program.wp.__file__)").splitlines()[-1]
    assert where.startswith(str(environment.site))


def test_prints_report(environment: Environment) -> None:
    text = environment.run("-m", "warp")
    assert "weft" in text and "numpy" in text


def test_takes_no_library_from_the_system(environment: Environment) -> None:
    maps = environment.run("-c", "import program; program.run(); print(open('/proc/self/maps').read())")
    mapped = {line.split()[-1] for line in maps.splitlines() if ".so" in line}
    for name in ("libtbb", "libzstd", "libLLVM"):
        for path in mapped:
            if pathlib.Path(path).name.startswith(name):
                assert path.startswith(str(environment.site)), path


def test_has_metadata(environment: Environment) -> None:
    script = """if True:
        import importlib.metadata as m
        import warp._weft
        d = m.distribution("weft")
        assert d.version == warp._weft.version(), (d.version, warp._weft.version())
        names = [str(f) for f in d.files]
        assert any(n.endswith("licenses/LICENSE") for n in names), names
        assert any(n.endswith("THIRD_PARTY_NOTICES.md") for n in names), names
        assert "warp/py.typed" in names
    """
    environment.run("-c", script)


@pytest.mark.parametrize("neighbour", ["numba", "torch", "jax"])
def test_neighbour_is_tested(environment: Environment, neighbour: str) -> None:
    """Shows which neighbours the tests of import orders do without."""
    if neighbour not in NEIGHBOURS:
        pytest.skip(f"{neighbour} is not installed beside the tests")


@pytest.mark.parametrize("order", list(itertools.permutations(["warp", *NEIGHBOURS])), ids="-".join)
def test_imports_in_any_order(environment: Environment, order: tuple[str, ...]) -> None:
    """All are imported in this order, and then used in this order and once more backwards."""
    lines = [f"import {name}" for name in order]
    uses = [textwrap.dedent(USE[name]) for name in (*order, *reversed(order))]
    environment.run("-c", "\n".join(lines + uses))


def test_uninstalls_without_a_trace(environment: Environment) -> None:
    """Runs last: the environment is empty afterwards."""
    environment.run("-m", "pip", "uninstall", "--quiet", "--yes", "weft")
    assert {path.name for path in environment.site.iterdir()} - {"__pycache__"} == environment.before
    environment.run("-c", "import importlib.util; assert importlib.util.find_spec('warp') is None")
