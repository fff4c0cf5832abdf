"""Queries on meshes as plain loops over all faces, in NumPy: by the very operations of src/stdlib, rounding for rounding (float32
with an exact fused multiply-add), for tests that want equality; and meshes and queries to ask."""

from __future__ import annotations

import numpy as np

F = np.float32
CLEARANCE = F(1.0 + 2.0**-19)


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a*b + c of float32, rounded once: the product is exact in float64, the sum there is rounded to odd."""
    with np.errstate(all="ignore"):
        p = np.asarray(a, np.float64) * np.asarray(b, np.float64)
        c = np.asarray(c, np.float64)
        s = p + c
        back = s - p
        lost = (p - (s - back)) + (c - back)
        even = (s.view(np.int64) & 1) == 0
        off = np.isfinite(s) & (lost != 0) & even
        s = np.where(off, np.nextafter(s, np.where(lost > 0, np.inf, -np.inf)), s)
        return s.astype(F)


def dot3(ax, ay, az, bx, by, bz):
    return fma(az, bz, fma(ay, by, ax * bx))


def products_apart(a, b, c, d):
    cd = c * d
    return fma(a, b, -cd) + fma(-c, d, cd)


def area(ax, ay, bx, by):
    return fma(ax, by, -(ay * bx))


def rates(d: np.ndarray) -> np.ndarray:
    along = np.abs(d) < F(1e-37)
    return np.where(along, np.where(d < 0, F(-1e37), F(1e37)), F(1) / np.where(along, F(1), d)).astype(F)


def box_range(low, high, start, rate):
    """Where a ray comes into boxes and leaves them; axes last."""
    back = rate < 0
    near = (np.where(back, high, low) - start) * rate
    far = fma(np.where(back, low, high) - start, rate, np.abs(rate) * F(1e-17))
    return np.maximum(near.max(-1), F(0)), far.min(-1)


def rays(points: np.ndarray, faces: np.ndarray, start: np.ndarray, dir: np.ndarray, max_t: np.ndarray) -> dict:
    """Of each ray (rows) the nearest face, -1 for none, t, u, v and sign; and how many faces it crosses."""
    with np.errstate(all="ignore"):
        corners = points[faces.reshape(-1, 3)][None]  # 1, faces, corner, axis
        size = np.abs(dir)
        z = np.where(size[:, 0] > size[:, 1], 0, 1)
        z = np.where(size[:, 2] > size[np.arange(len(z)), z], 2, z)
        order = np.stack([(z + 1) % 3, (z + 2) % 3, z], 1)
        take = lambda v: np.take_along_axis(v, order, 1)[:, None, :]
        o, d, r = take(start), take(dir), take(rates(dir))
        c = np.take_along_axis(
            np.broadcast_to(corners, (len(z), *corners.shape[1:])), order[:, None, None, :], -1
        )  # rays, faces, corner, axis
        scale = F(1) / d[..., 2]
        shear_x, shear_y = -(d[..., 0] * scale), -(d[..., 1] * scale)
        depth = [c[..., k, 2] - o[..., 2] for k in range(3)]
        x = [fma(depth[k], shear_x, c[..., k, 0] - o[..., 0]) for k in range(3)]
        y = [fma(depth[k], shear_y, c[..., k, 1] - o[..., 1]) for k in range(3)]
        u = products_apart(x[2], y[1], y[2], x[1])
        v = products_apart(x[0], y[2], y[0], x[2])
        w = products_apart(x[1], y[0], y[1], x[0])
        whole = u + v + w
        hits = ((u >= 0) & (v >= 0) & (w >= 0)) | ((u <= 0) & (v <= 0) & (w <= 0))
        hits &= np.abs(whole) > 0
        share = F(1) / whole
        a, b, g = u * share, v * share, w * share
        t = dot3(a, b, g, depth[0] * scale, depth[1] * scale, depth[2] * scale)
        entry, exit = box_range(c.min(2), c.max(2), o, r)
        hits &= (t >= 0) & (entry <= exit * CLEARANCE) & np.isfinite(corners).all((2, 3))
        t = np.where(t < entry, entry, t)
        valid = np.isfinite(start).all(1) & np.isfinite(dir).all(1) & (size.max(1) >= F(1e-37))
        hits &= valid[:, None]
        key = np.where(hits & (t < max_t[:, None]) & (max_t > 0)[:, None], t, np.inf)
        if not key.shape[1]:
            none = np.zeros(len(key), F)
            return {"face": none - 1, "t": none, "u": none, "v": none, "sign": none, "count": none}
        face = key.argmin(1)  # the first of equal ones
        found = np.isfinite(key.min(1))
        owned = hits & (t < np.inf)
        up = whole > 0
        for value, i, j in ((u, 1, 2), (v, 2, 0), (w, 0, 1)):
            to_up, to_down = y[i] < y[j], y[j] < y[i]
            level = ~(to_up | to_down)
            runs = np.where(up, to_up | (level & (x[i] < x[j])), to_down | (level & (x[j] < x[i])))
            owned &= (value != 0) | runs
        row = np.arange(len(face))
        pick = lambda m: np.where(found, m[row, face], 0)
        front = (whole > 0) != (scale < 0)
        return {
            "face": np.where(found, face, -1),
            "t": pick(t),
            "u": pick(a),
            "v": pick(b),
            "sign": pick(np.where(front, F(1), F(-1))),
            "count": owned.sum(1),
        }


def edge_scale(mean_edge: float) -> np.float32:
    if not (mean_edge > 0 and np.isfinite(mean_edge)):
        return F(1)
    return F(2.0 ** (-2 * np.floor(np.log2(np.clip(F(mean_edge), F(1e-18), F(1e18))))))


def face_keys(points: np.ndarray, faces: np.ndarray, p: np.ndarray, scale: np.float32):
    """Squared distances of all faces from points (rows), clamped to those of their boxes; inf for those that don't count."""
    with np.errstate(all="ignore"):
        corners = points[faces.reshape(-1, 3)][None]
        at = [[corners[:, :, k, i] for i in range(3)] for k in range(3)]
        q = [p[:, i : i + 1] for i in range(3)]
        a0 = [at[0][i] - q[i] for i in range(3)]
        b0 = [at[1][i] - q[i] for i in range(3)]
        u = [at[1][i] - at[0][i] for i in range(3)]
        v = [at[2][i] - at[0][i] for i in range(3)]
        w = [at[2][i] - at[1][i] for i in range(3)]

        def edge(p, e):
            s = np.clip(-dot3(*p, *e) / dot3(*e, *e), F(0), F(1))
            r = [fma(e[i], s, p[i]) for i in range(3)]
            return dot3(*r, *r)

        edges = np.minimum(np.minimum(edge(a0, u), edge(a0, v)), edge(b0, w))
        cross = lambda x, y: [area(x[(i + 1) % 3], x[(i + 2) % 3], y[(i + 1) % 3], y[(i + 2) % 3]) * scale for i in range(3)]
        n = cross(u, v)
        square = dot3(*n, *n)
        b, c = dot3(*cross(v, a0), *n), dot3(*cross(a0, u), *n)
        inside = (np.minimum(np.minimum(b, c), square - b - c) >= 0) & (square > 0)
        height = dot3(*a0, *n)
        key = np.where(inside, height * height / square, edges)
        sides = (dot3(*u, *u) + dot3(*v, *v) + dot3(*w, *w)) * scale
        flat = ~(square / (sides * sides) >= F(1e-12))
        low, high = corners.min(2), corners.max(2)
        out = [np.maximum(np.maximum(low[..., i] - q[i], q[i] - high[..., i]), F(0)) for i in range(3)]
        key = np.maximum(key, dot3(*out, *out))
        return np.where(flat | ~np.isfinite(corners).all((2, 3)), np.nan, key)


