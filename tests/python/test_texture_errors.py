"""What launches and classes say to textures that don't fit, and textures over memory of other libraries on a GPU."""

import gc

import numpy as np
import pytest

import warp as wp


@wp.kernel
def of_image(tex: wp.Texture2D, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = wp.texture_sample(tex, wp.vec2((float(i) + 0.5) / 4.0, 0.125), dtype=float, exact=True)


@wp.struct
class Scene:
    sky: wp.Texture2D


@wp.kernel
def of_scene(scene: Scene, out: wp.array(dtype=float)):
    out[0] = wp.texture_sample(scene.sky, wp.vec2(0.5, 0.5), dtype=float)


@wp.kernel
def of_volume(volume: wp.uint64, out: wp.array(dtype=float)):
    out[0] = wp.volume_sample_f(volume, wp.vec3(0.5, 0.5, 0.5), wp.Volume.LINEAR)


def image(device: str = "cpu") -> wp.Texture2D:
    return wp.Texture2D(np.ones((4, 4), np.float32), device=device)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: wp.Texture1D(np.zeros(4, np.float32), device="cpu"), "Texture1D"),
        (lambda: wp.Texture3D(np.zeros((2, 2, 2), np.float32), device="cpu"), "Texture3D"),
        (lambda: wp.zeros((4, 4), dtype=float, device="cpu"), "array"),
        (lambda: np.zeros((4, 4), np.float32), "ndarray"),
        (lambda: 7, "int"),
        (lambda: wp.Volume.load_from_numpy(np.zeros((8, 8, 8), np.float32), device="cpu"), "Volume"),
    ],
)
def test_arguments_of_another_kind(make, name: str) -> None:
    out = wp.zeros(1, dtype=float, device="cpu")
    with pytest.raises(RuntimeError, match=f"argument 'tex'.*Texture2D, got {name}"):
        wp.launch(of_image, 1, [make()], [out], device="cpu")


def test_fields_and_elements_of_another_rank() -> None:
    solid = wp.Texture3D(np.zeros((2, 2, 2), np.float32), device="cpu")
    scene = Scene()
    with pytest.raises(RuntimeError, match="Texture3D.*Texture2D"):
        scene.sky = solid
    with pytest.raises(RuntimeError, match="Texture2D"):
        scene.sky = 5
    with pytest.raises(RuntimeError, match="Texture2D, got Texture3D"):
        wp.array([image(), solid], dtype=wp.Texture2D, device="cpu")


def test_deleted_ones() -> None:
    out = wp.zeros(1, dtype=float, device="cpu")
    tex = image()
    stale = wp.Texture2D._wp_empty_()
    stale.__dict__["id"] = tex.id
    scene = Scene()
    scene.sky = stale
    del tex
    gc.collect()
    with pytest.raises(RuntimeError, match="'of_image', argument 'tex'.*no Texture.*deleted.*keep a reference"):
        wp.launch(of_image, 1, [stale], [out], device="cpu")
    with pytest.raises(RuntimeError, match="'of_scene', argument 'scene.sky'.*no Texture.*deleted"):
        wp.launch(of_scene, 1, [scene], [out], device="cpu")


def test_ids_of_another_kind() -> None:
    out = wp.zeros(1, dtype=float, device="cpu")
    tex = image()
    with pytest.raises(RuntimeError, match="argument 'volume'.*id of a Texture, not of a Volume"):
        wp.launch(of_volume, 1, [tex.id], [out], device="cpu")
    with pytest.raises(RuntimeError, match="argument 'volume'.*expected uint64, got Texture2D"):
        wp.launch(of_volume, 1, [tex], [out], device="cpu")
    with pytest.raises(RuntimeError, match="argument 'volume'.*12345 is the id of no Volume"):
        wp.launch(of_volume, 1, [12345], [out], device="cpu")


class Foreign:
    """Memory of another library on a GPU, as far as its interface tells."""

    def __init__(self, shape, typestr: str = "<f4", address: int = 4096, strides=None) -> None:
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": typestr,
            "data": (address, False),
            "strides": strides,
            "version": 3,
        }


@pytest.mark.skipif(wp.is_cuda_available(), reason="asks what is said without a GPU")
def test_foreign_memory_without_a_gpu() -> None:
    with pytest.raises(RuntimeError, match="data: .*CUDA device"):
        wp.Texture2D(Foreign((4, 4)), device="cpu")
    with pytest.raises(RuntimeError, match="source: .*CUDA device"):
        image().copy_from(Foreign((4, 4)))


