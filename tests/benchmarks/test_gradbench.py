"""GradBench: the objectives against NumPy formulas, the protocol, and the suite's own answers where they are there."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from scipy.special import logsumexp, multigammaln

from benchmarks.gradbench import data, protocol
from tests import numeric

FAST = ("hello", "llsq", "lse")


@pytest.fixture
def random():
    return np.random.default_rng(5)


def run(problem, function, given):
    entry = protocol.load(problem).FUNCTIONS[function]
    return entry.finish(entry.run(*entry.prepare(given)))


def test_mixture(random):
    n, d, k, gamma, m = 7, 3, 2, 0.8, 1
    given = {
        "alpha": random.normal(size=k), "mu": random.normal(size=(k, d)), "q": 0.3 * random.normal(size=(k, d)),
        "l": random.normal(size=(k, d * (d - 1) // 2)), "x": random.normal(size=(n, d)), "gamma": gamma, "m": m,
    }  # fmt: skip

    def expected(alpha, mu, q, l):
        total, prior = np.empty((n, k)), 0.0
        for a in range(k):
            factor = np.diag(np.exp(q[a]))
            factor[np.triu_indices(d, 1)[::-1]] = l[a]
            precision = factor.T @ factor
            away = given["x"] - mu[a]
            quadratic = np.einsum("ni,ij,nj->n", away, precision, away)
            total[:, a] = alpha[a] + 0.5 * (np.linalg.slogdet(precision)[1] - d * np.log(2 * np.pi) - quadratic)
            freedom = d + m + 1
            prior += (
                0.5 * m * np.linalg.slogdet(precision)[1] - 0.5 * gamma**2 * np.trace(precision)
                - 0.5 * freedom * d * np.log(2.0) + freedom * d * np.log(gamma) - multigammaln(0.5 * freedom, d)
            )  # fmt: skip
        return (logsumexp(total, axis=1) - logsumexp(alpha)).sum() + prior

    names = ("alpha", "mu", "q", "l")
    assert run("gmm", "objective", given) == pytest.approx(expected(*(given[name] for name in names)), rel=1e-12)
    found = run("gmm", "jacobian", given)
    for name in names:

        def along(values, name=name):
            return expected(*(values if other == name else given[other] for other in names))

        np.testing.assert_allclose(found[name], numeric.gradient(along, given[name]), rtol=1e-7, atol=1e-8)


def test_determinant(random):
    a = random.normal(size=(4, 4))
    given = {"A": a.ravel().tolist(), "ell": 4}
    assert run("det", "primal", given) == pytest.approx(np.linalg.det(a), rel=1e-12)
    np.testing.assert_allclose(
        run("det", "gradient", given), (np.linalg.det(a) * np.linalg.inv(a).T).ravel(), rtol=1e-10
    )


def test_clusters(random):
    points, centroids = random.normal(size=(30, 2)), random.normal(size=(3, 2))
    squares = ((points[:, None] - centroids) ** 2).sum(2)
    given = {"points": points.tolist(), "centroids": centroids.tolist()}
    assert run("kmeans", "cost", given) == pytest.approx(squares.min(1).sum(), rel=1e-12)
    labels = squares.argmin(1)
    step = [centroids[j] - points[labels == j].mean(0) for j in range(3)]
    np.testing.assert_allclose(run("kmeans", "dir", given), step, rtol=1e-10, atol=1e-12)


def test_polynomial(random):
    x, n = random.normal(size=4), 9
    t = np.linspace(-1.0, 1.0, n)
    powers = np.vander(t, 4, increasing=True)
    residual = np.sign(t) - powers @ x
    given = {"x": x.tolist(), "n": n}
    assert run("llsq", "primal", given) == pytest.approx(0.5 * residual @ residual, rel=1e-12)
    np.testing.assert_allclose(run("llsq", "gradient", given), -powers.T @ residual, rtol=1e-10, atol=1e-12)


def test_runge_kutta(random):
    x, steps = random.normal(size=4), 1000
    given = {"x": x.tolist(), "s": steps}
    exact = (
        np.cumprod(x) * 2.0 ** np.arange(1, 5) / np.array([1.0, 2.0, 6.0, 24.0])
    )  # y_i = x_0 ... x_i t^(i+1) / (i+1)!
    np.testing.assert_allclose(run("ode", "primal", given), exact, rtol=1e-9)
    np.testing.assert_allclose(run("ode", "gradient", given), exact[-1] / x, rtol=1e-9)


def test_a_problem_stops_the_answer_and_not_the_suite():
    reply = protocol.answer({"id": 4, "kind": "evaluate", "module": "lse", "function": "primal", "input": {}})
    assert reply["id"] == 4 and reply["success"] is False and "KeyError" in reply["error"]
    assert protocol.answer({"id": 5, "kind": "define", "module": "os"})["success"] is False


def test_protocol():
    given = {"x": [0.0, 1.0], "min_runs": 3, "min_seconds": 0.0}
    messages = [
        {"id": 0, "kind": "start", "eval": "lse"},
        {"id": 1, "kind": "define", "module": "lse"},
        {"id": 2, "kind": "evaluate", "module": "lse", "function": "gradient", "input": given},
        {"id": 3, "kind": "evaluate", "module": "hello", "function": "double", "input": 3.0},
        {"id": 4, "kind": "end"},
    ]
    out = io.StringIO()
    protocol.serve(map(json.dumps, messages), out)
    start, define, gradient, double, end = map(json.loads, out.getvalue().splitlines())
    assert start == {"id": 0, "tool": "jitgrad"} and define == {"id": 1, "success": True} and end == {"id": 4}
    assert gradient["id"] == 2 and gradient["success"] is True and len(gradient["timings"]) == 3
    assert all(t["name"] == "evaluate" and t["nanoseconds"] > 0 for t in gradient["timings"])
    np.testing.assert_allclose(gradient["output"], np.exp([0.0, 1.0]) / np.exp([0.0, 1.0]).sum(), rtol=1e-12)
    assert double["output"] == 6.0


def test_comparison():
    assert data.difference({"a": [1.0, 2]}, {"a": [1.0, 2.0]}) is None
    assert data.difference([1.0, 2.001], [1.0, 2.0]) == "output[1]: 2.001, not 2.0"
    assert "length" in data.difference([1.0], [1.0, 2.0])
    assert "keys" in data.difference({"a": 1.0}, {"b": 1.0})
    assert "number" in data.difference([1.0], 1.0)
    assert data.difference(float("nan"), 1.0) is not None


@pytest.mark.parametrize(
    "problem", [pytest.param(p, marks=() if p in FAST else pytest.mark.slow) for p in protocol.PROBLEMS]
)
def test_answers_of_the_suite(problem):
    sizes = data.sizes(problem)
    if not sizes:
        pytest.skip(f"no inputs in {data.directory()}; {data.PLACE} names their directory")
    for size in sizes:
        given = data.load_input(problem, size)
        for function in protocol.load(problem).FUNCTIONS:
            assert data.difference(run(problem, function, given), data.load_answer(problem, size, function)) is None
