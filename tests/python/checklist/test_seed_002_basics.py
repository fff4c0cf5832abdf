"""The basics document: start, kernels, cache folder, arrays, functions, typing."""

import os
import subprocess
import sys

import numpy as np
import pytest

import warp as wp


def run_file(tmp_path, text: str, **environment: str) -> str:
    file = tmp_path / "program.py"
    file.write_text(text)
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_seed_118_the_banner(tmp_path):
    """init tells the version, the devices and the cache folder."""
    out = run_file(tmp_path, "import warp as wp\n\nwp.init()\n", WARP_CACHE_PATH=str(tmp_path / "cache"))
    assert f"Warp {wp.config.version} initialized" in out
    assert "Devices:" in out and '"cpu"' in out
    assert "Kernel cache:" in out and str(tmp_path / "cache") in out


@wp.kernel
def simple_kernel(a: wp.array(dtype=wp.vec3),
                  b: wp.array(dtype=wp.vec3),
                  c: wp.array(dtype=float)):

    # get thread index
    tid = wp.tid()

    # load two vec3s
    x = a[tid]
    y = b[tid]

    # compute the dot product between vectors
    r = wp.dot(x, y)

    # write result back to memory
    c[tid] = r


def test_seed_119_121_kernel_and_launch_by_keyword():
    """vec3 arrays, thread index, dot; launch(kernel=, dim=, inputs=, device=)."""
    a = wp.full(1024, wp.vec3(1.0, 2.0, 3.0), dtype=wp.vec3)
    b = wp.full(1024, wp.vec3(2.0, 0.5, 1.0), dtype=wp.vec3)
    c = wp.zeros(1024, dtype=float)
    wp.launch(kernel=simple_kernel, # kernel to launch
              dim=1024,             # number of threads
              inputs=[a, b, c],     # parameters
              device=wp.get_device())  # execution device
    assert (c.numpy() == 6.0).all()


a_dictionary = {"x": 1.0}


def test_seed_120_arguments_are_typed_and_state_is_out_of_reach():
    """Parameters have static types; a kernel that reads a dictionary of the program is refused."""

    @wp.kernel
    def reads_state(out: wp.array(dtype=float)):
        out[0] = a_dictionary["x"]

    with pytest.raises((RuntimeError, TypeError), match="a_dictionary"):
        wp.launch(reads_state, dim=1, inputs=[wp.zeros(1, dtype=float)])


@wp.kernel
def compute_image(color: wp.array2d(dtype=wp.vec3)):
    # get thread index
    i, j = wp.tid()

    r = float(i)
    g = float(j)
    b = 0.5

    # write out a color value for each pixel
    color[i, j] = wp.vec3(r, g, b)


@wp.kernel
def grid1(out: wp.array(dtype=int)):
    i = wp.tid()
    out[i] = i


@wp.kernel
def grid4(out: wp.array4d(dtype=int)):
    i, j, k, l = wp.tid()
    out[i, j, k, l] = ((i * 10 + j) * 10 + k) * 10 + l


def test_seed_122_grids_of_one_to_four_dimensions():
    """1 to 4 dimensions; an image of 1024 by 1024 by i, j = wp.tid()."""
    img = wp.zeros((1024, 1024), dtype=wp.vec3)
    wp.launch(kernel=compute_image,
              dim=(1024, 1024),
              inputs=[img],
              device=wp.get_device())
    assert img.numpy()[1023, 17].tolist() == [1023.0, 17.0, 0.5]
    out = wp.zeros(100, dtype=int)
    wp.launch(grid1, dim=100, inputs=[out])
    assert out.list() == list(range(100))
    deep = wp.zeros((2, 3, 4, 5), dtype=int)
    wp.launch(grid4, dim=(2, 3, 4, 5), inputs=[deep])
    i, j, k, l = np.indices((2, 3, 4, 5))
    np.testing.assert_array_equal(deep.numpy(), ((i * 10 + j) * 10 + k) * 10 + l)


CACHE_EXAMPLE = '''
import os

import warp as wp

example_dir = os.path.dirname(os.path.realpath(__file__))

# set default cache directory before wp.init()
wp.config.kernel_cache_dir = os.path.join(example_dir, "tmp", "warpcache1")

wp.init()

print("+++ Current cache directory: ", wp.config.kernel_cache_dir)

# change cache directory after wp.init()
wp.build.init_kernel_cache(os.path.join(example_dir, "tmp", "warpcache2"))

print("+++ Current cache directory: ", wp.config.kernel_cache_dir)

# clear kernel cache (forces fresh kernel builds every time)
wp.build.clear_kernel_cache()


@wp.kernel
def basic(x: wp.array(dtype=float)):
    tid = wp.tid()
    x[tid] = float(tid)


device = "cpu"
n = 10
x = wp.zeros(n, dtype=float, device=device)

wp.launch(kernel=basic, dim=n, inputs=[x], device=device)
print(x.numpy())
'''


def test_seed_123_124_125_126_127_the_cache_example(tmp_path):
    """The document's program: cache folder before and after init, clear, a kernel with float(tid), x.numpy()."""
    lines = run_file(tmp_path, CACHE_EXAMPLE).splitlines()
    folders = [line.split(":", 1)[1].strip() for line in lines if line.startswith("+++")]
    assert folders == [str(tmp_path / "tmp" / "warpcache1"), str(tmp_path / "tmp" / "warpcache2")]
    assert lines[-1] == "[0. 1. 2. 3. 4. 5. 6. 7. 8. 9.]"
    assert any((tmp_path / "tmp" / "warpcache2").rglob("*")), "the kernel was not cached in the second folder"
    again = run_file(tmp_path, CACHE_EXAMPLE).splitlines()
    assert again[-1] == lines[-1]


