"""Marching cubes: surfaces are those of a plain reference, closed, manifold and turned outwards, whatever the field; grids of
every size, bounds, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import warp as wp
import warp.geometry

import surface_reference as reference


def grid(*size: int) -> np.ndarray:
    """The places of nodes, in units of the grid."""
    return np.stack(np.meshgrid(*(np.arange(n, dtype=np.float64) for n in size), indexing="ij"), axis=-1)


def extract(field: np.ndarray, threshold: float = 0.0, **bounds) -> tuple[np.ndarray, np.ndarray]:
    """Vertices, and triangles in rows."""
    field = np.asarray(field, dtype=np.float32)
    cubes = wp.MarchingCubes(*field.shape, **bounds)
    cubes.surface(wp.array(field, dtype=float), threshold)
    assert cubes.verts.dtype is wp.vec3 and cubes.indices.dtype is wp.int32
    assert cubes.verts.ndim == cubes.indices.ndim == 1
    return cubes.verts.numpy().reshape(-1, 3), cubes.indices.numpy().reshape(-1, 3)


def padded(field: np.ndarray, value: float = 1.0) -> np.ndarray:
    return np.pad(field, 1, constant_values=value)


def check_surface(points: np.ndarray, triangles: np.ndarray) -> None:
    assert reference.is_closed(triangles) and reference.is_manifold(triangles)
    assert np.array_equal(np.unique(triangles), np.arange(len(points)))


def check_against_reference(field: np.ndarray, threshold: float) -> None:
    """The same vertices, each once, and in each cell triangles that fill the lines of its sides."""
    field = np.asarray(field, dtype=np.float32)
    points, triangles = extract(field, threshold)
    wanted = reference.crossings(field, np.float32(threshold))
    edges = reference.edges_of(points)
    assert len(set(edges)) == len(edges) and set(edges) == set(wanted)
    np.testing.assert_allclose(points, np.reshape([wanted[e] for e in edges], (-1, 3)), rtol=0, atol=1e-5)
    assert reference.lines_of_cells(triangles, edges) == reference.cell_lines(field, np.float32(threshold))


# ---- shapes --------------------------------------------------------------------------------------------------------------


def test_a_sphere():
    size, radius = (40, 44, 48), 15.25
    field = np.linalg.norm(grid(*size) - (19.3, 21.1, 23.7), axis=-1) - radius
    points, triangles = extract(field)
    check_surface(points, triangles)
    assert reference.euler(triangles) == 2
    assert reference.volume(points, triangles) == pytest.approx(4 / 3 * np.pi * radius**3, rel=5e-3)
    a, b, c = (points[triangles[:, k]] for k in range(3))
    outwards = (a + b + c) / 3 - (19.3, 21.1, 23.7)
    normals = np.cross(b - a, c - a)
    large = np.linalg.norm(normals, axis=1) > 1e-3
    assert (np.einsum("ij,ij->i", normals, outwards)[large] > 0).all()
    np.testing.assert_allclose(np.linalg.norm(points - (19.3, 21.1, 23.7), axis=1), radius, atol=0.02)


def test_a_hollow_turns_inwards():
    field = 6.2 - np.linalg.norm(grid(17, 17, 17) - 8.1, axis=-1)  # below the threshold all around it
    points, triangles = extract(field)
    check_surface(points, triangles)
    assert reference.volume(points, triangles) == pytest.approx(-4 / 3 * np.pi * 6.2**3, rel=0.03)


def test_a_torus_and_a_pretzel():
    at = grid(44, 34, 20) - (21.6, 16.4, 9.7)
    ring = np.hypot(np.hypot(at[..., 0], at[..., 1]) - 10.0, at[..., 2]) - 4.1
    points, triangles = extract(ring)
    check_surface(points, triangles)
    assert reference.euler(triangles) == 0
    assert reference.volume(points, triangles) == pytest.approx(2 * np.pi**2 * 10.0 * 4.1**2, rel=0.02)
    rings = [np.hypot(np.hypot(at[..., 0] - s, at[..., 1]) - 8.0, at[..., 2]) - 3.1 for s in (-8.2, 8.2)]
    points, triangles = extract(np.minimum(*rings))
    check_surface(points, triangles)
    assert reference.euler(triangles) == -2


@pytest.mark.parametrize("seed", range(3))
def test_random_fields_are_closed(seed):
    rng = np.random.default_rng(seed)
    points, triangles = extract(padded(rng.standard_normal((17, 39, 21))), float(rng.uniform(-0.4, 0.4)))
    check_surface(points, triangles)
    assert reference.volume(points, triangles) > 0


@pytest.mark.parametrize("size", [(2, 2, 2), (3, 2, 5), (33, 3, 4), (66, 4, 3), (12, 13, 11)])
def test_random_fields_are_those_of_the_reference(size):
    rng = np.random.default_rng(sum(size))
    check_against_reference(rng.standard_normal(size), 0.1)


def test_every_case_of_a_cell():
    """Each way in which the corners of one cell can lie inside, in the midst of outside nodes."""
    rng = np.random.default_rng(2)
    for case in range(256):
        field = rng.uniform(0.5, 1.5, (4, 4, 4))
        inside = {o for c, o in enumerate(wp.MarchingCubes.CUBE_CORNER_OFFSETS) if case >> c & 1}
        for o in inside:
            field[tuple(np.add(o, 1))] *= -1.0
        points, triangles = extract(field)
        check_surface(points, triangles)
        check_against_reference(field, 0.0)
        if not inside:
            assert len(points) == 0
            continue
        # Inside nodes hang together along edges and, where the other two are outside, across squares.
        near = [(a, b) for a, b in itertools.combinations(inside, 2) if np.abs(np.subtract(a, b)).sum() == 1]
        across = [(a, b) for a, b in itertools.combinations(inside, 2) if np.abs(np.subtract(a, b)).sum() == 2]
        sides = [(t[a], t[b]) for t in triangles.tolist() for a, b in ((0, 1), (1, 2), (2, 0))]
        assert reference.parts(sides, set(range(len(points)))) == reference.parts(near + across, inside)
        assert reference.volume(points, triangles) > 0


def test_tables():
    cubes = wp.MarchingCubes
    assert len(cubes.CUBE_CORNER_OFFSETS) == 8 and len(cubes.EDGE_TO_CORNERS) == 12
    for low, high in cubes.EDGE_TO_CORNERS:
        step = np.subtract(cubes.CUBE_CORNER_OFFSETS[high], cubes.CUBE_CORNER_OFFSETS[low])
        assert step.sum() == np.abs(step).sum() == 1
    ranges = cubes.CASE_TO_TRI_RANGE
    assert len(ranges) == 257 and ranges[0] == ranges[1] == 0 and ranges[-1] == ranges[-2] == len(cubes.TRI_LOCAL_INDICES)
    for case in range(256):
        edges = cubes.TRI_LOCAL_INDICES[ranges[case] : ranges[case + 1]]
        crossed = {e for e, (a, b) in enumerate(cubes.EDGE_TO_CORNERS) if (case >> a & 1) != (case >> b & 1)}
        assert set(edges) == crossed and len(edges) % 3 == 0 and len(edges) <= 15
    assert wp.geometry.IsoSurfaceMarchingCubes.TRI_LOCAL_INDICES is cubes.TRI_LOCAL_INDICES


# ---- fields of all sorts -------------------------------------------------------------------------------------------------


def test_nodes_on_the_threshold():
    """They are outside: a surface may run through them, a node by itself has none."""
    field = np.ones((5, 5, 5))
    field[2, 2, 2] = 0.0
    points, triangles = extract(field)
    assert len(points) == len(triangles) == 0
    points, triangles = extract(-field)  # -0.0 is no less than 0.0
    check_surface(points, triangles)
    assert len(points) == 6 and (points == 2.0).all()
    whole = np.abs(grid(9, 9, 9) - 4).sum(axis=-1)  # every crossing lies on a node
    points, triangles = extract(padded(whole, 9.0), 3.0)
    check_surface(points, triangles)
    assert reference.volume(points, triangles) == pytest.approx(4 / 3 * 27, rel=1e-6)
    rng = np.random.default_rng(4)
    points, triangles = extract(padded(rng.integers(-1, 2, (12, 12, 12))))
    check_surface(points, triangles)


def test_fields_of_one_sign():
    for value in (-1.0, 0.0, 1.0):
        points, triangles = extract(np.full((6, 5, 4), value))
        assert points.shape == triangles.shape == (0, 3)
    for threshold in (np.nan, -np.inf, np.inf):
        points, triangles = extract(np.ones((6, 5, 4)), threshold)
        assert points.shape == triangles.shape == (0, 3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(value):
    for other in (1.0, -1.0):
        field = np.full((5, 5, 5), other)
        field[2, 2, 2] = value
        points, triangles = extract(field)
        crosses = (value < 0.0) != (other < 0.0)
        assert len(points) == (6 if crosses else 0)
        if crosses:
            check_surface(points, triangles)
            # Next to an infinite node the surface goes through the finite one; half way if a node is no number.
            reach = 0.5 if np.isnan(value) else 1.0
            np.testing.assert_array_equal(np.abs(points - 2.0).sum(axis=1), reach)
    rng = np.random.default_rng(3)
    field = rng.standard_normal((14, 15, 16))
    field[rng.random(field.shape) < 0.3] = value
    points, triangles = extract(padded(field))
    check_surface(points, triangles)
    assert np.isfinite(points).all() and (points >= 0).all() and (points <= 17).all()


def test_infinities_of_both_signs_and_huge_values():
    field = padded(np.full((1, 1, 1), -np.inf), np.inf)
    points, triangles = extract(field)
    check_surface(points, triangles)
    np.testing.assert_array_equal(np.abs(points - 1.0).sum(axis=1), 0.5)
    points, _ = extract(padded(np.full((1, 1, 1), -3e38), 3e38), 0.0)
    np.testing.assert_allclose(np.abs(points - 1.0).sum(axis=1), 0.5)
    points, _ = extract(padded(np.full((1, 1, 1), -1e-44), 1e-44), 0.0)
    np.testing.assert_allclose(np.abs(points - 1.0).sum(axis=1), 0.5, atol=0.01)
    points, triangles = extract(padded(np.full((1, 1, 1), 2.0), np.inf), np.inf)
    check_surface(points, triangles)
    np.testing.assert_array_equal(points, np.full((6, 3), 1.0))


# ---- grids, bounds, devices ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(1, 5, 5), (5, 1, 5), (5, 5, 1), (1, 1, 1), (0, 4, 4), (4, 0, 4), (0, 0, 0)])
def test_grids_without_cells(size):
    for call in (extract, lambda field: wp.geometry.IsoSurfaceMarchingCubes.extract(wp.array(field, dtype=float))):
        with pytest.raises(ValueError, match="at least 2 nodes on each axis, but got an array with shape"):
            call(grid(*size).sum(axis=-1) - 2.5)


@pytest.mark.parametrize("nx", [31, 32, 33, 63, 64, 65, 97])
def test_columns_of_every_length(nx):
    """Kernels take nodes by 32 along the first axis."""
    rng = np.random.default_rng(nx)
    points, triangles = extract(padded(rng.standard_normal((nx - 2, 3, 4))))
    check_surface(points, triangles)
    check_against_reference(rng.standard_normal((nx, 3, 3)), 0.0)


def test_a_surface_ends_at_the_border():
    for axis in range(3):
        points, triangles = extract(grid(5, 6, 7)[..., axis] - 1.25)
        assert (points[:, axis] == 1.25).all()
        others = [n - 1 for a, n in enumerate((5, 6, 7)) if a != axis]
        assert len(triangles) == 2 * others[0] * others[1]
        a, b, c = (points[triangles[:, k]] for k in range(3))
        assert (np.cross(b - a, c - a)[:, axis] > 0).all()


def test_bounds():
    field = np.linalg.norm(grid(9, 11, 13) - (4, 5, 6), axis=-1) - 3.3
    plain, triangles = extract(field)
    for lower, upper in (((-1, 2, 0.5), (1, 3, 8)), (wp.vec3(1, 2, 3), [-4, 2.5, 3.5])):
        points, same = extract(field, domain_bounds_lower_corner=lower, domain_bounds_upper_corner=upper)
        assert np.array_equal(same, triangles)
        low, high = np.array([*lower], dtype=float), np.array([*upper], dtype=float)
        np.testing.assert_allclose(points, low + plain * (high - low) / (8, 10, 12), atol=1e-5)
    points, _ = extract(field, domain_bounds_lower_corner=(1, 0, 2))  # to the last node's indices
    np.testing.assert_allclose(points, (1, 0, 2) + plain * (7 / 8, 1, 10 / 12), atol=1e-5)
    points, _ = extract(field, domain_bounds_upper_corner=(1, 20, 12))
    np.testing.assert_allclose(points, plain * (1 / 8, 2, 1), atol=1e-5)


def test_functions_without_an_object():
    field = wp.array(np.linalg.norm(grid(9, 9, 9) - 4, axis=-1), dtype=float)
    verts, indices = wp.MarchingCubes.extract_surface_marching_cubes(field, 2.5, (0, 0, 0), (1, 1, 1))
    cubes = wp.MarchingCubes(9, 9, 9)
    cubes.surface(field, 2.5)
    np.testing.assert_allclose(8 * verts.numpy(), cubes.verts.numpy(), atol=1e-5)
    assert np.array_equal(indices.numpy(), cubes.indices.numpy())
    newer = wp.geometry.IsoSurfaceMarchingCubes
    others = newer.extract(field, 2.5, lower=(0, 0, 0), upper=(1, 1, 1))
    for mine, other in zip((verts, indices), others):
        assert np.array_equal(mine.numpy(), other.numpy())
    made = newer(9, 9, 9, (0, 0, 0), upper=(1, 1, 1))
    assert made.verts is None and made.domain_bounds_upper_corner == (1, 1, 1)
    made.surface(field, 2.5)
    assert np.array_equal(made.verts.numpy(), verts.numpy())
    made.domain_bounds_lower_corner = made.domain_bounds_upper_corner = None
    made.surface(field, 2.5)
    assert np.array_equal(made.verts.numpy(), cubes.verts.numpy())


def test_attributes_and_resize(device):
    cubes = wp.MarchingCubes(5, 6, 7, 100, 200)
    assert (cubes.nx, cubes.ny, cubes.nz, cubes.max_verts, cubes.max_tris) == (5, 6, 7, 100, 200)
    assert cubes.device == device and cubes.verts is None and cubes.indices is None
    assert cubes.id != wp.MarchingCubes(5, 6, 7).id
    cubes.surface(wp.array(grid(5, 6, 7)[..., 0] - 0.5, dtype=float), 0.0)
    assert len(cubes.verts) == 42 and cubes.verts.device == cubes.indices.device == device
    kept = cubes.verts
    cubes.resize(nx=4, ny=4, nz=4, max_verts=1, max_tris=1)  # room for the whole surface, all the same
    assert (cubes.nx, cubes.ny, cubes.nz, cubes.max_verts, cubes.max_tris) == (4, 4, 4, 1, 1)
    assert cubes.verts is kept
    cubes.surface(wp.array(grid(4, 4, 4)[..., 0] - 0.5, dtype=float), 0.0)
    assert len(cubes.verts) == 16 and len(kept) == 42


def test_fields_with_strides():
    rng = np.random.default_rng(5)
    field = rng.standard_normal((10, 12, 14)).astype(np.float32)
    wanted = extract(field)
    turned = wp.array(np.ascontiguousarray(field.transpose(2, 0, 1)), dtype=float).transpose((1, 2, 0))
    assert not turned.is_contiguous
    cubes = wp.MarchingCubes(10, 12, 14)
    cubes.surface(turned, 0.0)
    assert np.array_equal(cubes.verts.numpy(), wanted[0])
    assert np.array_equal(cubes.indices.numpy().reshape(-1, 3), wanted[1])
    wide = np.zeros((20, 12, 28), dtype=np.float32)
    wide[::2, :, ::2] = field
    cubes.surface(wp.array(wide, dtype=float)[::2, :, ::2], 0.0)
    assert np.array_equal(cubes.verts.numpy(), wanted[0])


def test_same_numbers_in_every_run_and_on_every_device():
    field = np.random.default_rng(6).standard_normal((40, 30, 20)).astype(np.float32)
    runs = [extract(field) for _ in range(2)]
    with wp.ScopedDevice("cpu"):
        runs.append(extract(field))
    for points, triangles in runs[1:]:
        assert np.array_equal(points, runs[0][0]) and np.array_equal(triangles, runs[0][1])


@pytest.mark.cpu_only
@pytest.mark.parametrize("flag, value", [("cpu_lanes", 1), ("cpu_lanes", 2), ("cpu_threads", 1), ("mode", "debug")])
def test_same_numbers_however_the_kernels_run(monkeypatch, flag, value):
    field = np.random.default_rng(8).standard_normal((67, 9, 10)).astype(np.float32)
    wanted = extract(field)
    monkeypatch.setattr(wp.config, flag, value)
    found = extract(field)
    assert np.array_equal(found[0], wanted[0]) and np.array_equal(found[1], wanted[1])


def test_a_captured_graph_is_refused():
    """How long the arrays are is known only when the field is."""
    field = wp.array(grid(4, 4, 4)[..., 0] - 0.5, dtype=float)
    cubes = wp.MarchingCubes(4, 4, 4)
    cubes.surface(field, 0.0)
    with pytest.raises(RuntimeError, match="captured"), wp.ScopedCapture():
        cubes.surface(field, 0.0)
    cubes.surface(field, 0.0)
    assert len(cubes.verts) == 16


def test_grids_whose_counts_need_64_bits(monkeypatch):
    from warp._src.geometry import marching_cubes

    assert marching_cubes._count_type(490**3) == "int32" and marching_cubes._count_type(493**3) == "int64"
    field = np.random.default_rng(7).standard_normal((34, 12, 13)).astype(np.float32)
    wanted = extract(field)
    monkeypatch.setattr(marching_cubes, "_MOST_IN_INT32", 10 * field.size)
    found = extract(field)
    assert np.array_equal(found[0], wanted[0]) and np.array_equal(found[1], wanted[1])
    monkeypatch.setattr(marching_cubes, "_MOST_IN_INT32", 1000)
    with pytest.raises(RuntimeError, match=r"vertices, more than int32 indices can name"):
        extract(field)


def test_what_is_refused(device):
    cubes = wp.MarchingCubes(5, 5, 5)
    for shape in ((5, 5), (5, 5, 6), (5, 5, 5, 5), (6, 5, 5)):
        with pytest.raises(ValueError, match="does not match context grid dimensions"):
            cubes.surface(wp.zeros(shape, dtype=float), 0.0)
    with pytest.raises(ValueError, match="Expected a 3D array"):
        wp.MarchingCubes.extract_surface_marching_cubes(wp.zeros((5, 5), dtype=float), 0.0)
    for kind in (wp.float64, wp.float16, wp.int32, wp.vec3):
        with pytest.raises(TypeError, match="dtype of wp.float32 for 'field', but got"):
            cubes.surface(wp.zeros((5, 5, 5), dtype=kind), 0.0)
    for other in (np.zeros((5, 5, 5), dtype=np.float32), [1.0], None):
        with pytest.raises(TypeError, match="Expected 'field' to be a wp.array"):
            cubes.surface(other, 0.0)
    for threshold in (None, "zero", (1.0, 2.0)):
        with pytest.raises((TypeError, ValueError)):
            cubes.surface(wp.zeros((5, 5, 5), dtype=float), threshold)
    assert cubes.verts is None
    with pytest.raises(ValueError, match="can't be"):
        wp.MarchingCubes(5, -1, 5)
    with pytest.raises(ValueError, match="can't be"):
        cubes.resize(-5, 1, 5)
    with pytest.raises(TypeError):
        wp.MarchingCubes(5.5, 5, 5)
    for corner, error in (((1, 2), ValueError), (3.0, TypeError), ((1, 2, None), TypeError)):
        with pytest.raises(error, match="three numbers"):
            extract(np.zeros((3, 3, 3)), domain_bounds_lower_corner=corner)
    for given in ({"lower": (0, 0, 0)}, {"upper": (1, 1, 1)}):
        older = {f"domain_bounds_{name}_corner": corner for name, corner in given.items()}
        for kind in (wp.MarchingCubes, wp.geometry.IsoSurfaceMarchingCubes):
            with pytest.raises(TypeError, match="Cannot specify both"):
                kind(4, 4, 4, **given, **older)
    with pytest.raises(TypeError, match="abstract"):
        wp.geometry.IsoSurfaceBase(4, 4, 4)
    if device.is_cuda:
        with pytest.raises(RuntimeError, match="the field lies on"):
            wp.MarchingCubes(5, 5, 5, device="cpu").surface(wp.zeros((5, 5, 5), dtype=float), 0.0)
        cubes.surface(wp.zeros((5, 5, 5), dtype=float, device="cpu"), 1.0)  # it was said of no device
        assert cubes.device.is_cpu and cubes.verts.device.is_cpu


def test_where_the_names_are():
    assert wp.types.MarchingCubes is wp.build.MarchingCubes is wp.MarchingCubes
    assert issubclass(wp.MarchingCubes, wp.geometry.IsoSurfaceMarchingCubes)
    assert issubclass(wp.MarchingCubes, wp.geometry.IsoSurfaceBase)
    assert "MarchingCubes" in wp.__all__ and "MarchingCubes" in dir(wp)
