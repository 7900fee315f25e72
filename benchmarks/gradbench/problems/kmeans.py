"""k-means clustering: the cost of the centroids, and the step of Newton's method.

A point belongs to one centroid, so the Hessian is diagonal, and its product with a vector of ones is that diagonal.
"""

import numpy as np
from numba import njit

import jitgrad
from benchmarks.gradbench.problem import Function, array


@njit
def distance(points, centroids, i, j):
    s = 0.0
    for c in range(points.shape[1]):
        s += (points[i, c] - centroids[j, c]) ** 2
    return s


@njit
def nearest(points, centroids, i):
    """The centroid that point `i` belongs to."""
    found, closest = 0, np.inf
    for j in range(centroids.shape[0]):
        d = distance(points, centroids, i, j)
        if d < closest:
            found, closest = j, d
    return found


@njit
def cost(points, centroids):
    s = 0.0
    for i in range(points.shape[0]):
        s += distance(points, centroids, i, nearest(points, centroids, i))
    return s


gradient = jitgrad.grad(cost, argnums=1)


@njit
def direction(points, centroids):
    ones = np.ones_like(centroids)
    slope, curvature = jitgrad.jvp(gradient, (points, centroids), (ones,), argnums=1)
    return slope / curvature


def prepare(data):
    return array(data["points"]), array(data["centroids"])


PRIMAL = "cost"
FUNCTIONS = {
    "cost": Function(cost, prepare, float),
    "dir": Function(direction, prepare, np.ndarray.tolist),
}
