"""Can I pass gradients, as in scipy.optimize.minimize? Yes: jitgrad's to SciPy, and your own to jitgrad's optimizers.

Logistic regression, four times to the same minimum: by SciPy with a compiled gradient and Hessian, by SciPy on
variables and a tape, by an optimizer of jitgrad with a gradient written by hand, and with that gradient inside a loss.
"""

import numpy as np
from numba import njit
from scipy.optimize import minimize

import jitgrad as jg
from jitgrad.optim import SGD, ScipyOptimizer

PENALTY = 0.01


def loss(w, x, y):
    """Mean of log(1 + exp(-y x.w)) for labels of 1 and -1, with a penalty. Numba compiles it, and a tape records it."""
    return np.mean(np.logaddexp(0.0, -y * (x @ w))) + 0.5 * PENALTY * np.sum(w * w)


def gradient_by_hand(w, x, y):
    return x.T @ (-y / (1.0 + np.exp(y * (x @ w)))) / len(y) + PENALTY * w


def draw(true, size, generator):
    """Points, and labels that follow the model with weights `true`."""
    x = generator.normal(size=(size, true.size))
    odds = 1.0 / (1.0 + np.exp(-x @ true))
    return x, np.where(generator.random(size) < odds, 1.0, -1.0)


def scipy_with_compiled_gradient(x, y):
    """SciPy asks for value and gradient at once (``jac=True``); the Hessian is exact, too."""
    compiled = njit(loss)
    value_and_grad, hessian = jg.value_and_grad(compiled), jg.hessian(compiled)
    start, options = np.zeros(x.shape[1]), {"gtol": 1e-9}
    fit = minimize(value_and_grad, start, (x, y), "trust-exact", jac=True, hess=hessian, options=options)
    return fit.x, fit.nit


def scipy_on_variables(x, y):
    """The same methods, for a loss of variables; the gradients come from a tape."""
    w = jg.Variable(np.zeros(x.shape[1]))
    fit = ScipyOptimizer("L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9}).minimize(lambda: loss(w, x, y), [w])
    return w.numpy(), fit.nit


def own_gradient_to_an_optimizer(x, y, steps=200):
    """An optimizer takes whatever gradient it is given: here nothing is differentiated at all."""
    w, optimizer = np.zeros(x.shape[1]), SGD(1.0, momentum=0.8)
    for _ in range(steps):
        optimizer.update([w], [gradient_by_hand(w, x, y)])
    return w, steps


def own_gradient_inside_of_a_loss(x, y, steps=200):
    """A function with a gradient of its own may be a part of a loss; the tape does the rest."""

    @jg.custom_gradient
    def part(w):
        return loss(w.numpy(), x, y), lambda upstream: upstream * gradient_by_hand(w.numpy(), x, y)

    root, optimizer = jg.Variable(np.zeros(x.shape[1])), SGD(1.0, momentum=0.8)
    for _ in range(steps):
        optimizer.minimize(lambda: part(2.0 * root), [root])
    return 2.0 * root.numpy(), steps


WAYS = [
    scipy_with_compiled_gradient,
    scipy_on_variables,
    own_gradient_to_an_optimizer,
    own_gradient_inside_of_a_loss,
]


def main():
    true = np.array([1.5, -2.0, 0.5, 0.0])
    x, y = draw(true, 2000, np.random.default_rng(1))
    results = []
    for way in WAYS:
        w, steps = way(x, y)
        results.append(w)
        print(f"{way.__name__:32s}", w.round(6), f"{steps} steps")
    for w in results:
        np.testing.assert_allclose(w, results[0], atol=1e-6)
        assert np.abs(gradient_by_hand(w, x, y)).max() < 1e-6
    print("check: all four reach the same minimum, where the gradient written by hand vanishes")


if __name__ == "__main__":
    main()
