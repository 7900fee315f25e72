"""Derivatives of what a solver finds: roots, fixed points, minimisers and solutions of linear equations.

The solver is any njit code. It is run, not differentiated: the derivative comes from the equation that its result
satisfies, by the implicit function theorem.

equations   what users call: `root`, `fixed_point`, `argmin`, `linear_solve`
rules       the derivatives, as functions written for each equation
"""

from jitgrad.implicit.equations import argmin, fixed_point, linear_solve, root

__all__ = ["argmin", "fixed_point", "linear_solve", "root"]
