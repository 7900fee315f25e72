"""The disk cache: hits, what invalidates it, what must not be cached, broken files."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest
from numba import njit, typeof
from numba.core import types

from jitgrad.backend.cache import type_key
from jitgrad.backend.digest import Undigestible

ROOT = pathlib.Path(__file__).parents[2]

RUN = """
import sys, functions
import stubs
from jitgrad.backend import derivative
g = derivative(functions.f, stubs.Scaled())
print(g(3.0), sum(g.stats.cache_hits.values()), sum(g.stats.cache_misses.values()),
      any(m.startswith(("jitgrad.frontend", "jitgrad.rules")) for m in sys.modules))
"""


def environment(path):
    """Of a process that caches beside the source, as users' do."""
    kept = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    return {**kept, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


class Project:
    """A directory with a module `functions`, run in processes of its own."""

    def __init__(self, folder, engine):
        self.folder, self.engine = folder, engine

    def write(self, text, name="functions"):
        (self.folder / f"{name}.py").write_text(textwrap.dedent(text))

    def run(self, script=RUN):
        env = environment(f"{self.folder}{os.pathsep}{self.engine}")
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=env, cwd=self.folder)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    def files(self):
        return sorted((self.folder / "__pycache__").glob("*.jitgrad-*.nbc"))


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """A copy of this package, so that edits of it while the tests run invalidate no cache."""
    folder = tmp_path_factory.mktemp("engine")
    shutil.copytree(ROOT / "jitgrad", folder / "jitgrad", ignore=shutil.ignore_patterns("__pycache__", "mnist"))
    shutil.copy(ROOT / "tests" / "backend" / "stubs.py", folder)
    return folder


@pytest.fixture
def project(tmp_path, engine):
    return Project(tmp_path, engine)


SIMPLE = """
    from numba import njit
    @njit
    def f(x):
        return x * 10.0
"""


def test_second_process_loads(project):
    project.write(SIMPLE)
    assert project.run() == ["60.0", "0", "1", "False"]
    assert len(project.files()) == 1
    assert project.run() == ["60.0", "1", "0", "False"]  # and neither front end nor rules are imported


def test_edits_of_the_primal(project):
    project.write(SIMPLE)
    project.run()
    project.write(SIMPLE.replace("10.0", "20.0"))
    assert project.run() == ["120.0", "0", "1", "False"]


def test_edits_of_a_callee_in_another_file(project):
    project.write(
        """
        from numba import njit
        import other
        @njit
        def f(x):
            return other.scale(x) * other.K
        """
    )
    for text, value in (("x * 2.0", "24.0"), ("x * 3.0", "36.0")):
        project.write(f"from numba import njit\nK = 2.0\n@njit\ndef scale(x):\n    return {text}\n", "other")
        assert project.run() == [value, "0", "1", "False"]
    project.write("from numba import njit\nK = 1.0\n@njit\ndef scale(x):\n    return x * 3.0\n", "other")
    assert project.run() == ["18.0", "0", "1", "False"]  # a global that Numba freezes
    assert project.run() == ["18.0", "1", "0", "False"]


def test_closures_do_not_share_files(project):
    project.write(
        """
        from numba import njit
        def make(k):
            @njit
            def f(x):
                return k * x
            return f
        """
    )
    script = """
import functions
import stubs
from jitgrad.backend import derivative
for k in (1.0, 2.0):
    g = derivative(functions.make(k), stubs.Scaled())
    print(g(1.0), sum(g.stats.cache_hits.values()))
"""
    assert project.run(script) == ["2.0", "0", "4.0", "0"]
    assert project.run(script) == ["2.0", "1", "4.0", "1"]


def test_cached_and_fresh_code_side_by_side(project):
    """One derivative from the cache, another compiled: their symbols must differ though all names are equal."""
    project.write(
        """
        from numba import njit
        def make(k):
            @njit
            def f(x):
                return k * x
            return f
        """
    )
    script = """
import functions, sys
import stubs
from jitgrad.backend import derivative
from numba import njit
ks = [float(a) for a in KS]
gs = [derivative(functions.make(k), stubs.Scaled()) for k in ks]
@njit
def both(x):
    return first(x), second(x)
first, second = gs
print(*both(1.0))
"""
    assert project.run(script.replace("KS", "(1, 2)")) == ["2.0", "4.0"]
    assert project.run(script.replace("KS", "(1, 3)")) == ["2.0", "6.0"]
    assert project.run(script.replace("KS", "(4, 2)")) == ["8.0", "4.0"]


def test_recursion_through_other_signatures(project):
    """Numba does not bind such calls in code that it loads: a second process crashed."""
    project.write(
        """
        from numba import njit
        @njit
        def halved(x, depth):
            if depth > 3:
                return x * x
            return halved(x * 0.5, depth + 1) + x
        @njit
        def f(x):
            return halved(x, 0)  # the literal 0 has a type, and so a signature, of its own
        """
    )
    script = "import jitgrad, functions; print(jitgrad.grad(functions.f)(3.0))"
    # d/dx of x + x/2 + x/4 + x/8 + (x/16)^2
    assert project.run(script) == project.run(script) == [str(1.875 + 2 * 3.0 / 256)]


def test_broken_files_count_as_absent(project):
    project.write(SIMPLE)
    project.run()
    for content in (b"", b"garbage", project.files()[0].read_bytes()[:-100]):
        project.files()[0].write_bytes(content)
        assert project.run() == ["60.0", "0", "1", "False"]
        assert project.run() == ["60.0", "1", "0", "False"]


def test_no_file_no_cache(project):
    project.write("from numba import njit\nexec('@njit\\ndef f(x):\\n    return x * 10.0')")
    assert project.run() == ["60.0", "0", "1", "False"]
    assert project.files() == []


def test_main_script_is_cached(project):
    script = project.folder / "script.py"
    script.write_text(textwrap.dedent(SIMPLE).lstrip() + RUN.replace("functions.f", "f").replace(", functions", ""))
    env = environment(str(project.engine))
    found = [
        subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, env=env, check=True
        ).stdout.split()
        for _ in range(2)
    ]
    assert found == [["60.0", "0", "1", "False"], ["60.0", "1", "0", "False"]]


def test_keys_of_types():
    import collections

    import numpy as np

    first = collections.namedtuple("P", "x y")
    second = collections.namedtuple("P", "x z")
    values = [
        1,
        1.0,
        (1, 1.0),
        [1.0],
        np.zeros(2),
        np.zeros(2, np.float32),
        np.zeros((2, 2)),
        np.zeros((2, 2)).T,
        "a",
        None,
        True,
    ]
    values += [first(1.0, 2.0), second(1.0, 2.0), np.zeros(2, [("a", float)]), np.zeros(2, [("b", float)])]
    keys = [type_key(typeof(v)) for v in values]
    assert len(set(keys)) == len(keys)
    assert type_key(types.Omitted(1.0)) != type_key(types.Omitted(2.0))


def test_types_of_this_process_have_no_key():
    with pytest.raises(Undigestible):
        type_key(typeof(njit(lambda x: x)))
    with pytest.raises(Undigestible):
        type_key(types.Tuple([types.float64, typeof(njit(lambda x: x))]))
