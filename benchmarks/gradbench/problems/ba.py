"""Bundle adjustment: errors of points projected into cameras; each depends on one camera, one point and one weight."""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

import jitgrad
from benchmarks.gradbench.problem import Function, array

CAMERA = 11  # numbers of a camera: rotation (3), center (3), focal length, principal point (2), distortion (2)
BLOCK = CAMERA + 3 + 1  # columns of an observation


class Errors(NamedTuple):
    reprojection: np.ndarray
    weight: np.ndarray


class Sparse(NamedTuple):
    """Compressed rows: the entries of row r are those from ``rows[r]`` to ``rows[r + 1]``."""

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray


@njit
def rotate(axis, point):
    """Rodrigues' formula: the length of `axis` is the angle."""
    (a, b, c), (x, y, z) = axis, point
    square = a * a + b * b + c * c
    if square == 0.0:
        return x + b * z - c * y, y + c * x - a * z, z + a * y - b * x
    angle = math.sqrt(square)
    cosine, sine = math.cos(angle), math.sin(angle)
    a, b, c = a / angle, b / angle, c / angle
    along = (a * x + b * y + c * z) * (1.0 - cosine)
    return (
        x * cosine + (b * z - c * y) * sine + a * along,
        y * cosine + (c * x - a * z) * sine + b * along,
        z * cosine + (a * y - b * x) * sine + c * along,
    )


@njit
def reprojection_error(camera, point, weight, feature):
    rotation, center, focal = camera[0:3], camera[3:6], camera[6]
    x, y, z = rotate(rotation, (point[0] - center[0], point[1] - center[1], point[2] - center[2]))
    u, v = x / z, y / z
    square = u * u + v * v
    scale = focal * (1.0 + camera[9] * square + camera[10] * square * square)
    return weight * (u * scale + camera[7] - feature[0]), weight * (v * scale + camera[8] - feature[1])


@njit
def weight_error(weight):
    return 1.0 - weight * weight


@njit
def camera_at(cameras, i):
    c = cameras[i]
    return c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10]


@njit
def point_at(points, i):
    return points[i, 0], points[i, 1], points[i, 2]


@njit
def objective(cameras, points, weights, features, observations):
    count = observations.shape[0]
    reprojection = np.empty((count, 2))
    weight = np.empty(count)
    for i in range(count):
        camera, point = camera_at(cameras, observations[i, 0]), point_at(points, observations[i, 1])
        error = reprojection_error(camera, point, weights[i], (features[i, 0], features[i, 1]))
        reprojection[i, 0], reprojection[i, 1] = error
        weight[i] = weight_error(weights[i])
    return Errors(reprojection, weight)


block = jitgrad.jacobian(reprojection_error, argnums=(0, 1, 2), mode="reverse")
slope = jitgrad.grad(weight_error)


@njit
def jacobian(cameras, points, weights, features, observations, matrix):
    """The block of each observation, placed by its camera and point, in the arrays of `matrix`."""
    rows, columns, values = matrix
    count = observations.shape[0]
    first_point = CAMERA * cameras.shape[0]
    first_weight = first_point + 3 * points.shape[0]
    rows[0] = 0
    at = 0
    for i in range(count):
        camera, point = camera_at(cameras, observations[i, 0]), point_at(points, observations[i, 1])
        found = block(camera, point, weights[i], (features[i, 0], features[i, 1]))
        for k in range(2):
            by_camera, by_point, by_weight = found[k]
            for c in range(CAMERA):
                columns[at + c] = CAMERA * observations[i, 0] + c
                values[at + c] = by_camera[c]
            at += CAMERA
            for c in range(3):
                columns[at + c] = first_point + 3 * observations[i, 1] + c
                values[at + c] = by_point[c]
            at += 3
            columns[at] = first_weight + i
            values[at] = by_weight
            at += 1
            rows[2 * i + k + 1] = at
    for i in range(count):
        columns[at] = first_weight + i
        values[at] = slope(weights[i])
        at += 1
        rows[2 * count + i + 1] = at
    return matrix


def prepare(data):
    """The suite sends one camera, point, weight and feature, to be repeated."""
    cameras = np.tile(array(data["cam"]), (data["n"], 1))
    points = np.tile(array(data["x"]), (data["m"], 1))
    count = np.arange(data["p"])
    observations = np.stack((count % data["n"], count % data["m"]), axis=1)
    features = np.tile(array(data["feat"]), (data["p"], 1))
    return cameras, points, np.full(data["p"], float(data["w"])), features, observations


def prepare_jacobian(data):
    """Room for the matrix besides, as a solver keeps it from step to step."""
    size = (2 * BLOCK + 1) * data["p"]
    matrix = Sparse(np.empty(3 * data["p"] + 1, np.int32), np.empty(size, np.int32), np.empty(size))
    return *prepare(data), matrix


def first_errors(errors):
    count = errors.weight.size
    return {
        "reproj_error": {"elements": errors.reprojection[0].tolist(), "repeated": count},
        "w_err": {"element": float(errors.weight[0]), "repeated": count},
    }


def first_entries(matrix):
    """The two rows of the first observation, and the last entry."""
    names = {"rows": matrix.rows, "cols": matrix.columns, "vals": matrix.values}
    return {name: [*part[: 2 * BLOCK].tolist(), part[-1].item()] for name, part in names.items()}


PRIMAL = "objective"
FUNCTIONS = {
    "objective": Function(objective, prepare, first_errors),
    "jacobian": Function(jacobian, prepare_jacobian, first_entries),
}
