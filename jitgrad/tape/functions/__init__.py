"""NumPy functions of tape values: one module per family, each a table of primitives and their pullbacks."""

from jitgrad.tape.functions import (
    calculus,
    conversions,
    cumulative,
    decompositions,
    fourier,
    indexing,
    joining,
    linalg,
    pointwise,
    products,
    rearranging,
    reductions,
    shapes,
    sorting,
    untracked,
)

__all__ = [
    "calculus",
    "conversions",
    "cumulative",
    "decompositions",
    "fourier",
    "indexing",
    "joining",
    "linalg",
    "pointwise",
    "products",
    "rearranging",
    "reductions",
    "shapes",
    "sorting",
    "untracked",
]
