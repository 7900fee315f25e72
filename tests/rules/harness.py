"""Checks of array rules against differences of the compiled function, driven by the rules' own cases.

A case is a tuple of arguments. Floating arguments that the rule can differentiate are active; integers,
None, strings and the like are written into the call as literals, as users write them.
"""

import warnings

import numpy as np
from numba import njit, typeof
from numba.core.errors import NumbaPerformanceWarning

import jitgrad.rules as rules

warnings.simplefilter("ignore", NumbaPerformanceWarning)


def is_floating(value):
    if isinstance(value, (tuple, list)):
        return bool(value) and all(is_floating(v) for v in value)
    return isinstance(value, (float, complex, np.floating, np.complexfloating)) or (
        isinstance(value, np.ndarray) and value.dtype.kind in "fc"
    )


def leaves(x):
    """Arrays and scalars of a structure, as float or complex arrays."""
    if isinstance(x, (tuple, list)):
        return [leaf for v in x for leaf in leaves(v)]
    return [np.asarray(x)]


def like(x, fn):
    """A structure with `fn` applied to each leaf."""
    if isinstance(x, tuple):
        return type(x)(*(like(v, fn) for v in x)) if hasattr(x, "_fields") else tuple(like(v, fn) for v in x)
    if isinstance(x, list):
        return [like(v, fn) for v in x]
    if isinstance(x, np.ndarray):
        return fn(x)
    if isinstance(x, (int, np.integer)):
        return 0.0
    return type(x)(fn(np.asarray(x))) if isinstance(x, (np.generic,)) else fn(np.asarray(x)).item()


def noise(rng, x):
    def draw(v):
        d = rng.normal(size=v.shape)
        return np.asarray(d + 1j * rng.normal(size=v.shape) if v.dtype.kind == "c" else d).astype(
            v.dtype if v.dtype.kind in "fc" else float
        )

    return like(x, draw)


def inner(a, b):
    """Real inner product of two structures; integer leaves do not count."""
    return float(
        sum(
            np.sum(np.real(np.conj(u) * v))
            for u, v in zip(leaves(a), leaves(b), strict=True)
            if u.dtype.kind in "fc" and v.dtype.kind in "fc"
        )
    )


def shift(x, d, h):
    if isinstance(x, (tuple, list)):
        return type(x)(shift(u, v, h) for u, v in zip(x, d, strict=True))
    return x + h * d if not isinstance(x, np.ndarray) else restride(x, x + h * d)


def restride(x, value):
    """`value` in memory laid out as `x` is, so that the types agree."""
    if x.ndim and not x.flags.c_contiguous and not x.flags.f_contiguous:
        big = np.zeros((*value.shape[:-1], 2 * value.shape[-1]), value.dtype)
        big[..., ::2] = value
        return big[..., ::2]
    return np.asfortranarray(value) if x.flags.f_contiguous and not x.flags.c_contiguous else value


class Case:
    """One rule at one argument tuple."""

    def __init__(self, rule, args, fn=None, method=None):
        self.rule = rule
        bound = rule.bind(args)
        self.values = {n: v.value if isinstance(v, rules.Default) else v for n, v in bound.items()}
        names = list(self.values)[: len(args)] if "*" not in rule.params else list(self.values)
        self.passed = names
        self.active = [n for n in names if rule.differentiable(n) and is_floating(self.values[n])]
        literal = {
            n: repr(self.values[n])
            for n in names
            if not is_floating(self.values[n]) and not isinstance(self.values[n], np.ndarray)
        }
        self.variables = [n for n in names if n not in literal]
        scope = {"np": np, "f": fn if fn is not None else (rule.functions[0] if rule.functions else None)}
        texts = [literal.get(n, n) for n in names]
        for k, n in enumerate(names):
            value = self.values[n]
            if isinstance(value, type) and issubclass(value, np.generic):
                texts[k] = f"np.{value.__name__}"
        if "*" in rule.params:
            texts[-1] = "*" + texts[-1]
        call = f"f({', '.join(texts)})" if method is None else f"{texts[0]}.{method}({', '.join(texts[1:])})"
        exec(f"def primal({', '.join(self.variables)}):\n    return {call}\n", scope)
        self.primal = njit(error_model="numpy")(scope["primal"])
        self.out = self.evaluate()
        self.types = {n: typeof(v) for n, v in self.values.items()} | {"out": typeof(self.out)}

    def evaluate(self, **changed):
        return self.primal(*({**self.values, **changed}[n] for n in self.variables))

    def need(self, name):
        if name == "out":
            return self.out
        if name in self.values:
            return self.values[name]
        if name == "out_dtype":
            return self.out.dtype.type
        if name.endswith("_shape"):
            value = self.values[name[:-6]]
            return tuple(np.shape(v) for v in value) if isinstance(value, tuple) else np.shape(value)
        if name.endswith("_dtype"):
            return np.asarray(self.values[name[:-6]]).dtype.type
        raise KeyError(name)

    def push(self, param, dot):
        fn, needs = self.rule.pushforward(param, self.types)
        return fn(dot, *(self.need(n) for n in needs))

    def pulls(self, ct, params=None):
        out = {}
        for names, fn, needs in self.rule.pullbacks(params or self.active, self.types):
            result = fn(ct, *(self.need(n) for n in needs))
            out |= dict(zip(names, result if len(names) > 1 else (result,), strict=True))
        return out

    def difference(self, param, d, h):
        """Directional derivative by central differences, extrapolated once."""

        def at(step):
            hi = leaves(self.evaluate(**{param: shift(self.values[param], d, step)}))
            lo = leaves(self.evaluate(**{param: shift(self.values[param], d, -step)}))
            return [
                (u - v) / (2 * step) if u.dtype.kind in "fc" else np.zeros(u.shape) for u, v in zip(hi, lo, strict=True)
            ]

        return [(4 * b - a) / 3 for a, b in zip(at(h), at(h / 2), strict=True)]

    def check(self, rng, tol=1e-7, h=1e-4, project=None):
        """Tangents against differences, pullbacks against tangents, shapes and dtypes."""
        ct = noise(rng, self.out)
        if project is not None:
            ct = project(self.out, ct)
        pulled = self.pulls(ct)
        for param in self.active:
            value = self.values[param]
            d = noise(rng, value)
            if self.rule.pushforward(param, self.types) is None:  # a derivative of zero
                assert param not in pulled
                assert not any(np.any(want) for want in self.difference(param, d, h))
                continue
            pushed = self.push(param, d)
            for got, want, primal in zip(leaves(pushed), self.difference(param, d, h), leaves(self.out), strict=True):
                assert got.shape == primal.shape, (self.rule, param, got.shape, primal.shape)
                np.testing.assert_allclose(
                    got,
                    want,
                    rtol=tol,
                    atol=tol * max(1.0, np.max(np.abs(want), initial=0.0)),
                    err_msg=f"{self.rule} push {param}",
                )
            for got, v in zip(leaves(pulled[param]), leaves(value), strict=True):
                assert got.shape == v.shape, (self.rule, param, got.shape, v.shape)
            a, b = inner(ct, pushed), inner(pulled[param], d)
            scale = abs(a) + np.sqrt(inner(ct, ct) * inner(pushed, pushed)) + 1e-300
            assert abs(a - b) <= 1e-11 * scale, (self.rule, f"pull {param}", a, b)
            alone = self.pulls(ct, [param])[param]
            np.testing.assert_allclose(
                np.concatenate([v.ravel() for v in leaves(alone)]),
                np.concatenate([v.ravel() for v in leaves(pulled[param])]),
                rtol=1e-11,
                atol=1e-13,
            )
