"""Nodes and recordings: what is kept, what is freed, and who listens."""

import gc
import sys
import threading
import tracemalloc
import weakref

import numpy as np

import jitgrad as jg
from jitgrad.tape.recording import FIRST_PRUNING, RELEASED, Recording, leaf, only, thread, tick, watch


def test_only_these_listen():
    one, two = Recording(True), Recording(True)
    with only((one,)):
        with only((one, two)):
            assert thread.recordings == (one, two)
        assert thread.recordings == (one,)
    assert thread.recordings == ()


def test_only_is_left_by_exceptions():
    try:
        with only((Recording(True),)):
            raise KeyError
    except KeyError:
        pass
    assert thread.recordings == ()


def test_time_goes_on():
    assert tick() < tick()


def test_watching_twice_is_watching_once():
    node, recording = leaf(np.ones(2)), Recording(False)
    watch(node, recording)
    since = dict(node.since)
    watch(node, recording)
    assert node.recordings == (recording,)
    assert node.since == since


def test_a_node_forgets_recordings_that_are_over():
    node, old, new = leaf(np.ones(2)), Recording(False), Recording(False)
    watch(node, old)
    old.release()
    watch(node, new)
    assert node.recordings == (new,)
    assert list(node.since) == [new]


def test_watching_one_variable_from_many_threads():
    x, found = jg.Variable(3.0), []

    def work(k):
        for _ in range(300):
            with jg.GradientTape() as tape:
                y = k * x * x
            found.append(float(tape.gradient(y, x, unconnected_gradients="zero")) / k)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(k,)) for k in (1.0, 2.0, 4.0, 8.0)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(interval)
    assert set(found) == {6.0}
    assert len(found) == 1200


def test_what_is_dropped_is_freed_while_recording():
    x = jg.Variable(np.ones(1000))
    with jg.GradientTape() as outer, jg.GradientTape() as inner:
        early = weakref.ref(np.sin(x).array)
        for _ in range(4 * FIRST_PRUNING):
            np.sin(x)
        assert early() is None
        assert len(outer._recording) <= FIRST_PRUNING + 1
        assert len(inner._recording) <= FIRST_PRUNING + 1


def test_a_used_tape_frees_its_values_though_the_target_is_kept():
    x, refs = jg.Variable(np.ones(1000)), []
    with jg.GradientTape() as tape:
        y = x
        for _ in range(5):
            y = np.sin(y)
            refs.append(weakref.ref(y.array))
    target = y
    tape.gradient(target, x)
    del y
    assert [ref() is None for ref in refs] == [True, True, True, True, False]


def test_a_value_is_kept_as_long_as_one_tape_needs_it():
    x = jg.Variable(2.0)
    with jg.GradientTape() as one, jg.GradientTape() as two:
        y = x * x * x
    node = y.node
    assert float(one.gradient(y, x)) == 12.0
    assert node.primitive is not RELEASED
    assert float(two.gradient(y, x)) == 12.0
    assert node.primitive is RELEASED


def test_forget_since():
    x = jg.Variable(2.0)
    with jg.GradientTape() as tape:
        y = x * x
        start = tick()
        y * x
        tape._recording.forget_since(start)
        assert len(tape._recording) == 1
    assert float(tape.gradient(y, x)) == 4.0


def test_long_chains_differentiated_again_and_again_do_not_grow():
    x = jg.Variable(1.0)

    def once():
        with jg.GradientTape() as tape:
            y = x
            for _ in range(10_000):
                y = y * 1.0001
        tape.gradient(y, x)
        del y, tape
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        sizes = [once() for _ in range(4)]
    finally:
        tracemalloc.stop()
    assert sizes[-1] - sizes[1] < 20_000  # a chain takes some ten megabytes


def test_deep_graphs_are_freed_without_recursion():
    x = jg.Variable(1.0)
    with jg.GradientTape(persistent=True) as tape:
        y = x
        for _ in range(200_000):
            y = y + 1.0
    del tape
    assert float(y) == 200_001.0
    del y


def test_a_tape_dropped_in_its_context_stops_listening():
    tape = jg.GradientTape()
    tape.__enter__()
    assert len(thread.recordings) == 1
    del tape
    assert thread.recordings == ()
