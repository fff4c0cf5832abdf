"""Tapes as graphs: what is repeated, what arrays are called, what is shown."""

from __future__ import annotations

import re

import pytest
import warp as wp


@wp.kernel
def move(x: wp.array(dtype=float), moved: wp.array(dtype=float)):
    i = wp.tid()
    moved[i] = 2.0 * x[i]


@wp.kernel
def push(source: wp.array(dtype=float), force: wp.array(dtype=float), new: wp.array(dtype=float)):
    i = wp.tid()
    new[i] = source[i] + force[i]


@wp.kernel
def total(x: wp.array(dtype=float), sum: wp.array(dtype=float)):
    wp.atomic_add(sum, 0, x[wp.tid()])


def simulation(steps: int, scopes: bool = False) -> tuple[wp.Tape, list[wp.array], wp.array, wp.array]:
    states = [wp.zeros(4, requires_grad=True) for _ in range(2 * steps + 1)]
    force, loss = wp.zeros(4), wp.zeros(1, requires_grad=True)
    tape = wp.Tape()
    with tape:
        for k in range(steps):
            if scopes:
                tape.record_scope_begin("step")
            wp.launch(move, 4, [states[2 * k]], [states[2 * k + 1]])
            wp.launch(push, 4, [states[2 * k + 1], force], [states[2 * k + 2]])
            if scopes:
                tape.record_scope_end()
        wp.launch(total, 4, [states[-1]], [loss])
    return tape, states, force, loss


def boxes(text: str) -> list[str]:
    return re.findall(r'^  a\d+ .*label="(.*)$', text, re.MULTILINE)


def edges(text: str) -> list[str]:
    return re.findall(r"^  (\w+ -> \w+)", text, re.MULTILINE)


def test_steps_that_follow_themselves_are_shown_once():
    text = simulation(4)[0].visualize()
    assert text.count("repeated 4x") == 1 and text.count("ellipse") == 3 and text.count("{") == text.count("}")
    assert boxes(text) == ["x", "source", "force", "new", "sum"]
    # the state that a turn leaves is where the next one begins, and what the sum takes
    assert edges(text) == ["a0 -> k0", "k0 -> a1", "a1 -> k1", "a2 -> k1", "k1 -> a3", "a3 -> a0", "a3 -> k8", "k8 -> a4"]
    assert re.search(r"a3 -> a0 \[style=dashed", text)


def test_all_of_it():
    text = simulation(4)[0].visualize(simplify_graph=False)
    assert "repeated" not in text and text.count("ellipse") == 9 and len(boxes(text)) == 11 and "dashed" not in text


def test_repetitions_in_repetitions():
    a, b, c = (wp.zeros(4, requires_grad=True) for _ in range(3))
    tape = wp.Tape()
    with tape:
        for _ in range(3):
            for _ in range(5):
                wp.launch(move, 4, [a], [b])
            wp.launch(push, 4, [b, c], [a])
    text = tape.visualize()
    assert text.index("repeated 3x") < text.index("repeated 5x") and text.count("ellipse") == 2


def test_scopes_are_repeated_whole():
    tape = simulation(3, scopes=True)[0]
    text = tape.visualize()
    assert text.count("repeated 3x") == 1 and text.count('label="step"') == 1 and text.count("{") == text.count("}")
    assert tape.visualize(simplify_graph=False).count('label="step"') == 3
    half = wp.Tape()
    x = [wp.zeros(4, requires_grad=True) for _ in range(3)]
    with half:  # a sequence that a scope cuts is not one
        wp.launch(move, 4, [x[0]], [x[1]])
        half.record_scope_begin("second")
        wp.launch(move, 4, [x[1]], [x[2]])
        half.record_scope_end()
    text = half.visualize()
    assert "repeated" not in text and text.count("ellipse") == 2
    assert "repeated 2x" in half.visualize(ignore_graph_scopes=True)


@pytest.mark.parametrize("longest, names", [(True, ["source", "moved", "new"]), (False, ["x", "moved", "x"])])
def test_names_of_arrays(longest, names):
    first, second, third = (wp.zeros(4, requires_grad=True) for _ in range(3))
    tape = wp.Tape()
    with tape:
        wp.launch(move, 4, [first], [second])
        wp.launch(total, 4, [third], [wp.zeros(1)])
        wp.launch(push, 4, [first, second], [third])
    shown = boxes(tape.visualize(choose_longest_node_name=longest))
    assert shown[:3] == names


def test_tracked_arrays_are_shown_in_any_case():
    tape, states, force, loss = simulation(2)
    assert "force" not in tape.visualize(hide_readonly_arrays=True)
    text = tape.visualize(hide_readonly_arrays=True, track_inputs=[force], track_outputs=[loss], track_output_names=["error"])
    assert boxes(text)[:2] == ["force", "error"] and "sum" not in text
    assert "x\n" not in text  # the first state is only read
    assert text.count("{") == text.count("}")


def test_long_tapes_are_drawn_soon():
    x, y = wp.zeros(4, requires_grad=True), wp.zeros(4, requires_grad=True)
    tape = wp.Tape()
    with tape:
        for k in range(2000):
            wp.launch(move if k * k % 7 < 3 else total, 4, [x], [y])
    assert tape.visualize().count("ellipse") < 2000
