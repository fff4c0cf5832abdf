"""What the examples share besides kernels: a progress bar and PNG files, both by the standard library alone."""

from __future__ import annotations

import pathlib
import struct
import sys
import time
import zlib
from types import TracebackType

import numpy as np
import warp as wp


class Progress:
    """A bar on standard error, with the time that is left; silent when wp.config.quiet or when nobody watches."""

    WIDTH = 32

    def __init__(self, title: str, total: int) -> None:
        self.title, self.total, self.done = title, total, 0
        self.begin = time.perf_counter()
        self.shown = 0.0
        self.visible = sys.stderr.isatty() and not wp.config.quiet

    def __enter__(self) -> Progress:
        self.show()
        return self

    def __exit__(self, kind: type | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self.visible:
            sys.stderr.write("\n")

    def advance(self) -> None:
        """One more step is done."""
        self.done += 1
        if self.done == self.total or time.perf_counter() - self.shown > 0.05:
            self.show()

    def show(self) -> None:
        """Draws the bar anew."""
        if not self.visible:
            return
        self.shown = time.perf_counter()
        elapsed = self.shown - self.begin
        filled = self.WIDTH * self.done // max(self.total, 1)
        note = f"{elapsed:5.1f} s"
        if 0 < self.done < self.total:
            note += f", {elapsed * (self.total - self.done) / self.done:.0f} s left"
        bar = "█" * filled + "░" * (self.WIDTH - filled)
        sys.stderr.write(f"\r{self.title:>12} {bar} {self.done}/{self.total} {note}\033[K")
        sys.stderr.flush()


def write_png(path: pathlib.Path, image: np.ndarray) -> None:
    """Writes bytes of shape (height, width, 3) or (height, width) as RGB or grey."""
    image = np.ascontiguousarray(image, dtype=np.uint8)
    height, width = image.shape[:2]
    channels = image.shape[2] if image.ndim == 3 else 1
    if channels not in (1, 3):
        raise ValueError(f"an image has 1 or 3 channels, not {channels}")
    rows = image.reshape(height, width * channels)
    # Each row stands as its difference to the row above (filter 2) or unchanged (0), whichever has the smaller numbers.
    up = rows.copy()
    up[1:] -= rows[:-1]
    sub = rows.copy()
    sub[:, channels:] -= rows[:, :-channels]
    candidates = {0: rows, 1: sub, 2: up}
    cost = {kind: np.abs(data.view(np.int8).astype(np.int32)).sum(axis=1) for kind, data in candidates.items()}
    kinds = np.argmin(np.stack([cost[kind] for kind in (0, 1, 2)]), axis=0)
    lines = b"".join(bytes([kind]) + candidates[int(kind)][row].tobytes() for row, kind in enumerate(kinds))

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")
    )