def nearest(points: np.ndarray, faces: np.ndarray, p: np.ndarray, max_dist: np.ndarray, scale: np.float32) -> np.ndarray:
    """The nearest faces of points; -1 for none."""
    keys = face_keys(points, faces, p, scale)
    with np.errstate(all="ignore"):
        limit = (max_dist * max_dist)[:, None]
        counts = (keys < limit) | (np.isposinf(max_dist)[:, None] & ~np.isnan(keys))
    counts &= (np.isfinite(p).all(1) & (max_dist >= 0))[:, None]
    best = np.where(counts, keys, np.inf)
    first = (counts & (best == best.min(1, keepdims=True))).argmax(1)
    return np.where(counts.any(1), first, -1)


def furthest(points: np.ndarray, faces: np.ndarray, p: np.ndarray, min_dist: np.ndarray, scale: np.float32) -> np.ndarray:
    """The faces with the furthest corners; -1 for none."""
    flat = np.isnan(face_keys(points, faces, p, scale))
    with np.errstate(all="ignore"):
        d = points[faces.reshape(-1, 3)][None] - p[:, None, None, :]
        far = dot3(d[..., 0], d[..., 1], d[..., 2], d[..., 0], d[..., 1], d[..., 2]).max(2)
        limit = np.where(min_dist < 0, F(-1), min_dist * min_dist)[:, None]
        counts = ~flat & (far > limit) & np.isfinite(p).all(1)[:, None] & ~np.isnan(min_dist)[:, None]
    far = np.where(counts, far, -np.inf)
    return np.where(counts.any(1), far.argmax(1), -1)


