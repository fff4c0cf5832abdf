"""Random programs on tiles that once went wrong, cut down to what it took; tile_programs.py says what they are compared with."""

from __future__ import annotations

MANY = range(1, 90)

VALUES = {
    # The negative of a sum has other zeros than the sum of negatives.
    "zeros of a product": """
        t4 = wp.tile_load(x[block], shape=(2, 33), offset=(-2, 4)) * S(0.0)
        t5 = wp.tile_load(x[block], shape=(33, 2), offset=(0, 1))
        wp.tile_store(y[block], wp.tile_reshape(wp.tile_matmul(t4, t5, alpha=-1.0), (4,)))
        wp.tile_store(y[block], wp.tile_reshape(wp.tile_matmul(t4, t5), (4,)), offset=4)
        """,
    # Threads read the condition's element until the last of them has left the loop.
    "condition of a loop": """
        t1 = wp.tile_load(x[block, 0], shape=40)
        t2 = wp.tile_load(x[block, 1], shape=40)
        while t1[5] < S(8.0):
            t1 += wp.tile_ones(shape=40, dtype=S)
            t3 = t2[::-1]
            t2 = wp.tile_map(wp.add, t3, t3)
        t1 *= S(2.0)
        wp.tile_store(y[block], t1)
        wp.tile_store(y[block], t2, offset=40)
        """,
}

GRADIENTS = {
    # The reverse of a loop finds tiles by descriptors that it kept in a table.
    "window in a loop": """
        t4 = wp.tile_load(x[block], shape=(33, 3), offset=(-2, 1))
        t5 = wp.tile_load(x[block], shape=(3, 33), offset=(1, 1))
        for turn in range(turns + 0):
            wp.tile_reshape(t5, (99,))[39:42:1] *= S(0.25)
            t5 = wp.tile_map(bounded, t5)
        wp.tile_store(y[block], wp.tile_reshape(t4, (99,)), offset=165)
        wp.tile_store(y[block], wp.tile_reshape(t5, (99,)), offset=264)
        """,
    "product in a loop": """
        t4 = wp.tile_load(x[block], shape=(3, 33), offset=(2, 3))
        t5 = wp.tile_load(x[block], shape=(33, 3), offset=(2, 1))
        for turn in range(turns + 1):
            t6 = wp.tile_zeros(shape=(33, 33), dtype=S)
            wp.tile_matmul(t5, wp.tile_transpose(t5), t6, alpha=-1.0)
            t5[0] *= wp.tile_map(bounded, wp.tile_sum(t6))[0]
            t5 = wp.tile_map(bounded, t5)
        wp.tile_store(y[block], wp.tile_reshape(t4, (99,)), offset=105)
        wp.tile_store(y[block], wp.tile_reshape(t5, (99,)), offset=204)
        """,
    # In a grid of one dimension nobody tells the compiler that all threads of a block mean the same element.
    "element by the number of the block": """
        # in a line
        t1 = wp.tile_load(x[block, 0], shape=5, offset=0, storage='shared')
        t2 = wp.tile_load(x[block, 1], shape=5, offset=2, storage='register')
        t2[k % 5] = S(0.25) * t1[0]
        if lane == 0:
            t2[k % 5] += S(-1.5)
        wp.tile_store(y[block], t2)
        """,
    # What a product read is kept for its gradient.
    "operand that changes": """
        t4 = wp.tile_load(x[block], shape=(8, 16), offset=(-1, 4))
        t5 = wp.tile_load(x[block], shape=(16, 8), offset=(0, 3))
        t5 *= wp.tile_max(wp.tile_map(bounded, wp.tile_matmul(t5, t4)))[0]
        wp.tile_store(y[block], wp.tile_reshape(t5, (128,)), offset=272)
        """,
    "operand that changes on one side": """
        t3 = wp.tile_load(x[block], shape=(16, 16), offset=(5, 4))
        t5 = wp.tile_load(x[block], shape=(16, 16), offset=(4, 1))
        if k > 0:
            t5 = wp.tile_map(bounded, t5)
        else:
            t3 = wp.tile_map(bounded, wp.tile_matmul(t5, t3, alpha=-1.0))
        wp.tile_reshape(t5, (256,))[::-1] *= S(0.25)
        wp.tile_store(y[block], wp.tile_reshape(t3, (256,)), offset=32)
        """,
    # What an addition found is dropped, however many tiles there are to tell apart.
    "addition behind many tiles": "\n".join(
        [
            "t0 = wp.tile_load(x[block, 0], shape=40)",
            *(f"t{i} = wp.tile_map(smoothly, t{i - 1}, t{i - 1}[::-1])" for i in MANY),
            f"wp.tile_atomic_add(y[block], t{MANY[-1]}, offset=3)",
        ]
    ),
}
