"""The problems of the suite, a module each.

A module has ``FUNCTIONS``, the functions of the protocol by name, and ``PRIMAL``, the name of the one that is
differentiated (None where the derivatives are inside).
"""
