"""Names of TensorFlow that are missing say what to write, and what they say exists."""

import re
import subprocess
import sys

import numpy as np
import pytest

import jitgrad as jg
from jitgrad.hints import _HINTS
from jitgrad.tape.handlers import HANDLERS


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        (jg, "matmul", "; write np.matmul"),
        (jg, "reduce_sum", "; write np.sum"),
        (jg, "reduce_logsumexp", "; write np.logaddexp.reduce(x, axis=axis)"),
        (jg, "float32", "; write np.float32"),
        (jg, "function", "; write numba.njit: a compiled function called with tape values is one operation"),
        (jg, "cast", "; write x.astype(dtype)"),
        (jg, "inv", "; write np.linalg.inv"),
        (jg, "relu", "; write jitgrad.nn.relu"),
        (jg, "SGD", "; write jitgrad.optim.SGD"),
        (jg, "AdamOptimizer", "; write jitgrad.optim.Adam"),
        (jg, "gradienttape", "; did you mean GradientTape or gradients?"),
        (jg, "zzz", ""),
        (jg, "__wrapped__", ""),
        (jg.nn, "GradientTape", "; write jitgrad.GradientTape"),
        (jg.nn, "exp", "; write np.exp"),
        (jg.nn, "maxpool", "; did you mean max_pool or max_pool2d?"),
        (jg.optim, "RMSProp", "; did you mean RMSprop?"),
    ],
)
def test_a_missing_name_says_what_to_write(module, name, advice):
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    assert str(caught.value) == f"module {module.__name__!r} has no attribute {name!r}{advice}"


def test_hints_name_what_exists():
    named = re.findall(r"\b(?:np|jitgrad)(?:\.\w+)+", " ".join(_HINTS.values()))
    assert len(named) > 30
    for path in named:
        found = {"np": np, "jitgrad": jg}[path.partition(".")[0]]
        for part in path.split(".")[1:]:
            found = getattr(found, part)
    assert not _HINTS.keys() & {*jg.__all__}


@pytest.mark.parametrize(
    "name", "reduce_sum reduce_mean reduce_max reduce_min reduce_prod reduce_std reduce_variance concat norm matmul "
    "clip_by_value transpose reshape tensordot einsum where stack split tile expand_dims".split()
)  # fmt: skip
def test_the_numpy_function_takes_tape_values(name):
    with pytest.raises(AttributeError) as caught:
        getattr(jg, name)
    found = np
    for part in re.search(r"write np\.([\w.]+)", str(caught.value))[1].split("."):
        found = getattr(found, part)
    assert found in HANDLERS or isinstance(found, np.ufunc)


def test_the_first_gradient_does_not_look_for_advice():
    """Imports ask the package for its submodules, and must not load the tape for an error that nobody reads."""
    program = (
        "import sys, numba, jitgrad\n"
        "print(jitgrad.grad(numba.njit(lambda x: x * x))(3.0))\n"
        "print('jitgrad.tape' in sys.modules, 'jitgrad.nn' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["6.0", "False", "False"]
