"""wp.Texture1D, Texture2D, Texture3D and wp.texture_sample: samples against a reference in NumPy, on every executor."""

import gc

import numpy as np
import pytest
from mesh_cases import EXECUTORS, launch
from texture_reference import sample

import warp as wp

CLOSEST, LINEAR = wp.TextureFilterMode
MODES = list(wp.TextureAddressMode)
DTYPES = ["uint8", "uint16", "int8", "int16", "float16", "float32", "uint32", "int32"]
CLASSES = {1: wp.Texture1D, 2: wp.Texture2D, 3: wp.Texture3D}
VALUES = {1: wp.float32, 2: wp.vec2, 4: wp.vec4}


def sampler(ndim: int, dtype, exact: bool = True):
    if ndim == 1:

        @wp.kernel(module="unique")
        def k(tex: wp.Texture1D, places: wp.array(dtype=float), lod: float, out: wp.array(dtype=dtype)):
            i = wp.tid()
            out[i] = wp.texture_sample(tex, places[i], dtype=dtype, lod=lod, exact=exact)

    elif ndim == 2:

        @wp.kernel(module="unique")
        def k(tex: wp.Texture2D, places: wp.array(dtype=wp.vec2), lod: float, out: wp.array(dtype=dtype)):
            i = wp.tid()
            out[i] = wp.texture_sample(tex, places[i], dtype=dtype, lod=lod, exact=exact)

    else:

        @wp.kernel(module="unique")
        def k(tex: wp.Texture3D, places: wp.array(dtype=wp.vec3), lod: float, out: wp.array(dtype=dtype)):
            i = wp.tid()
            out[i] = wp.texture_sample(tex, places[i], dtype=dtype, lod=lod, exact=exact)

    return k


SAMPLERS = {(ndim, channels): sampler(ndim, VALUES[channels]) for ndim in (1, 2, 3) for channels in (1, 2, 4)}
PLACES = {1: float, 2: wp.vec2, 3: wp.vec3}


def sampled(tex, places: np.ndarray, wanted: int | None = None, lod: float = -1.0, executor: str | int = 0, kernel=None) -> np.ndarray:
    wanted = wanted or tex.num_channels
    out = wp.zeros(len(places), dtype=VALUES[wanted], device=tex.device)
    at = wp.array(places.astype(np.float32), dtype=PLACES[tex.ndim], device=tex.device)
    with wp.ScopedDevice(tex.device):
        launch(kernel or SAMPLERS[tex.ndim, wanted], len(places), [tex, at, lod], [out], executor)
    return out.numpy().reshape(len(places), wanted)


def texels_of(shape: tuple[int, ...], channels: int, dtype: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    full = (*shape, channels)
    if np.dtype(dtype).kind == "f":
        return rng.uniform(-2.0, 2.0, full).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, full, endpoint=True, dtype=dtype)


def places_of(ndim: int, n: int = 60, seed: int = 1) -> np.ndarray:
    """Eighths and hundredths apart: none is at the border between texels, where rounding would decide."""
    at = np.random.default_rng(seed).uniform(-2.4, 3.4, (n, ndim)).astype(np.float32)
    return at[:, 0] if ndim == 1 else at


SHAPES = {1: (7,), 2: (5, 4), 3: (3, 4, 5)}


@pytest.mark.parametrize("filtering", [CLOSEST, LINEAR])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_modes(ndim: int, mode: int, filtering: int, device: str) -> None:
    texels = texels_of(SHAPES[ndim], 2, "float32")
    places = places_of(ndim)
    for normalized in (True, False):
        tex = CLASSES[ndim](texels, filter_mode=filtering, address_mode=mode, normalized_coords=normalized, device=device)
        at = places if normalized else (places * np.array(SHAPES[ndim][::-1])[: 1 if ndim == 1 else None]).astype(np.float32)
        np.testing.assert_allclose(sampled(tex, at), sample(tex, texels, at.astype(float)), atol=1e-5)


@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("dtype", DTYPES)
def test_formats(dtype: str, channels: int, device: str) -> None:
    for ndim in (1, 2, 3):
        texels = texels_of(SHAPES[ndim], channels, dtype)
        tex = CLASSES[ndim](texels, device=device)
        assert tex.filter_mode == (CLOSEST if dtype in ("uint32", "int32") else LINEAR)
        places = places_of(ndim)
        want = sample(tex, texels, places.astype(float))
        scale = max(1.0, np.abs(want).max())
        for wanted in (1, 2, 4):
            got = sampled(tex, places, wanted)
            common = min(wanted, channels)
            np.testing.assert_allclose(got[:, :common], want[:, :common], atol=3e-6 * scale)
            assert (got[:, common:] == 0.0).all()


