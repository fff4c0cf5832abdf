"""The six `.nvdb` files of warp-lang's wheel: WEFT_WARP_LANG names the folder of an installed one (site-packages/warp).

What is expected of counts and types is what warp-lang 1.19 says of them; values are those of the reader in plain Python.
"""

import os
import pathlib

import numpy as np
import pytest
from test_volume import lookup_kernel, sample_kernel
from test_volume_index import ask
from volume_reference import grids_of

import warp as wp

FOLDER = os.environ.get("WEFT_WARP_LANG", "")
FILES = {
    "examples/assets/rocks.nvdb": [("float", 1493, 764416)],
    "tests/assets/test_grid.nvdb": [("float", 64, 32768)],
    "tests/assets/test_index_grid.nvdb": [("OnIndex", 14, 16), ("OnIndex", 19, 24)],
    "tests/assets/test_int32_grid.nvdb": [("int32", 64, 32768)],
    "tests/assets/test_vec_grid.nvdb": [("Vec3f", 64, 32768)],
    "tests/assets/torus.nvdb": [("float", 24, 12288)],
}
"""Type, tiles and voxels of each grid."""

pytestmark = pytest.mark.skipif(not FOLDER, reason="WEFT_WARP_LANG does not name the folder of warp-lang")


@pytest.mark.parametrize("name", FILES)
def test_file(name: str) -> None:
    data = (pathlib.Path(FOLDER) / name).read_bytes()
    volume = wp.Volume.load_from_nvdb(data)
    rng = np.random.default_rng(1)
    for grid, (kind, tiles, voxels) in zip(grids_of(data), FILES[name]):
        info = volume.get_grid_info()
        assert (info.type_str, volume.get_tile_count(), volume.get_voxel_count()) == (kind, tiles, voxels)
        corners = volume.get_tiles().numpy()
        places = (corners[rng.integers(0, tiles, 400)] + rng.integers(-2, 10, (400, 3))).astype(np.int32)
        each = [tuple(int(x) for x in p) for p in places]
        if volume.is_index:
            assert np.array_equal(ask(volume.id, places)[0], [grid.index(*p) for p in each])
            assert np.array_equal(ask(volume.id, volume.get_voxels().numpy())[0], np.arange(voxels))
        else:
            out = wp.zeros(400, dtype=volume.dtype)
            wp.launch(lookup_kernel(volume.dtype), 400, [volume.id, wp.array(places, dtype=wp.vec3i)], [out])
            assert np.array_equal(out.numpy(), [grid.value(*p) for p in each])
            between = (places + rng.uniform(0, 1, (400, 3))).astype(np.float32)
            if volume.dtype is not wp.int32:
                wp.launch(sample_kernel(volume.dtype), 400, [volume.id, 1, wp.array(between, dtype=wp.vec3)], [out])
                np.testing.assert_allclose(out.numpy(), [grid.linear(p) for p in between], rtol=1e-5, atol=1e-3)
        volume = volume.load_next_grid()
    assert volume is None