def test_seed_128_arrays_of_vectors_and_quaternions():
    """empty(shape=n, dtype=vec3), zeros(shape=n, dtype=quat)."""
    n = 7
    # allocate an uninitialized array of vec3s
    v = wp.empty(shape=n, dtype=wp.vec3, device="cpu")
    # allocate a zero-initialized array of quaternions
    q = wp.zeros(shape=n, dtype=wp.quat, device="cpu")
    assert v.shape == q.shape == (n,) and not q.numpy().any()


def test_seed_129_from_numpy():
    """from_numpy(a, dtype=vec3, device=…)."""
    a = np.ones((10, 3), dtype=np.float32)
    v = wp.from_numpy(a, dtype=wp.vec3, device="cpu")
    assert v.shape == (10,) and v.dtype is wp.vec3
    a[:] = 0
    assert (v.numpy() == 1.0).all()


@pytest.mark.cpu_only("NumPy's memory is shared")
def test_seed_130_external_data_is_copied_unless_asked():
    """Lists, tuples and NumPy arrays are copied; copy=False aliases contiguous memory of the same device."""
    source = np.arange(6, dtype=np.float32)
    copied, aliased = wp.array(source), wp.array(source, copy=False)
    source[0] = 99.0
    assert copied[0] == 0.0 and aliased[0] == 99.0
    assert wp.array((1.0, 2.0), dtype=float).list() == wp.array([1.0, 2.0], dtype=float).list()


@pytest.mark.cpu_only("NumPy's memory is shared")
def test_seed_131_numpy_is_a_view_on_the_cpu():
    """array.numpy() of a CPU array shares its memory."""
    device_array = wp.zeros(4, dtype=float)
    view = device_array.numpy()
    view[2] = 5.0
    assert device_array[2] == 5.0 and view.ctypes.data == device_array.ptr


@wp.func
def square(x: float):
    return x*x


@wp.func
def add_to(values: wp.array(dtype=float), i: int, x: float):
    values[i] = values[i] + x


@wp.kernel
def uses_functions(values: wp.array(dtype=float)):
    i = wp.tid()
    add_to(values, i, square(float(i)))


def test_seed_132_user_functions():
    """@wp.func in kernels of the module, with arrays as parameters, and from Python."""
    values = wp.ones(4, dtype=float)
    wp.launch(uses_functions, dim=4, inputs=[values])
    assert values.list() == [1.0, 2.0, 5.0, 10.0]
    assert square(3.0) == 9.0


COMPILE_MODEL = """
import sys, time
import warp as wp
wp.init()
@wp.kernel
def once(x: wp.array(dtype=float)):
    x[wp.tid()] = wp.sin(float(wp.tid())) * 3.0
x = wp.zeros(4, dtype=float)
wp.launch(once, dim=4, inputs=[x])
print(x.numpy()[1])
"""


def test_seed_133_compiled_at_first_launch_and_cached(tmp_path):
    """Nothing is compiled at import; the first launch compiles, and a later process finds the result on disk."""
    cache = tmp_path / "cache"
    first = run_file(tmp_path, COMPILE_MODEL, WARP_CACHE_PATH=str(cache))
    files = {p: p.stat().st_mtime_ns for p in cache.rglob("*") if p.is_file()}
    assert files
    second = run_file(tmp_path, COMPILE_MODEL, WARP_CACHE_PATH=str(cache))
    assert first.splitlines()[-1] == second.splitlines()[-1]
    kernels = {p for p in files if p.stat().st_size > 1000}
    assert kernels and {p for p in cache.rglob("*") if p.is_file() and p.stat().st_size > 1000} == kernels
    unused = tmp_path / "unused"
    run_file(tmp_path, COMPILE_MODEL.split("x = ")[0], WARP_CACHE_PATH=str(unused))
    assert not [p for p in unused.rglob("*") if p.is_file() and p.stat().st_size > 1000]


@wp.kernel
def value_semantics(out: wp.array(dtype=wp.vec3), shared: wp.array(dtype=float)):
    b = wp.vec3(1.0, 2.0, 3.0)
    a = b
    a[0] = 9.0
    out[0] = a
    out[1] = b
    view = shared
    view[0] = 4.0


def test_seed_134_values_are_copied():
    """a = b copies vectors; arrays are references."""
    out, shared = wp.zeros(2, dtype=wp.vec3), wp.zeros(1, dtype=float)
    wp.launch(value_semantics, dim=1, inputs=[out, shared])
    assert out.numpy().tolist() == [[9.0, 2.0, 3.0], [1.0, 2.0, 3.0]] and shared[0] == 4.0


def test_seed_135_parameters_need_annotations():
    """A parameter without annotation is an error of the decorator that names it."""
    with pytest.raises(RuntimeError, match="'b'"):

        @wp.kernel
        def bare(a: wp.array(dtype=wp.vec3), b, c: float):
            a[0] = wp.vec3()


@wp.kernel
def tuples(out: wp.array(dtype=wp.vec3)):
    a = (1.0, 2.0, 3.0)
    out[0] = wp.vec3(a[0], a[1], a[2])
    # valid
    b = wp.vec3(1.0, 2.0, 3.0)
    out[1] = b


def test_seed_136_tuples():
    """Better than the document: a = (1.0, 2.0, 3.0) is a tuple whose members can be read."""
    out = wp.zeros(2, dtype=wp.vec3)
    wp.launch(tuples, dim=1, inputs=[out])
    assert out.numpy().tolist() == [[1.0, 2.0, 3.0]] * 2