# Meshes and queries.


def sphere(n: int, wobble: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """A closed surface around the origin, corners counter-clockwise from outside; 4 n (n - 1) faces."""
    u, v = np.meshgrid(np.arange(2 * n) * np.pi / n, np.arange(1, n) * np.pi / n)
    radius = 1 + wobble * np.sin(3 * u) * np.sin(v) ** 2
    ring = np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], -1) * radius[..., None]
    points = np.concatenate([ring.reshape(-1, 3), [[0, 0, 1], [0, 0, -1]]])
    i, j = np.meshgrid(np.arange(n - 2), np.arange(2 * n), indexing="ij")
    a, b = i * 2 * n + j, i * 2 * n + (j + 1) % (2 * n)
    sides = [np.stack([a, a + 2 * n, b], -1).reshape(-1, 3), np.stack([b, a + 2 * n, b + 2 * n], -1).reshape(-1, 3)]
    top, bottom, last = len(points) - 2, len(points) - 1, (n - 2) * 2 * n
    k = np.arange(2 * n)
    caps = [
        np.stack([np.full_like(k, top), k, (k + 1) % (2 * n)], -1),
        np.stack([np.full_like(k, bottom), last + (k + 1) % (2 * n), last + k], -1),
    ]
    return points.astype(F), np.concatenate(sides + caps).astype(np.int32)


def cube() -> tuple[np.ndarray, np.ndarray]:
    points = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], F)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return points, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], np.int32)


def meshes() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    generator = np.random.default_rng(11)
    found = {"sphere": sphere(8), "cube": cube(), "one": (np.eye(3, dtype=F), np.array([[0, 1, 2]], np.int32))}
    soup = generator.uniform(-1, 1, (300, 3)).astype(F)
    found["soup"] = (soup, np.arange(300, dtype=np.int32).reshape(-1, 3))
    needles = generator.uniform(-1, 1, (60, 1, 3)) + generator.normal(size=(60, 3, 3)) * [[[0.5, 1e-4, 1e-6]]]
    found["needles"] = (needles.reshape(-1, 3).astype(F), np.arange(180, dtype=np.int32).reshape(-1, 3))
    p, f = cube()
    found["duplicates"] = (p, np.concatenate([f, f, f[::-1], f]))
    found["flat"] = (np.concatenate([p, p[:3]]), np.concatenate([f, [[0, 0, 1], [2, 2, 2], [0, 1, 8]]]).astype(np.int32))
    grid = np.stack([*np.meshgrid(np.arange(6.0), np.arange(6.0)), np.zeros((6, 6))], -1).reshape(-1, 3).astype(F)
    k = (np.arange(5)[:, None] * 6 + np.arange(5)).ravel()
    plane = np.concatenate([np.stack([k, k + 1, k + 6], 1), np.stack([k + 1, k + 7, k + 6], 1)]).astype(np.int32)
    found["plane"] = (grid, plane)
    p, f = sphere(5)
    found["huge"], found["tiny"] = (p * F(1e14), f), (p * F(1e-14), f)
    found["far"] = (p + F(1000), f)
    broken = p.copy()
    broken[3], broken[9, 1] = np.nan, np.inf
    found["broken"] = (broken, f)
    found["nested"] = (np.concatenate([p, p * F(0.5)]), np.concatenate([f, f[:, ::-1] + len(p)]).astype(np.int32))
    found["empty"] = (p, np.zeros((0, 3), np.int32))
    sizes = [(p * F(size) + F(at)).astype(F) for size, at in ((100, 0), (0.1, 30), (1e-4, 0.5), (1e-3, 0))]
    found["scales"] = (np.concatenate(sizes), np.concatenate([f + k * len(p) for k in range(len(sizes))]).astype(np.int32))
    return found


