"""Exact derivatives of ordinary Numba code."""
