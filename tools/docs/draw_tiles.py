#!/usr/bin/env python3
"""Draws docs/images/tiles.svg: who works on which element of a tile.

  draw_tiles.py docs/images/tiles.svg

Three pictures side by side: a core of a CPU that takes one block and makes vectors along its elements, one that has
`wp.config.cpu_lanes` and takes several blocks at once, and the threads of a block on a GPU.
"""

from __future__ import annotations

import pathlib
import sys

COLOURS = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#72b7b2", "#e45756", "#eeca3b", "#9d755d"]
CELL, GAP = 24, 2
STEP = CELL + GAP
ROWS, COLUMNS = 4, 8


class Picture:
    def __init__(self, width: int, height: int):
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
            '<rect width="100%" height="100%" fill="#ffffff"/>',
        ]

    def text(self, x: float, y: float, words: str, *, size: int = 12, fill: str = "#333", anchor: str = "start"):
        self.lines.append(f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}" text-anchor="{anchor}">{words}</text>')

    def cell(self, x: float, y: float, colour: str, words: str = ""):
        self.lines.append(f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" rx="3" fill="{colour}"/>')
        if words:
            self.text(x + CELL / 2, y + CELL / 2 + 4, words, size=11, fill="#fff", anchor="middle")

    def frame(self, x: float, y: float, width: float, height: float):
        self.lines.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" fill="none" stroke="#333" stroke-width="1.5"/>'
        )

    def end(self) -> str:
        return "\n".join([*self.lines, "</svg>", ""])


def along_elements(p: Picture, x: float, y: float) -> None:
    """One block; a vector of four lanes goes along its rows."""
    p.text(x, y, "CPU: one block at a time", size=14)
    p.text(x, y + 18, "lanes of a vector go along the elements")
    for row in range(ROWS):
        for column in range(COLUMNS):
            p.cell(x + column * STEP, y + 34 + row * STEP, COLOURS[column % 4], str(column % 4))
    p.frame(x - 3, y + 31, 4 * STEP + 3, STEP + 3)
    p.text(x, y + 34 + ROWS * STEP + 18, "framed: one vector. Numbers: its lanes")
    p.text(x, y + 34 + ROWS * STEP + 36, "blocks are shared among the cores")


def across_blocks(p: Picture, x: float, y: float) -> None:
    """Four blocks at once; a vector has the same element of each."""
    p.text(x, y, "CPU with wp.config.cpu_lanes = 4", size=14)
    p.text(x, y + 18, "each lane has a block of its own")
    small, side = 14, 3
    for block in range(4):
        left = x + block * (side * small + 16)
        p.text(left + side * small / 2, y + 44, f"block {block}", size=10, anchor="middle")
        for row in range(side):
            for column in range(side):
                colour = COLOURS[block]
                at = left + column * small, y + 50 + row * small
                p.lines.append(
                    f'<rect x="{at[0]}" y="{at[1]}" width="{small - 2}" height="{small - 2}" rx="2" fill="{colour}"/>'
                )
    for element in range(2):
        top = y + 104 + element * (STEP + 6)
        for block in range(4):
            p.cell(x + block * STEP, top, COLOURS[block], str(block))
        p.frame(x - 3, top - 3, 4 * STEP + 3, STEP + 3)
        p.text(x + 4 * STEP + 8, top + 16, f"element {element} of all four")
    p.text(x, y + 34 + ROWS * STEP + 36, "small algebra without shuffles")


def threads_of_a_block(p: Picture, x: float, y: float) -> None:
    """Six threads; element e is thread e mod 6's."""
    p.text(x, y, "GPU: 6 threads share a tile", size=14)
    p.text(x, y + 18, "thread t has elements t, t + 6, t + 12, …")
    for row in range(ROWS):
        for column in range(COLUMNS):
            thread = (row * COLUMNS + column) % 6
            p.cell(x + column * STEP, y + 34 + row * STEP, COLOURS[thread], str(thread))
    p.text(x, y + 34 + ROWS * STEP + 18, "numbers: threads. The tile is shared memory,")
    p.text(x, y + 34 + ROWS * STEP + 36, "with barriers where one needs another's work")


def main() -> None:
    p = Picture(850, 230)
    along_elements(p, 24, 34)
    across_blocks(p, 290, 34)
    threads_of_a_block(p, 570, 34)
    pathlib.Path(sys.argv[1]).write_text(p.end())


if __name__ == "__main__":
    main()