@pytest.mark.parametrize(
    ("handle", "text"),
    [(5, "cuda_array: the texture is on cpu"), ("five", "cuda_array: must be the handle.*'five'"), (-1, "cuda_array: must be the handle")],
)
def test_cuda_arrays_on_the_cpu(handle, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        wp.Texture2D(width=4, height=4, num_channels=1, dtype=float, cuda_array=handle, device="cpu")


def test_modes_name_themselves() -> None:
    whole = np.zeros((4, 4), np.int32)
    with pytest.raises(ValueError, match="^filter_mode: .*CLOSEST"):
        wp.Texture2D(whole, filter_mode=wp.TextureFilterMode.LINEAR, device="cpu")
    with pytest.raises(ValueError, match="^mip_filter_mode: .*CLOSEST"):
        wp.Texture2D(whole, num_mip_levels=2, mip_filter_mode=wp.TextureFilterMode.LINEAR, device="cpu")
    for name in ("cuda_array", "cuda_texture", "cuda_surface"):
        with pytest.raises(RuntimeError, match=f"{name} is only supported for CUDA textures; this one is on cpu"):
            getattr(image(), name)


def test_another_device(device: str) -> None:
    if not wp.get_device(device).is_cuda:
        pytest.skip("needs a GPU")
    with pytest.raises(RuntimeError, match="argument 'tex'"):
        wp.launch(of_image, 4, [image("cpu")], [wp.zeros(4, dtype=float, device=device)], device=device)
    with pytest.raises(RuntimeError, match="argument 'tex'"):
        wp.launch(of_image, 4, [image(device)], [wp.zeros(4, dtype=float, device="cpu")], device="cpu")


def test_foreign_memory_on_a_gpu(device: str) -> None:
    """Texels out of any library's array, on the device and to the host."""
    if not wp.get_device(device).is_cuda:
        pytest.skip("needs a GPU")
    texels = np.arange(16, dtype=np.float32).reshape(4, 4)
    own = wp.array(texels, dtype=float, device=device)
    foreign = Foreign((4, 4), address=own.ptr)
    for where in (device, "cpu"):
        tex = wp.Texture2D(foreign, device=where)
        out = wp.zeros(4, dtype=float, device=where)
        wp.launch(of_image, 4, [tex], [out], device=where)
        np.testing.assert_array_equal(out.numpy(), texels[0])
    with pytest.raises(RuntimeError, match="contiguous"):
        wp.Texture2D(Foreign((4, 2), address=own.ptr, strides=(16, 8)), device=device)
    with pytest.raises(RuntimeError, match="Unsupported texture dtype: float64"):
        wp.Texture2D(Foreign((4, 2), "<f8", address=own.ptr), device=device)
    # A texture over another one's CUDA array sees what is copied there.
    first = wp.Texture2D(texels, device=device)
    second = wp.Texture2D(width=4, height=4, num_channels=1, dtype=float, cuda_array=first.cuda_array, device=device)
    first.copy_from(texels[::-1].copy())
    out = wp.zeros(4, dtype=float, device=device)
    wp.launch(of_image, 4, [second], [out], device=device)
    np.testing.assert_array_equal(out.numpy(), texels[3])
    with pytest.raises(RuntimeError, match="cuda_array: the array has other extents"):
        wp.Texture2D(width=8, height=4, num_channels=1, dtype=float, cuda_array=first.cuda_array, device=device)


@wp.kernel
def same_but_for_names(grid: wp.uint64, found: wp.array(dtype=float)):
    found[0] = wp.volume_sample_f(grid, wp.vec3(0.5, 0.5, 0.5), wp.Volume.LINEAR)


def test_errors_name_arguments_as_the_kernel_does() -> None:
    """Machine code is shared by kernels that differ in names alone; what their errors say is not."""
    out = wp.zeros(1, dtype=float, device="cpu")
    for kernel, name in ((of_volume, "volume"), (same_but_for_names, "grid")):
        with pytest.raises(RuntimeError, match=f"'{kernel.key}', argument '{name}'"):
            wp.launch(kernel, 1, [12345], [out], device="cpu")


@wp.struct
class Painted:
    image: wp.Texture2D
    gloss: float


@wp.kernel
def look_at_first(painted: wp.array(dtype=Painted), out: wp.array(dtype=float)):
    out[0] = wp.texture_sample(painted[0].image, wp.vec2(0.5, 0.5), dtype=float)


@pytest.mark.parametrize("arrays_on_gpu", [False, True])
def test_an_array_holds_textures_of_its_own_device(device: wp.Device, arrays_on_gpu: bool) -> None:
    if not device.is_cuda:
        pytest.skip("another device is wanted")
    at, other = (device, wp.get_device("cpu")) if arrays_on_gpu else (wp.get_device("cpu"), device)
    image = wp.Texture2D(np.full((2, 2), 3.0, np.float32), device=other)
    painted = Painted()
    painted.image = image
    there = wp.array([painted, painted], dtype=Painted, device=other)
    target = wp.zeros(2, dtype=Painted, device=at)
    for make in (
        lambda: wp.array([image], dtype=wp.Texture2D, device=at),
        lambda: wp.array([painted], dtype=Painted, device=at),
        lambda: wp.array([(image, 0.5)], dtype=Painted, device=at),
        lambda: wp.array([image], dtype=wp.Texture2D, device=at, pinned=True) if at.is_cpu else there.to(at),
        lambda: wp.array(there, device=at),
        lambda: wp.array([image], dtype=wp.Texture2D, device=other).to(at),
        lambda: wp.clone(there, device=at),
        lambda: wp.copy(target, there),
        lambda: wp.copy(target, there, 1, 0, 1),
        lambda: target.assign(there),
        lambda: target.assign([painted, painted]),
        lambda: target.fill_(painted),
        lambda: target.fill_((image, 0.5)),
        lambda: target.__setitem__(0, painted),
        lambda: target.__setitem__(0, (image, 0.5)),
        lambda: target.__setitem__(slice(0, 2), painted),
        lambda: target.__setitem__(slice(0, 2), [painted, painted]),
        lambda: target.__setitem__(slice(0, 2), there),
        lambda: wp.indexedarray(target, [wp.array([1], dtype=int, device=at)]).fill_(painted),
    ):
        with pytest.raises(RuntimeError, match=rf"a Texture2D on {other} can't be in an array of \w+ on {at}: make it there"):
            make()
    assert [one.image.id for one in target.list()] == [0, 0]  # and nothing was written


def test_all_ways_to_write_textures_of_its_device(device: wp.Device) -> None:
    images = [wp.Texture2D(np.full((2, 2), value, np.float32), device=device) for value in (3.0, 4.0)]
    painted = [Painted(), Painted()]
    for one, image in zip(painted, images):
        one.image = image
    target = wp.zeros(2, dtype=Painted, device=device)
    out = wp.zeros(1, dtype=float, device=device)
    for k, write in enumerate(
        (
            lambda one: wp.copy(target, wp.array([one, one], dtype=Painted, device=device)),
            lambda one: target.assign([one, one]),
            lambda one: target.fill_(one),
            lambda one: target.fill_((one.image, 0.5)),
            lambda one: target.__setitem__(0, one),
            lambda one: target.__setitem__(0, (one.image, 0.5)),
            lambda one: target.__setitem__(slice(0, 2), one),
            lambda one: target.__setitem__(slice(0, 2), [one, one]),
            lambda one: wp.indexedarray(target, [wp.array([0], dtype=int, device=device)]).fill_(one),
        )
    ):
        write(painted[k % 2])
        wp.launch(look_at_first, 1, [target], [out], device=device)
        assert out.numpy()[0] == 3.0 + k % 2
        assert target[0].image is images[k % 2]


def test_none_takes_a_texture_out_of_a_struct(device: wp.Device) -> None:
    painted = Painted()
    painted.image = wp.Texture2D(np.full((2, 2), 3.0, np.float32), device=device)
    painted.image = None
    assert painted.image.id == 0
    out = wp.full(1, 7.0, dtype=float, device=device)
    wp.launch(look_at_first, 1, [wp.array([painted], dtype=Painted, device=device)], [out], device=device)
    assert out.numpy()[0] == 0.0


def test_words_for_what_is_no_texture() -> None:
    flat = wp.Texture1D(np.ones(3, np.float32))
    with pytest.raises(RuntimeError, match="argument 'tex': expected a Texture2D, got Texture1D"):
        wp.launch(of_image, 4, [flat], [wp.zeros(4, dtype=float)])
    with pytest.raises(RuntimeError, match="expected a Texture2D, got NoneType"):
        wp.array([None], dtype=wp.Texture2D)
