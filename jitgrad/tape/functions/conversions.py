"""Conversions of dtype."""

from __future__ import annotations

from jitgrad.tape.handlers import HANDLERS
from jitgrad.tape.primitive import Primitive

HANDLERS["cast"] = Primitive("Cast", lambda a, dtype: a.astype(dtype), (lambda ct, out, a, dtype: ct,))
