"""Array objects are made of ones that died (src/bind/array_pool.cpp): nothing of those may be left, and whatever Python gave to
an array goes with it as ever."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import warp as wp

pytestmark = pytest.mark.cpu_only("the objects are the same for every device")


class Thing:
    """Something whose end can be seen."""


class Named(wp.array):
    def __init__(self, *args, name=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.name = name


class Slotted(wp.array):
    __slots__ = ("thing",)


class Finalized(wp.array):
    ended = 0

    def __del__(self):
        Finalized.ended += 1


def fresh(n: int = 3) -> wp.array:
    return wp.zeros(n, dtype=float, device="cpu")


def test_nothing_of_a_dead_array_is_left():
    for _ in range(200):
        a = fresh(4)
        a.note, b = "mine", a[1:3]
        b.fill_(2.0)
        assert a.numpy().tolist() == [0.0, 2.0, 2.0, 0.0]
        del a, b
        c = fresh(2)
        assert not hasattr(c, "note") and c.__dict__ == {} and c.dtype is wp.float32 and c.shape == (2,)
        assert c.grad is None and not c.requires_grad and weakref.getweakrefcount(c) == 0


def test_attributes_and_weak_references_go_with_their_array():
    for _ in range(3):
        thing = Thing()
        seen, called = weakref.ref(thing), []
        a = fresh()
        a.thing = thing
        watched = weakref.ref(a, lambda _: called.append(1))
        del thing
        assert seen() is not None and watched() is a
        del a
        assert seen() is None and watched() is None and called == [1]


@pytest.mark.parametrize("cls", [Named, Slotted])
def test_instances_of_derived_classes(cls):
    for _ in range(100):
        a = cls([1.0, 2.0], dtype=float, device="cpu")
        thing = Thing()
        seen, watched = weakref.ref(thing), weakref.ref(a)
        a.thing = thing
        view = a[1:]
        assert type(view) is wp.array
        del thing, a
        assert seen() is None and watched() is None
        assert view.numpy().tolist() == [2.0]
    assert fresh().__dict__ == {}


def test_instances_with_a_finalizer():
    before = Finalized.ended
    for _ in range(10):
        Finalized([1.0], dtype=float, device="cpu")
    assert Finalized.ended == before + 10


def test_classes_may_be_changed():
    a = fresh()
    a.__class__ = Named
    a.name = "now"
    del a
    b = Named([1.0], dtype=float, device="cpu", name=None)
    del b.name
    b.__class__ = wp.array
    del b
    for _ in range(100):
        assert type(fresh()) is wp.array


def test_cycles_are_collected():
    thing = Thing()
    seen = weakref.ref(thing)
    a = fresh()
    a.me, a.thing = a, thing
    del a, thing
    gc.collect()
    assert seen() is None
    made = [fresh() for _ in range(100)]
    assert all(gc.is_tracked(x) for x in made)


def test_arrays_that_were_never_made():
    for _ in range(100):
        with pytest.raises(RuntimeError):
            wp.array([1.0], dtype=float, shape=(5,), strides=(4,), device="cpu")
        bare = wp.array.__new__(wp.array)
        del bare
        assert fresh().numpy().tolist() == [0.0, 0.0, 0.0]


def test_more_than_are_kept():
    for count in (1, 63, 64, 65, 500):
        made = [wp.full(1, value=float(i), dtype=float, device="cpu") for i in range(count)]
        assert [a.numpy()[0] for a in made] == list(range(count))
        made.clear()


def test_a_deleter_may_make_and_drop_arrays():
    memory = np.arange(4, dtype=np.float32)
    held = []

    def deleter(ptr, size):
        held.append(fresh())
        [fresh() for _ in range(100)]  # enough to fill what is kept

    for _ in range(3):
        a = wp.array(ptr=memory.ctypes.data, dtype=float, shape=4, device="cpu", deleter=deleter)
        assert a.numpy().tolist() == [0.0, 1.0, 2.0, 3.0]
        del a
    assert [h.numpy().tolist() for h in held] == [[0.0] * 3] * 3


def test_types_are_not_forgotten():
    before = sys.getrefcount(wp.array)
    for _ in range(1000):
        fresh()
    assert abs(sys.getrefcount(wp.array) - before) < 100


def test_threads():
    wrong = []

    def work(number: int) -> None:
        for _ in range(2000):
            a = wp.full(2, value=float(number), dtype=float, device="cpu")
            b = a[:1]
            a.number = number
            if b.numpy()[0] != number or a.number != number or b.__dict__:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong
