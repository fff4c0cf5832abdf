"""What the documents state about graphs, on every device."""

from __future__ import annotations

import warp as wp


@wp.kernel
def first(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] + 1.0


@wp.kernel
def second(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[i] * 2.0


def test_seed_022_023_graphs_of_launches():
    """Launches between capture_begin and capture_end are recorded and replayed by capture_launch; other code of Python is
    not."""
    x, calls = wp.zeros(4), []
    # begin capture
    wp.capture_begin()
    # record launches
    for _ in range(3):
        wp.launch(kernel=first, dim=4, inputs=[x])
        calls.append(1)
    # end capture and get a graph
    graph = wp.capture_end()
    assert len(calls) == 3
    # launch the graph, again and again
    wp.capture_launch(graph)
    wp.capture_launch(graph)
    assert len(calls) == 3 and x.list() == [6.0] * 4


def test_seed_117_graphs_of_several_kernels():
    """A series of launches captured once is launched as one piece, any number of times."""
    x = wp.zeros(4)
    wp.capture_begin()
    wp.launch(first, dim=4, inputs=[x])
    wp.launch(second, dim=4, inputs=[x])
    graph = wp.capture_end()
    for _ in range(3):
        wp.capture_launch(graph)
    assert x.list() == [14.0] * 4