@pytest.mark.parametrize("filtering", [CLOSEST, LINEAR])
@pytest.mark.parametrize("between", [CLOSEST, LINEAR])
def test_levels(filtering: int, between: int, device: str) -> None:
    for ndim, dtype in ((1, "float32"), (2, "float32"), (2, "uint8"), (3, "float16")):
        texels = texels_of({1: (13,), 2: (9, 12), 3: (4, 6, 5)}[ndim], 1, dtype)
        for normalized in (True, False):
            tex = CLASSES[ndim](
                texels, num_mip_levels=0, filter_mode=filtering, mip_filter_mode=between, normalized_coords=normalized, device=device
            )
            assert tex.num_mip_levels == {1: 4, 2: 4, 3: 3}[ndim] and tex.is_mipmapped
            places = places_of(ndim)
            if not normalized:
                places = (places * np.array(texels.shape[-2::-1])[: 1 if ndim == 1 else None]).astype(np.float32)
            for lod in (-1.0, 0.0, 0.3, 0.5, 1.0, 1.7, 2.9, 50.0):
                want = sample(tex, texels, places.astype(float), lod)
                np.testing.assert_allclose(sampled(tex, places, lod=lod), want, atol=1e-5)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_executors_agree(executor: str | int) -> None:
    special = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 0.0, 1.0, -0.0, 1.0 - 2**-24, 2**-149], np.float32)
    for ndim in (1, 2, 3):
        texels = texels_of(SHAPES[ndim], 4, "float32")
        places = places_of(ndim, 40)
        more = special if ndim == 1 else np.stack([np.roll(special, k) for k in range(ndim)], 1)
        places = np.concatenate([places, more])
        for mode in MODES:
            for options in ({}, {"filter_mode": CLOSEST}, {"num_mip_levels": 0, "normalized_coords": False}):
                tex = CLASSES[ndim](texels, address_mode=mode, device="cpu", **options)
                for wanted in (1, 4):
                    got = sampled(tex, places, wanted, 0.6, executor)
                    np.testing.assert_array_equal(got, sampled(tex, places, wanted, 0.6, 1))


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("width", [1, 2, 3, 17])
def test_texels_of_one_number_in_pairs(width: int, executor: str | int) -> None:
    """Rows of places read rows of texels, with the last ones of an image among them; others read all over it."""
    texels = texels_of((5, width), 1, "float32")
    tex = wp.Texture2D(texels, device="cpu")
    rows = np.stack(np.meshgrid((np.arange(3 * width + 2) - width) / width + 0.01, np.arange(-1, 7) / 5), -1).reshape(-1, 2)
    places = np.concatenate([rows, places_of(2, 60)]).astype(np.float32)
    got = sampled(tex, places, 1, 0.0, executor)
    np.testing.assert_allclose(got, sample(tex, texels, places.astype(float), 0.0), atol=1e-5)
    np.testing.assert_array_equal(got, sampled(tex, places, 1, 0.0, 1))


def test_edges_read_what_lies_there() -> None:
    tex = wp.Texture1D(np.array([1, 2, 4, 8], np.float32), device="cpu")
    at = np.array([np.inf, -np.inf, 1e30, -1e30], np.float32)
    assert sampled(tex, at).ravel().tolist() == [8.0, 1.0, 8.0, 1.0]
    border = wp.Texture1D(np.array([1, 2, 4, 8], np.float32), address_mode=wp.TextureAddressMode.BORDER, device="cpu")
    assert sampled(border, at).ravel().tolist() == [0.0] * 4


@wp.struct
class Scene:
    sky: wp.Texture2D
    smoke: wp.Texture3D
    gain: float


@wp.func
def looked_up(tex: wp.Texture2D, u: float, v: float):
    return wp.texture_sample(tex, u, v, dtype=float) * float(tex.width)


@wp.kernel
def of_scene(scene: Scene, out: wp.array(dtype=float)):
    out[0] = looked_up(scene.sky, 0.25, 0.5) * scene.gain
    out[1] = wp.texture_sample(scene.smoke, 0.5, 0.5, 0.5, dtype=float) + float(scene.smoke.depth)
    out[2] = float(scene.sky.height)


