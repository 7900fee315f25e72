"""Derivatives for callers in C: function pointers with a calling convention of the caller's choice."""
