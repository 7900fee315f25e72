"""Source text as a tree, so that code can be written out of order.

The reverse sweep is written before the forward sweep it needs values from, and the top of a loop body
after the body. A `Text` holds lines and nested texts; a nested *section* stands at a fixed place and is
filled later, a *suite* is an indented block under a header.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(eq=False)
class Text:
    """Lines and nested texts, in order."""

    items: list[str | Text] = field(default_factory=list)
    header: str | None = None

    def line(self, text: str) -> None:
        self.items.append(text)

    def section(self) -> Text:
        """A place to be filled later, here."""
        part = Text()
        self.items.append(part)
        return part

    def suite(self, header: str) -> Text:
        """An indented block under `header`; an empty one becomes ``pass``."""
        part = Text(header=header)
        self.items.append(part)
        return part

    @property
    def empty(self) -> bool:
        return all(isinstance(item, Text) and item.empty and item.header is None for item in self.items)

    def render(self, depth: int = 0) -> list[str]:
        """The finished lines, indented by `depth` levels."""
        lines = []
        if self.header is not None:
            lines.append("    " * depth + self.header)
            depth += 1
            if self.empty:
                return [*lines, "    " * depth + "pass"]
        for item in self.items:
            if isinstance(item, Text):
                lines += item.render(depth)
            else:
                lines.append("    " * depth + item)
        return lines
