"""The source key: a warm cache needs no front end, and a change of anything that a kernel refers to is noticed."""

import json
import os
import subprocess
import sys

import pytest

PROGRAM = os.path.join(os.path.dirname(__file__), "source_key_program.py")
CHANGED = {  # kernel: result of variants a and b
    "constant": (3.0, 4.0),
    "vector": (3.0, 9.0),
    "module_member": (5.0, 7.0),
    "class_member": (10.0, 20.0),
    "function": (2.0, 3.0),
    "function_behind": (4.0, 6.0),
    "overload": (56.0, 57.0),
    "structure": (300.0, 44.0),
    "type_name": (300.0, 44.0),
    "static": (7.0, 8.0),
    "static_of_loop": (7.0, 8.0),
    "closure": (1.5, 2.5),
}
WITHOUT_KEY = {"static_of_loop"}  # its wp.static depends on variables of the kernel


def run(folder, variant, when):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, PROGRAM, str(folder), variant, when], capture_output=True, text=True, env=env, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    return [run(folder, "a", "first"), run(folder, "a", "again"), run(folder, "b", "again"), run(folder, "b", "again")]


@pytest.mark.parametrize("kernel", CHANGED)
def test_results_follow_what_names_mean(runs, kernel):
    a, b = CHANGED[kernel]
    assert [r[kernel][0] for r in runs] == [a, a, b, b]


@pytest.mark.parametrize("kernel", CHANGED)
def test_a_warm_cache_needs_no_front_end(runs, kernel):
    hit = 0 if kernel in WITHOUT_KEY else 1
    assert [r[kernel][1] for r in runs] == [0, hit, 0, hit]


def test_forms_built_later_are_stored_by_what_names_meant_then(runs):
    assert runs[0]["late"][0] == 1.0
    assert runs[1]["late_other_form"][0] == 1.0
