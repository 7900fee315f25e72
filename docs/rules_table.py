"""The table of all derivative rules, as a page.

python -m docs.rules_table            writes docs/rules_table.md
python -m docs.rules_table --check    exit status 1 where that is not what would be written
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from jitgrad import rules
from jitgrad.rules.registry import function_name

PAGE = Path(__file__).with_name("rules_table.md")
HEAD = """# All rules

Written by `python -m docs.rules_table`; do not edit. [Rules](rules.md) says what they are and how to add one. Functions
of NumPy that Numba supports and that are not listed are differentiated through Numba's own implementation.
"""


def page() -> str:
    """The text of the page."""
    parts = [HEAD]
    for kind, title, columns, row in SECTIONS:
        found = sorted((r for r in rules.all_rules() if type(r) is kind), key=lambda r: r.name.lower())
        parts.append(f"## {title}\n\n{_table(columns, map(row, found))}")
    return "\n".join(parts)


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [columns, ("---",) * len(columns), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _names(rule: rules.Rule) -> str:
    """Every name the rule goes by, each once."""
    names = [function_name(fn) for fn in rule.functions]
    names += [name if "." in name else f"array.{name}" for name in (*rule.methods, *rule.attributes)]
    short = (n.replace("numpy.", "np.").removeprefix("jitgrad.runtime.") for n in names)
    return ", ".join(f"`{name}`" for name in dict.fromkeys(short))


def _scalar(rule: Any) -> tuple[str, ...]:
    if rule.partials and rule.pull is None:
        shown = zip(rule.params, rule.partials, strict=False)
        partials = "; ".join(f"{name}: `{text or '0'}`" for name, text in shown)
    else:
        partials = ", ".join(rule.params)
    notes = [rule.note] if rule.note else []
    notes += ["a row of its own for complex operands"] if rule.complex is not None else []
    return _names(rule), partials, "; ".join(notes)


def _array(rule: Any) -> tuple[str, ...]:
    parameters = ", ".join(rule.push)
    return _names(rule), "a view" if rule.view and not parameters else parameters, rule.note


def _plain(rule: Any) -> tuple[str, ...]:
    return _names(rule), rule.note


def _zero(rule: Any) -> tuple[str, ...]:
    return _names(rule), "; ".join(filter(None, (rule.note, rule.active_reason)))


def _refused(rule: Any) -> tuple[str, ...]:
    return _names(rule), rule.reason, rule.way_out


SECTIONS: tuple[tuple[type, str, tuple[str, ...], Callable[[Any], tuple[str, ...]]], ...] = (
    (rules.ScalarRule, "Scalar functions, elementwise on arrays", ("function", "partial derivatives", "note"), _scalar),
    (rules.ArrayRule, "Functions of arrays", ("function", "has derivatives in", "note"), _array),
    (rules.RewriteRule, "Differentiated through another implementation", ("function", "note"), _plain),
    (rules.ZeroRule, "Derivative zero", ("function", "note"), _zero),
    (rules.AllocRule, "New arrays", ("function", "note"), _plain),
    (rules.MutatingRule, "Functions that write into an argument", ("function", "note"), _plain),
    (rules.RefusedRule, "Refused", ("function", "why", "way out"), _refused),
)


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(None if PAGE.read_text() == page() else f"{PAGE} is out of date: run python -m docs.rules_table")
    PAGE.write_text(page())