def size_of(points: np.ndarray) -> tuple[np.ndarray, float]:
    good = points[np.isfinite(points).all(1)]
    middle = (good.min(0) + good.max(0)) / 2
    return middle, float(np.abs(good - middle).max())


def targets(points: np.ndarray, faces: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """Points on faces, edges and corners."""
    if not len(faces):
        return np.zeros((count, 3), F)
    corners = points[faces[generator.integers(0, len(faces), count)]].astype(np.float64)
    weights = generator.dirichlet([1, 1, 1], count)
    kind = generator.integers(0, 3, count)
    weights[kind == 1, 0] = 0
    weights[kind == 2] = [0, 0, 1]
    weights /= weights.sum(1, keepdims=True)
    with np.errstate(all="ignore"):
        found = (corners * weights[..., None]).sum(1)
    return np.where(np.isfinite(found), found, 0).astype(F)


def ray_cases(points: np.ndarray, faces: np.ndarray, count: int = 400, seed: int = 1):
    """Starts, directions and limits: at random, at edges and corners, along axes, from the surface, and what is no ray."""
    generator = np.random.default_rng(seed)
    middle, size = size_of(points)
    start = (middle + generator.uniform(-2, 2, (count, 3)) * size).astype(F)
    aim = targets(points, faces, count, generator)
    dir = (aim - start).astype(F)
    some = generator.integers(0, 6, count)
    dir[some == 1] = (generator.normal(size=(count, 3)) * size).astype(F)[some == 1]
    axis = generator.integers(0, 3, count)
    along = np.zeros((count, 3), F)
    along[np.arange(count), axis] = F(size) * np.where(generator.random(count) < 0.5, -1, 1)
    dir[some == 2] = along[some == 2]
    start[some == 2] = (aim - along * F(1.5))[some == 2]
    start[some == 3] = aim[some == 3]
    dir[some == 4] *= generator.uniform(0.01, 100, (count, 1)).astype(F)[some == 4]
    max_t = np.full(count, np.inf, F)
    max_t[generator.random(count) < 0.2] = F(1.0)
    dir[0], dir[1, 0], start[2, 1], max_t[3], max_t[4], max_t[5], dir[6, 2] = 0, np.nan, np.nan, np.nan, 0, -1, np.inf
    return start, dir, max_t


def point_cases(points: np.ndarray, faces: np.ndarray, count: int = 300, seed: int = 2):
    generator = np.random.default_rng(seed)
    middle, size = size_of(points)
    p = (middle + generator.uniform(-2, 2, (count, 3)) * size).astype(F)
    aim = targets(points, faces, count, generator)
    some = generator.integers(0, 5, count)
    p[some == 1] = aim[some == 1]
    p[some == 2] = (aim + generator.normal(size=(count, 3)) * size * 0.01).astype(F)[some == 2]
    p[some == 3] = (middle + generator.normal(size=(count, 3)) * size * 1e4).astype(F)[some == 3]
    limit = np.full(count, np.inf, F)
    limit[generator.random(count) < 0.3] = F(size)
    p[0], p[1, 2], limit[2], limit[3], limit[4] = np.nan, np.inf, np.nan, 0, -1
    return p, limit
