"""More statements for random tile programs (tile_programs.py): names that trade places, windows with names, values of single threads,
loops by conditions, numbers in vectors, loads at places that the block computes, additions to arrays.

Each method gives some lines, or None where no tile fits.
"""

from __future__ import annotations

ADDED_AT = 3600  # where additions to the output begin: behind what is stored at the end


class MoreStatements:
    def swap(self):
        t = self.tile()
        u, free = self.like(t), self.name()
        return [f"{free} = {t.name}", f"{t.name} = {u.name}", f"{u.name} = {free}"] if t is not u else None

    def named_window(self):
        """A window that lives on while the tile is changed."""
        t, w = self.tile(), self.name()
        part = ", ".join(self.piece(n) for n in t.shape)
        return [
            f"{w} = {t.name}[{part}]",
            f"{t.name} += {self.like(t).name} * {self.number()}",
            f"{w} *= {self.number()}",
            f"{t.name} = {self.bound(t.name)}",
        ]

    def reload(self):
        t = self.tile(2)
        at = self.pick("k, turns", "turns - 1, 3 * k", "0, k + turns")
        return [f"{t.name} = {self.bound(f'{t.name} + wp.tile_load(x[block], shape={t.shape}, offset=({at}))')}"]

    def indexed(self):
        t, at = self.tile(2), self.name()
        first = self.pick("0", "k", "turns")
        return [
            f"{at} = wp.tile_arange({t.shape[0]}, dtype=int) * {self.pick(1, 2, 0)} + wp.tile_full({t.shape[0]}, {first}, dtype=int)",
            f"{t.name} = {self.bound(f'wp.tile_load_indexed(x[block], {at}, shape={t.shape}, offset=(0, {first})) - {t.name}')}",
        ]

    def add_to_array(self):
        t = self.tile(1)
        return [f"wp.tile_atomic_add(y[block], {t.name}, offset={ADDED_AT + t.shape[0]} + k)"]

    def vectors(self):
        t = self.tile()
        u, v = self.like(t), self.name()
        part = ", ".join(self.piece(n) for n in t.shape)
        lines = [f"{v} = wp.tile_map(paired, {t.name}, {u.name})"]
        lines += self.pick([], [f"{v}[{part}] = {v}[{part}] * {self.number()}"], [f"{v} += wp.tile_map(paired, {u.name}, {t.name})"])
        return [*lines, f"{t.name} = {self.bound(f'wp.tile_map(folded, {v})')}"]

    def scaled_addition(self):
        t = self.tile()
        return [f"wp.tile_axpy({self.number()}, {self.like(t).name}, {t.name})", f"{t.name} = {self.bound(t.name)}"]

    def dot(self):
        t = self.tile()
        return [f"{t.name} *= {self.bound(f'wp.tile_dot({t.name}, {self.like(t).name})')}[0]", f"{t.name} = {self.bound(t.name)}"]

    def extract(self):
        t, u = self.tile(2), self.tile(1)
        at = f"k % {t.shape[0]}, turns % {t.shape[1]}"
        return [f"{u.name} = {u.name} * wp.tile_extract({t.name}, {at})", f"{u.name} = {self.bound(u.name)}"]

    def column(self):
        """One row or column of a matrix by a number of the block, in place."""
        t = self.tile(2)
        if self.rng.integers(2):
            return [f"{t.name}[k % {t.shape[0]}] *= {self.number()}"]
        n = t.shape[1]
        at = int(self.rng.integers(n))
        return [f"{t.name}[:, {at}:{at + 1}] += {t.name}[:, {n - 1}:{n}]", f"{t.name} = {self.bound(t.name)}"]

    def helper_loop(self):
        """A function that changes its tile in a loop and calls another one."""
        t = self.tile()
        u, name = self.like(t), f"f{len(self.functions)}"
        if t is u:
            return None
        annotation = f"wp.tile(dtype=S, shape={t.shape})"
        self.functions.append(
            f"@wp.func\ndef {name}_part(a: {annotation}, b: {annotation}):\n    a -= b * S(0.25)\n\n\n"
            f"@wp.func\ndef {name}(a: {annotation}, b: {annotation}, n: int):\n"
            f"    for i in range(n):\n        {name}_part(a, b)\n        b[0] = a[0]\n    return a + b\n\n\n"
        )
        return [f"{t.name} = {self.bound(f'{name}({t.name}, {u.name}, turns)')}"]

    def by_condition(self, depth: int):
        n = self.name()
        return [f"{n} = int(0)", f"while {n} < turns + k % 2:", *self.body(depth - 1), f"    {n} += 1"]

    def passed_by(self, depth: int):
        i = self.name()
        return [f"for {i} in range(turns + 1):", f"    if {i} == k:", "        continue", *self.body(depth - 1)]

    # Sums over threads have another order at every block size: only where rounding is allowed for.

    def own_sums(self):
        t, own, i = self.tile(1), self.name(), self.name()
        return [
            f"{own} = S(0.0)",
            f"for {i} in range(lane, {t.shape[0]}, wp.block_dim()):",
            f"    {own} += {t.name}[{i}] * {self.number()}",
            f"{t.name}[0] = {self.bound(f'wp.tile_sum(wp.tile({own}))')}[0]",
        ]

    # Only where nothing is differentiated.

    def while_below(self):
        t, w = self.tile(1), self.tile(1, whole=True)
        return [
            f"while {t.name}[0] < S(2.0):",
            f"    {t.name} += wp.tile_ones(shape={t.shape[0]}, dtype=S)",
            f"    {w.name} += {w.name}[::-1]",
            f"    {w.name} = wp.tile_map(wp.min, {w.name}, wp.tile_full({w.shape[0]}, 99, dtype=int))",
        ]

    def by_element(self, depth: int):
        t = self.tile(1)
        return [f"if {t.name}[{int(self.rng.integers(t.shape[0]))}] > S(0.0):", *self.body(depth - 1), "else:", *self.body(depth - 1)]
