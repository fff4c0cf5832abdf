"""The scene of the geometry benchmarks (bench/common/scene.def): its mesh, rays and places to ask for.

Rays: a camera's image, row by row ("coherent"), and from random places of the cube around the mesh in random directions
("incoherent"). Places: random in that cube ("box"), and within a hundredth of the surface ("near").
"""

from __future__ import annotations

import os
import re

import numpy as np

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "common", "scene.def")
NAMES = ("displaced", "round")


def lines(what: str) -> list[list[str]]:
    with open(FILE, encoding="utf-8") as file:
        return [found.split(", ") for found in re.findall(rf"^{what}\((.*)\)$", file.read(), re.MULTILINE)]


class Scene:
    """points and corners of the mesh, half the side of the cube around it."""

    def __init__(self, name: str = "displaced") -> None:
        rings, segments = (int(n) for n in lines("SCENE_SIZE")[0])
        self.half = next(float(half) for found, half in lines("SCENE") if found == name)
        theta, phi = np.meshgrid(
            np.pi * np.arange(rings + 1) / rings, 2 * np.pi * np.arange(segments) / segments, indexing="ij"
        )
        place = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], -1)
        radius = np.ones(theta.shape)
        for found, *numbers in lines("SCENE_WAVE"):
            if found == name:
                amplitude, *waves = (float(n) for n in numbers)
                radius += amplitude * np.prod(np.sin(place * waves[::2] + waves[1::2]), -1)
        self.points = (place * radius[..., None]).reshape(-1, 3).astype(np.float32)
        r, s = np.meshgrid(np.arange(rings), np.arange(segments), indexing="ij")
        a, b = r * segments + s, r * segments + (s + 1) % segments
        c, d = a + segments, b + segments
        self.corners = np.stack([a, c, b, b, c, d], -1).reshape(-1, 3).astype(np.int32)

    def rays(self, count: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Starts and directions, about so many."""
        side = int(count**0.5)
        y, x = np.meshgrid(*2 * [np.linspace(-self.half, self.half, side)], indexing="ij")
        eye = np.array([0.3, 0.2, 3.0])
        image = np.stack([x, y, np.zeros_like(x)], -1).reshape(-1, 3) - eye
        random = np.random.default_rng(5)
        starts = random.uniform(-self.half, self.half, (side * side, 3))
        ways = random.normal(size=(side * side, 3))
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        pairs = {"coherent": (np.broadcast_to(eye, image.shape), image), "incoherent": (starts, ways)}
        return {name: tuple(np.ascontiguousarray(a, np.float32) for a in pair) for name, pair in pairs.items()}

    def places(self, count: int) -> dict[str, np.ndarray]:
        random = np.random.default_rng(6)
        centres = self.points[self.corners[random.integers(0, len(self.corners), count)]].mean(1)
        near = centres * (1 + random.uniform(-0.01, 0.01, (count, 1)))
        box = random.uniform(-self.half, self.half, (count, 3))
        return {"box": box.astype(np.float32), "near": near.astype(np.float32)}
