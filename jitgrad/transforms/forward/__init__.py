"""Forward mode: a program with the tangent of every active value beside it."""

from __future__ import annotations

from jitgrad.transforms.forward.function import emit

__all__ = ["emit"]
