"""Forward mode: a program with the tangent of every active value beside it."""

from __future__ import annotations

from jitgrad.transforms.forward import directions
from jitgrad.transforms.forward.function import emit
from jitgrad.transforms.forward.vectors import Unsuitable, suitable

__all__ = ["Unsuitable", "directions", "emit", "suitable"]
