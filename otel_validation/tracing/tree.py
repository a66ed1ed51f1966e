"""A trace as a readable tree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from rich.tree import Tree

from otel_validation.tracing import semconv

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

SHOWN = (
    semconv.ACTION_ID,
    semconv.DISPATCH_ATTEMPT,
    semconv.ERROR_TYPE,
    semconv.VERIFICATION_STATUS,
    semconv.VERDICT_CATEGORY,
    semconv.VERDICT_ROUTE,
    semconv.REPORT_STATUS,
    semconv.GIVE_UP_CAUSE,
    semconv.REPLAY_END,
)
"""Attributes printed beside a span, in this order."""


def trace_tree(spans: Iterable[ReadableSpan], trace_id: str) -> Tree:
    """The spans of one trace (32 hex digits), children under their parents, in the order they began.

    A span whose parent is not among them hangs under the root of the tree, marked as such.
    """
    mine = [s for s in spans if s.context is not None and f"{s.context.trace_id:032x}" == trace_id]
    ids = {s.context.span_id for s in mine if s.context is not None}
    children: dict[int | None, list[ReadableSpan]] = defaultdict(list)
    for span in sorted(mine, key=lambda s: (s.start_time or 0, s.end_time or 0)):
        parent = span.parent.span_id if span.parent is not None else None
        children[parent if parent in ids else None].append(span)
    tree = Tree(Text(f"trace {trace_id}", style="bold"))
    for span in children[None]:
        _grow(tree, span, children, orphan=span.parent is not None)
    return tree


def _grow(
    tree: Tree, span: ReadableSpan, children: dict[int | None, list[ReadableSpan]], *, orphan: bool = False
) -> None:
    branch = tree.add(_line(span, orphan=orphan))
    if span.context is not None:
        for child in children[span.context.span_id]:
            _grow(branch, child, children)


def _line(span: ReadableSpan, *, orphan: bool) -> Text:
    failed = not span.status.is_ok and not span.status.is_unset
    line = Text(span.name, style="red" if failed else "green")
    if span.start_time is not None and span.end_time is not None:
        line.append(f"  {(span.end_time - span.start_time) / 1e6:.0f} ms", style="dim")
    for text in _facts(span):
        line.append(f"  {text}", style="cyan")
    if orphan:
        line.append("  (its parent is elsewhere)", style="yellow")
    return line


def _facts(span: ReadableSpan) -> Sequence[str]:
    attributes = span.attributes or {}
    facts = [f"{name.removeprefix('rpa.')}={attributes[name]!s}" for name in SHOWN if name in attributes]
    kinds = [str((link.attributes or {}).get(semconv.LINK_KIND, "")) for link in span.links]
    return facts + [f"-> {kind}" for kind in kinds if kind and kind != semconv.LINK_HTTP]
