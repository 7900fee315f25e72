"""Hand tracking: measured points against the surface of a hand model, posed by 26 angles and shifts.

A measured point lies in a triangle of the surface, at barycentric coordinates `us` of its own. So the derivative with
respect to them has two columns, and one direction serves all points at once.
"""

import math
from typing import NamedTuple

import numpy as np
from numba import njit

import jitgrad
from benchmarks.gradbench.problem import Function, array


class Hand(NamedTuple):
    """Bones in a tree, parents first, and the surface they carry.

    Attributes
    ----------
    parents : (bones,) int, -1 for a root
    relatives, inverses : (bones, 4, 4)
        A bone in its parent's frame, and the world in the bone's, at rest.
    vertices : (n, 4)
        Homogeneous coordinates at rest.
    weights : (n, bones)
        How much of a vertex each bone carries.
    triangles : (m, 3) int
    mirrored : bool
    """

    parents: np.ndarray
    relatives: np.ndarray
    inverses: np.ndarray
    vertices: np.ndarray
    weights: np.ndarray
    triangles: np.ndarray
    mirrored: bool


@njit
def multiply(a, b, out):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(b.shape[0]):
                s += a[i, k] * b[k, j]
            out[i, j] = s


@njit
def joint_angles(theta, bones):
    """Three angles of each bone: four for each finger, one sideways; none for the wrist and the forearm."""
    angles = np.zeros((bones, 3))
    k = 6
    for finger in range(5):
        for part in range(3):
            bone = 2 + 4 * finger + part
            angles[bone, 0] = theta[k]
            k += 1
            if part == 0:
                angles[bone, 1] = theta[k]
                k += 1
    return angles


@njit
def turn(angles, out):
    """Rotation about x, then y, then z, as a 4 x 4 matrix."""
    cx, sx = math.cos(angles[0]), math.sin(angles[0])
    cz, sz = math.cos(angles[1]), math.sin(angles[1])
    cy, sy = math.cos(angles[2]), math.sin(angles[2])
    out[:] = 0.0
    out[0, 0] = cz * cy
    out[0, 1] = cz * sy * sx - sz * cx
    out[0, 2] = cz * sy * cx + sz * sx
    out[1, 0] = sz * cy
    out[1, 1] = sz * sy * sx + cz * cx
    out[1, 2] = sz * sy * cx - cz * sx
    out[2, 0] = -sy
    out[2, 1] = cy * sx
    out[2, 2] = cy * cx
    out[3, 3] = 1.0


@njit
def rotation(axis):
    """The 3 x 3 rotation about `axis` by its length."""
    angle = math.sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2])
    if angle < 1e-4:
        return np.eye(3)
    x, y, z = axis[0] / angle, axis[1] / angle, axis[2] / angle
    s, c = math.sin(angle), math.cos(angle)
    out = np.empty((3, 3))
    out[0, 0] = x * x + (1.0 - x * x) * c
    out[0, 1] = x * y * (1.0 - c) - z * s
    out[0, 2] = x * z * (1.0 - c) + y * s
    out[1, 0] = x * y * (1.0 - c) + z * s
    out[1, 1] = y * y + (1.0 - y * y) * c
    out[1, 2] = y * z * (1.0 - c) - x * s
    out[2, 0] = x * z * (1.0 - c) - y * s
    out[2, 1] = y * z * (1.0 - c) + x * s
    out[2, 2] = z * z + (1.0 - z * z) * c
    return out


@njit
def bone_transforms(theta, hand):
    """From the surface at rest to where each bone carries it in the world, (bones, 3, 4)."""
    bones = hand.parents.size
    angles = joint_angles(theta, bones)
    whole = rotation(theta[:3])
    absolutes = np.empty((bones, 4, 4))
    transforms = np.empty((bones, 3, 4))
    turned, relative, bone = np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    for b in range(bones):
        turn(angles[b], turned)
        if hand.parents[b] < 0:
            multiply(hand.relatives[b], turned, absolutes[b])
        else:
            multiply(hand.relatives[b], turned, relative)
            multiply(absolutes[hand.parents[b]], relative, absolutes[b])
        multiply(absolutes[b], hand.inverses[b], bone)
        if hand.mirrored:
            for j in range(4):
                bone[0, j] = -bone[0, j]
        multiply(whole, bone[:3], transforms[b])
    return transforms


@njit
def posed(theta, hand):
    """The vertices of the posed surface, (n, 3)."""
    transforms = bone_transforms(theta, hand)
    out = np.empty((hand.vertices.shape[0], 3))
    for v in range(out.shape[0]):
        p, q, r, s = hand.vertices[v, 0], hand.vertices[v, 1], hand.vertices[v, 2], hand.vertices[v, 3]
        x, y, z = theta[3], theta[4], theta[5]
        for b in range(transforms.shape[0]):
            w = hand.weights[v, b]
            if w != 0.0:
                t = transforms[b]
                x += w * (t[0, 0] * p + t[0, 1] * q + t[0, 2] * r + t[0, 3] * s)
                y += w * (t[1, 0] * p + t[1, 1] * q + t[1, 2] * r + t[1, 3] * s)
                z += w * (t[2, 0] * p + t[2, 1] * q + t[2, 2] * r + t[2, 3] * s)
        out[v, 0], out[v, 1], out[v, 2] = x, y, z
    return out


@njit
def objective(theta, us, hand, correspondences, points):
    """theta (26,), us (n, 2), correspondences (n,) triangles, points (n, 3); the differences (n, 3)."""
    surface = posed(theta, hand)
    errors = np.empty_like(points)
    for k in range(points.shape[0]):
        corners = hand.triangles[correspondences[k]]
        u, v = us[k, 0], us[k, 1]
        for i in range(3):
            at = u * surface[corners[0], i] + v * surface[corners[1], i] + (1.0 - u - v) * surface[corners[2], i]
            errors[k, i] = points[k, i] - at
    return errors


@njit
def along(shift, theta, us, hand, correspondences, points):
    """As `objective`, where `shift` moves all `us` at once and `theta`: its Jacobian at zero has 28 columns."""
    return objective(theta + shift[2:], us + shift[:2], hand, correspondences, points)


columns = jitgrad.jacfwd(along)


@njit
def jacobian(theta, us, hand, correspondences, points):
    return columns(np.zeros(2 + theta.size), theta, us, hand, correspondences, points)


def prepare(data):
    model = data["data"]["model"]
    hand = Hand(
        np.array(model["parents"]),
        array(model["base_relatives"]),
        array(model["inverse_base_absolutes"]),
        array(model["base_positions"]),
        array(model["weights"]),
        np.array(model["triangles"]),
        bool(model["is_mirrored"]),
    )
    correspondences = np.array(data["data"]["correspondences"])
    return array(data["theta"]), array(data["us"]), hand, correspondences, array(data["data"]["points"])


PRIMAL = "objective"
FUNCTIONS = {
    "objective": Function(objective, prepare, lambda errors: errors.ravel().tolist()),
    "jacobian": Function(jacobian, prepare, lambda matrix: matrix.reshape(-1, matrix.shape[-1]).tolist()),
}
