"""Structs and constants of the library as Python and kernels see them."""

import ast
import copy
import importlib
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest
import warp as wp
from warp import _weft

if not hasattr(wp, "probe_hit"):
    pytest.skip("needs the extension with the probes of tests/library (ctest: python_library)", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[3]


def test_the_classes_are_there():
    assert {"ProbeHit", "ProbeRange", "ProbeDecay"} <= set(dir(wp))
    assert not hasattr(wp, "_ProbePlace")
    assert wp.ProbeHit is wp.ProbeHit is wp.types.ProbeHit
    assert type(wp.probe_hit(1.0, wp.vec3(1.0))) is wp.ProbeHit
    assert (wp.ProbeHit.__name__, wp.ProbeHit.__module__) == ("ProbeHit", "warp")
    assert wp.ProbeHit.__doc__ == "What a probe finds."
    assert list(wp.ProbeHit.vars) == ["result", "face", "t", "normal"]


def test_calls_from_python():
    hit = wp.probe_hit(2.0, wp.vec3(1.0, 2.0, 3.0))
    assert (hit.result, hit.face, hit.t, hit.normal) == (True, 3, 1.0, wp.vec3(1.0, 2.0, 4.0))
    assert wp.probe_height(hit) == 13.0
    assert wp.probe_height(hit, scale=1.0) == 7.0
    with pytest.raises(RuntimeError, match="Couldn't find a function 'probe_height' compatible with the arguments"):
        wp.probe_height(wp.probe_range(0, 1))
    for call in (lambda: wp.probe_range_next(wp.probe_range(0, 1), 0), lambda: wp.probe_mark(hit, 3)):
        with pytest.raises(RuntimeError, match="updates variables here, which only kernels can do"):
            call()
    assert wp.probe_corner(1) == wp.vec3(1.0, 1.0, 0.0)
    assert [int(wp.probe_number(i, 1)) for i in range(3)] == [1, 2**64 - 1, 3]


def test_values_in_python():
    hit = wp.probe_hit(2.0, wp.vec3(1.0))
    hit.t = 5.0
    assert wp.probe_height(hit) == 9.0
    same = copy.copy(hit)
    assert same.to_bytes() == hit.to_bytes() and wp.probe_height(pickle.loads(pickle.dumps(hit))) == 9.0
    assert wp.probe_height(wp.ProbeHit.from_bytes(hit.to_bytes())) == 9.0
    same.face = 9
    assert same.to_bytes() != hit.to_bytes() and hit.face == 3
    assert "_place" not in repr(hit) and "normal=" in repr(hit)
    empty = wp.ProbeHit()
    assert (empty.result, empty.t) == (False, 0.0)


@pytest.mark.parametrize("use", [lambda q: q._at, lambda q: setattr(q, "_at", 3), lambda q: wp.ProbeRange._at])
def test_private_fields_are_out_of_sight(use):
    with pytest.raises(AttributeError, match="the field '_at' of ProbeRange is the library's own"):
        use(wp.probe_range(0, 3))


def test_arrays_hold_results_but_no_state(device):
    @wp.struct
    class Holder:
        query: wp.ProbeRange

    for element in (wp.ProbeRange, wp.ProbeHit, Holder):
        for make in (
            lambda: wp.zeros(3, dtype=element),
            lambda: wp.array([], dtype=element),
            lambda: wp.empty(3, element),
            lambda: wp.array(dtype=element),
            lambda: _weft.type_indexed_array(element._wp_type_, 1),
        ):
            with pytest.raises(TypeError, match="can't lie in an array"):
                make()
    points = wp.zeros(3, dtype=wp.ProbePoint, device=device)

    @wp.kernel
    def k(points: wp.array(dtype=wp.ProbePoint)):
        n = wp.tid()
        points[n] = wp.probe_point(float(n))
        points[n].weight += 1.0

    wp.launch(k, 3, inputs=[points], device=device)
    assert points.numpy()["weight"].tolist() == [1.0, 2.0, 3.0]
    assert points.numpy()["at"][2].tolist() == [2.0, 2.0, 2.0]


@wp.func
def height(hit: wp.ProbeHit) -> float:
    return wp.probe_height(hit, 1.0) + float(hit.face)


@wp.func
def made(t: float) -> wp.ProbeHit:
    hit = wp.ProbeHit(True, 2, t)
    hit.normal = wp.vec3(t)
    return hit


@wp.func
def height(x: float) -> float:  # an overload beside that of the struct
    return x


def test_annotations_and_construction(device):
    @wp.kernel
    def k(hit: wp.ProbeHit, out: wp.array(dtype=float)):
        mine = made(4.0)
        wp.probe_mark(mine, 5)
        out[0] = height(hit) + height(0.25)
        out[1] = height(mine) + mine.normal[2]
        if hit == hit and mine != hit:
            out[2] = 1.0

    out = wp.zeros(3, device=device)
    wp.launch(k, 1, inputs=[wp.probe_hit(2.0, wp.vec3(0.0, 0.0, 1.0)), out], device=device)
    assert out.numpy().tolist() == [6.25, 13.0, 1.0]


def test_a_struct_of_the_same_name_is_another(device):
    @wp.struct
    class ProbeRange:
        last: int
        _at: int
        _step: int

    assert ProbeRange._wp_type_ != wp.ProbeRange._wp_type_

    @wp.kernel
    def k(own: ProbeRange, theirs: wp.ProbeRange, out: wp.array(dtype=int)):
        out[0] = own._at + theirs.last

    own = ProbeRange()
    own._at = 3
    out = wp.zeros(1, dtype=int, device=device)
    wp.launch(k, 1, inputs=[own, wp.probe_range(0, 4), out], device=device)
    assert out.numpy()[0] == 7
    with pytest.raises(RuntimeError):
        wp.launch(k, 1, inputs=[own, own, out], device=device)


def test_errors_name_the_line(device):
    @wp.kernel
    def reads(out: wp.array(dtype=int)):
        q = wp.probe_range(0, 4)
        out[0] = q._step

    with pytest.raises(AttributeError, match=r"the field '_step' of ProbeRange is the library's own") as error:
        wp.launch(reads, 1, inputs=[wp.zeros(1, dtype=int, device=device)], device=device)
    assert "test_probe_structs.py" in str(error.value) and "q._step" in str(error.value)


def test_stubs_and_documents():
    sys.path[:0] = [str(ROOT / "tools" / "stubs"), str(ROOT / "tools" / "docs")]
    try:
        generate, reference = importlib.import_module("generate"), importlib.import_module("make_reference")
    finally:
        del sys.path[:2]
    text = generate.stubs()[ROOT / "python" / "warp" / "__init__.pyi"]
    tree = {node.name: node for node in ast.parse(text).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    annotated = [node for node in tree["ProbeHit"].body if isinstance(node, ast.AnnAssign)]
    fields = {node.target.id: ast.unparse(node.annotation) for node in annotated}
    assert fields == {"result": "_b.bool", "face": "_b.int", "t": "_b.float", "normal": "vec3"}
    assert ast.unparse(tree["probe_height"].args) == "hit: ProbeHit, scale: _b.float=..."
    assert ast.unparse(tree["probe_range"].returns) == "ProbeRange"
    page = reference.builtins_page()
    assert "### ProbeHit\n\nWhat a probe finds.\n\nFields: `result: bool`, `face: int32`, `t: float32`" in page
    assert "_place" not in page


def test_gradients_of_struct_results(device):
    @wp.kernel
    def k(x: wp.array(dtype=float), out: wp.array(dtype=float)):
        n = wp.tid()
        hit = wp.probe_hit(x[n], wp.vec3(x[n], 1.0, 2.0))
        wp.probe_mark(hit, n)
        out[n] = wp.probe_height(hit) * hit.normal[0]

    x = wp.array([0.5, 1.0, 2.0], dtype=float, requires_grad=True, device=device)
    out = wp.zeros(3, requires_grad=True, device=device)
    with wp.Tape() as tape:
        wp.launch(k, 3, inputs=[x, out], device=device)
    tape.backward(grads={out: wp.array(np.ones(3, np.float32), device=device)})
    np.testing.assert_allclose(out.numpy(), 4.5 * x.numpy() ** 2, rtol=1e-6)  # (2·2x + x/2)·x
    np.testing.assert_allclose(x.grad.numpy(), 9.0 * x.numpy(), rtol=1e-6)


def test_printing_shows_public_fields(device, capfd):
    @wp.kernel
    def k():
        print(wp.probe_range(1, 4, 2))
        print(wp.probe_hit(2.0, wp.vec3(1.0)))

    wp.launch(k, 1, device=device)
    wp.synchronize()
    assert capfd.readouterr().out == "ProbeRange(last=4)\nProbeHit(result=True, face=3, t=1, normal=1 1 2)\n"
