"""What the documents state about volumes."""

from __future__ import annotations

import numpy as np

import warp as wp


@wp.kernel
def sample_grid(
    volume: wp.uint64, points: wp.array(dtype=wp.vec3), samples: wp.array(dtype=float), nearest: wp.array(dtype=float)
):
    tid = wp.tid()
    # load sample point in world-space
    p = points[tid]
    # transform position to the volume's local-space
    q = wp.volume_world_to_index(volume, p)
    # sample volume with trilinear interpolation
    f = wp.volume_sample_f(volume, q, wp.Volume.LINEAR)
    # write result
    samples[tid] = f
    nearest[tid] = wp.volume_sample_f(volume, q, wp.Volume.CLOSEST)


def ramp() -> wp.Volume:
    """A volume whose values are 1 x + 10 y + 100 z in index space."""
    i, j, k = np.meshgrid(np.arange(16), np.arange(16), np.arange(16), indexing="ij")
    return wp.Volume.load_from_numpy((i + 10 * j + 100 * k).astype(np.float32), (1.0, 2.0, 3.0), 0.5)


def sampled(volume: wp.Volume) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places in index space, and what kernels find there: mixed, and of the nearest voxel."""
    q = np.random.default_rng(1).uniform(0.0, 14.9, (200, 3)).astype(np.float32)
    points = wp.array(q * np.float32(0.5) + np.array([1.0, 2.0, 3.0], dtype=np.float32), dtype=wp.vec3)
    samples, nearest = wp.zeros(200, dtype=float), wp.zeros(200, dtype=float)
    wp.launch(sample_grid, dim=200, inputs=[volume.id, points, samples, nearest])
    return q, samples.numpy(), nearest.numpy()


def test_seed_099_101_files(tmp_path):
    """A volume is loaded from a file that is open for reading bytes; grids are plain, or compressed by zip."""
    volume = ramp()
    for codec in ("none", "zip"):
        volume.save_to_nvdb(tmp_path / "ramp.nvdb", codec)
        with open(tmp_path / "ramp.nvdb", "rb") as file:
            loaded = wp.Volume.load_from_nvdb(file, device=wp.get_device())
        assert np.array_equal(loaded.array().numpy(), volume.array().numpy())


def test_seed_100_arrays():
    """A volume is made from an array that holds a grid."""
    volume = wp.Volume(ramp().array())
    assert volume.get_voxel_count() == 16**3 and volume.id != 0


def test_seed_102_103_samples():
    """Kernels get the volume as uint64, transform places of the world to its space, and sample it, mixed or nearest."""
    q, samples, nearest = sampled(ramp())
    np.testing.assert_allclose(samples, q @ [1.0, 10.0, 100.0], atol=2e-3)
    clear = (np.abs(q - np.floor(q) - 0.5) > 1e-3).all(axis=1)
    assert clear.sum() > 150 and np.array_equal(nearest[clear], (np.floor(q + 0.5) @ [1.0, 10.0, 100.0])[clear])


def test_seed_104_what_is_sampled_stays():
    """Sampling changes nothing, and neither which voxels there are nor the transform can be changed by a kernel; values of
    voxels can (volume_store)."""
    volume = ramp()
    before = volume.array().numpy().copy()
    sampled(volume)
    assert np.array_equal(volume.array().numpy(), before)
