"""The API server's Table form as aligned text: what `kubectl get` prints, custom columns included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubewhy.toolsets.kubernetes import shapes, texts

CELL: Final = 120
WIDE_CELL: Final = 400
"""Most characters of one cell."""


def render(reply: shapes.Object, *, wide: bool = False, namespaces: bool = False) -> Sequence[str]:
    """Header and rows as lines; no line where there is no row.

    `wide` adds the columns that kubectl shows with `-o wide`, `namespaces` puts each row's namespace first.
    """
    if reply.get("kind") != "Table":
        reply = _from_objects(reply)
    columns = shapes.mappings(reply, "columnDefinitions")
    shown = [at for at, column in enumerate(columns) if wide or not column.get("priority")]
    cell = WIDE_CELL if wide else CELL
    body = []
    for row in shapes.mappings(reply, "rows"):
        cells = row.get("cells") or []
        head = [shapes.text(row, "object", "metadata", "namespace")] if namespaces else []
        body.append([*head, *(_cell(cells[at], cell) for at in shown if at < len(cells))])
    head = ["NAMESPACE"] if namespaces else []
    return (
        _aligned([[*head, *(str(columns[at].get("name", "")).upper() for at in shown)], *body])
        if body
        else ()
    )


def left_out(reply: shapes.Object) -> str:
    """How many objects the page lacks, in words; "" where it lacks none."""
    if not shapes.text(reply, "metadata", "continue"):
        return ""
    remaining = shapes.number(reply, "metadata", "remainingItemCount")
    return f"{remaining} more exist" if remaining else "more exist"


def _from_objects(reply: shapes.Object) -> shapes.Object:
    """A Table of name and creation for a server that has no Table form of the kind."""
    items = shapes.mappings(reply, "items") if "items" in reply else [reply]
    rows = [
        {
            "cells": [
                shapes.text(item, "metadata", "name"),
                shapes.text(item, "metadata", "creationTimestamp"),
            ],
            "object": item,
        }
        for item in items
    ]
    columns = [{"name": "Name"}, {"name": "Created At"}]
    return {
        "columnDefinitions": columns,
        "rows": rows,
        "metadata": shapes.mapping(reply, "metadata"),
    }


def _cell(value: Any, most: int) -> str:
    return texts.line("" if value is None else str(value), most) or "<none>"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    count = max(len(row) for row in rows)
    widths = [max(len(row[at]) for row in rows if at < len(row)) for at in range(count)]
    return [
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in rows
    ]