@wp.kernel
def of_array(textures: wp.array(dtype=wp.Texture2D), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = looked_up(textures[i], 0.5, 0.5)


@wp.kernel
def of_struct_array(scenes: wp.array(dtype=Scene), out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.texture_sample(scenes[i].sky, wp.vec2(0.5, 0.5), dtype=float)


def test_structs_and_functions(device: str) -> None:
    scene = Scene()
    assert scene.sky.id == 0
    out = wp.zeros(3, dtype=float, device=device)
    wp.launch(of_scene, 1, [scene], [out], device=device)
    assert out.list() == [0.0, 0.0, 0.0]  # no texture: zero
    scene.sky = wp.Texture2D(np.full((3, 2), 5.0, np.float32), device=device)
    scene.smoke = wp.Texture3D(np.full((4, 3, 2), 7.0, np.float32), device=device)
    scene.gain = 2.0
    gc.collect()  # the struct keeps them
    wp.launch(of_scene, 1, [scene], [out], device=device)
    assert out.list() == [20.0, 11.0, 3.0]


def test_arrays_of_textures(device: str) -> None:
    textures = wp.array([wp.Texture2D(np.full((2, k + 1), float(k), np.float32), device=device) for k in range(5)], dtype=wp.Texture2D, device=device)
    gc.collect()  # the array keeps them
    out = wp.zeros(5, dtype=float, device=device)
    wp.launch(of_array, 5, [textures], [out], device=device)
    assert out.list() == [float(k * (k + 1)) for k in range(5)]
    scenes = []
    for k in range(3):
        scene = Scene()
        scene.sky = wp.Texture2D(np.full((2, 2), k + 1.0, np.float32), device=device)
        scenes.append(scene)
    del scene
    many = wp.array(scenes, dtype=Scene, device=device)
    del scenes
    gc.collect()
    out = wp.zeros(3, dtype=float, device=device)
    wp.launch(of_struct_array, 3, [many], [out], device=device)
    assert out.list() == [1.0, 2.0, 3.0]


def test_what_it_is_made_of(device: str) -> None:
    texels = texels_of((3, 4), 4, "float32")
    places = places_of(2)
    want = sampled(wp.Texture2D(texels, device=device), places)
    for source in (
        wp.array(texels, dtype=float, device=device),
        wp.array(texels, dtype=wp.vec4, device=device),
        wp.array(texels, dtype=float, device="cpu"),
        np.asfortranarray(texels),
    ):
        np.testing.assert_array_equal(sampled(wp.Texture2D(source, device=device), places), want)
    tex = wp.Texture2D(width=4, height=3, num_channels=4, dtype=wp.float32, device=device)
    assert (sampled(tex, places) == 0.0).all()
    assert (tex.width, tex.height, tex.depth, tex.ndim, tex.num_channels, tex.dtype) == (4, 3, 1, 2, 4, wp.float32)
    tex.copy_from(texels)
    np.testing.assert_array_equal(sampled(tex, places), want)
    other = wp.Texture2D(width=4, height=3, num_channels=4, dtype=wp.float32, device=device)
    tex.copy_to(other)
    back = np.zeros((3, 4, 4), np.float32)
    other.copy_to(back)
    np.testing.assert_array_equal(back, texels)
    room = wp.zeros((3, 4, 4), dtype=float, device=device)
    other.copy_to(room)
    np.testing.assert_array_equal(room.numpy(), texels)


@pytest.mark.parametrize("dtype", DTYPES)
def test_texels_come_back(dtype: str, device: str) -> None:
    texels = texels_of((3, 4), 2, dtype)
    back = np.zeros_like(texels)
    wp.Texture2D(texels, device=device).copy_to(back)
    np.testing.assert_array_equal(back, texels)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: wp.Texture2D(np.zeros(4, np.float32)), "2D texture data must be 2D or 3D"),
        (lambda: wp.Texture1D(np.zeros((4, 4, 1), np.float32)), "1D texture data must be 1D or 2D"),
        (lambda: wp.Texture2D(np.zeros((4, 4, 3), np.float32)), "num_channels must be 1, 2, or 4"),
        (lambda: wp.Texture2D(np.zeros((0, 4), np.float32)), "height must be a positive integer"),
        (lambda: wp.Texture2D(np.zeros((4, 4), np.float64)), "Unsupported texture dtype: float64"),
        (lambda: wp.Texture2D(width=4, height=4, num_channels=1), "Unsupported texture dtype"),
        (lambda: wp.Texture2D(np.zeros((4, 4), np.float32), width=5), "width"),
        (lambda: wp.Texture2D(np.zeros((4, 4), np.float32), dtype=wp.uint8), "dtype"),
        (lambda: wp.Texture2D(np.zeros((4, 4), np.float32), num_channels=2), "num_channels"),
        (lambda: wp.Texture2D(np.zeros((4, 4), np.float32), filter_mode=7), "filter mode: 7"),
        (lambda: wp.Texture2D(np.zeros((4, 4), np.float32), address_mode=9), "address mode for axis 0: 9"),
        (lambda: wp.Texture2D(np.zeros((4, 5), np.float32), num_mip_levels=9), "num_mip_levels"),
        (lambda: wp.Texture2D(np.zeros((4, 4), np.int32), filter_mode=LINEAR), "filter_mode"),
        (lambda: wp.Texture2D([[1.0]]), "must be a Warp array or NumPy array"),
        (lambda: wp.Texture2D(np.zeros((4, 4), np.float32), device="cpu").copy_from(np.zeros((4, 5), np.float32)), "shape"),
        (lambda: wp.Texture2D(np.zeros((4, 4), np.float32), device="cpu").copy_to(np.zeros((4, 4), np.uint8)), "data type"),
        (lambda: wp.Texture2D(np.zeros((4, 4), np.float32), device="cpu", num_mip_levels=0).copy_from(np.zeros((4, 4), np.float32)), "mipmapped"),
        (lambda: wp.Texture2D(np.zeros((4, 4), np.float32), device="cpu", cuda_array=5), "cuda_array"),
        (lambda: wp.Texture2D(np.zeros((4, 4), np.float32), device="cpu").cuda_texture, "only supported for CUDA textures; this one is on cpu"),
    ],
)
def test_what_no_texture_is(make, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        make()
    with pytest.raises(ValueError, match=text):
        make()


def test_launches_refuse() -> None:
    tex = wp.Texture1D(np.zeros(4, np.float32), device="cpu")
    out = wp.zeros(1, dtype=float, device="cpu")
    at = wp.zeros(1, dtype=float, device="cpu")
    with pytest.raises(RuntimeError, match="argument 'tex'.*Texture2D"):
        wp.launch(SAMPLERS[2, 1], 1, [tex, at, 0.0], [out], device="cpu")
    with pytest.raises(RuntimeError, match="argument 'tex'"):
        wp.launch(SAMPLERS[1, 1], 1, [None, at, 0.0], [out], device="cpu")
    with pytest.raises(RuntimeError, match="argument 'tex'"):
        wp.launch(SAMPLERS[1, 1], 1, [wp.Mesh, at, 0.0], [out], device="cpu")
    gone = wp.Texture1D._wp_empty_()
    gone.__dict__["id"] = tex.id
    del tex
    gc.collect()
    with pytest.raises(RuntimeError, match="argument 'tex'.*no Texture.*deleted"):
        wp.launch(SAMPLERS[1, 1], 1, [gone, at, 0.0], [out], device="cpu")


def test_kernels_refuse() -> None:
    @wp.kernel
    def vec3(tex: wp.Texture2D, out: wp.array(dtype=wp.vec3)):
        out[0] = wp.texture_sample(tex, wp.vec2(0.0, 0.0), dtype=wp.vec3)

    with pytest.raises(Exception, match="float, vec2 or vec4"):
        wp.launch(vec3, 1, [wp.Texture2D(np.zeros((2, 2), np.float32)), wp.zeros(1, dtype=wp.vec3)])

    @wp.kernel
    def wrong_place(tex: wp.Texture3D, out: wp.array(dtype=float)):
        out[0] = wp.texture_sample(tex, wp.vec2(0.0, 0.0), dtype=float)

    with pytest.raises(Exception, match="vec3"):
        wp.launch(wrong_place, 1, [wp.Texture3D(np.zeros((2, 2, 2), np.float32)), wp.zeros(1, dtype=float)])


def test_hardware_weights(device: str) -> None:
    """Without `exact` a GPU's texture unit has weights of 8 bits."""
    for ndim in (1, 2, 3):
        texels = texels_of(SHAPES[ndim], 4, "float32")
        kernel = sampler(ndim, wp.vec4, exact=False)
        places = places_of(ndim)
        for mode in MODES:
            for options in ({}, {"num_mip_levels": 0}):
                tex = CLASSES[ndim](texels, address_mode=mode, device=device, **options)
                want = sample(tex, texels, places.astype(float), 0.5)
                np.testing.assert_allclose(sampled(tex, places, lod=0.5, kernel=kernel), want, atol=4.0 * (ndim + 1) / 256 + 1e-5)


LIBRARY_WORDS = ["_texel", "_texel_corners", "_texel_slice", "_texel_rows", "_texel_pairs", "_texel_row", "_byte_texel", "_texel_add", "_texture_part", "_texture_slope"]
LIBRARY_WORDS += ["_texture_sum", "_texture_read", "_gradient_of_texels", "_half_gradient_of_texels"]


@pytest.mark.parametrize("name", LIBRARY_WORDS)
def test_words_of_the_library_are_its_own(name: str) -> None:
    assert not hasattr(wp, name)
