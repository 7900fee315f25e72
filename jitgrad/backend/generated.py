"""The module that generated functions say they belong to.

It stays empty. Numba looks up the module of a function when cached code is loaded in another process, where
the user's own module may not be importable; this one always is.
"""
