"""Series as compact text: few words for a model, every number that decides."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Sequence

from kubewhy.toolsets.prometheus import times
from kubewhy.toolsets.prometheus.api import Answer, Series

SERIES_SHOWN = 20
"""Most series of a range that are shown."""

VALUES_SHOWN = 100
"""Most series of an instant that are shown."""

CELLS_SHOWN = 400
"""Most values in the table of a range; its rows are thinned out evenly until they fit."""

_LABELS_LENGTH = 600


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """The text, and whether series were left out of it."""

    text: str
    truncated: bool


def instant(answer: Answer) -> Table:
    """One line per series: value and labels, largest value first."""
    ordered = sorted(
        answer.series, key=lambda series: -_rank(series.points[-1][1]) if series.points else 0
    )
    shown = ordered[:VALUES_SHOWN]
    lines = [f"{number(series.points[-1][1])}  {name(series)}" for series in shown if series.points]
    return Table(
        _joined(_counted(answer, len(shown)), answer.warnings, lines), len(shown) < len(ordered)
    )


def matrix(answer: Answer) -> Table:
    """A line with minimum, maximum and last value of each series, then their values over time."""
    shown = sorted(answer.series, key=_highest, reverse=True)[:SERIES_SHOWN]
    summaries = [f"s{index} {_summary(series)}" for index, series in enumerate(shown, start=1)]
    lines = [*summaries, "", *_rows(shown)]
    return Table(
        _joined(_counted(answer, len(shown)), answer.warnings, lines),
        len(shown) < len(answer.series),
    )


def number(text: str) -> str:
    """A value with at most six significant digits; whole numbers stay whole, other text stays as it is."""
    try:
        value = float(text)
    except ValueError:
        return text
    if math.isfinite(value) and value == int(value) and abs(value) < 2**53:
        return str(int(value))
    return f"{value:.6g}" if math.isfinite(value) else text


def name(series: Series) -> str:
    """The series as PromQL writes it, cut where its labels go on for ever."""
    labels = dict(series.labels)
    metric = labels.pop("__name__", "")
    pairs = ",".join(
        f"{label}={json.dumps(value, ensure_ascii=False)}"
        for label, value in sorted(labels.items())
    )
    text = f"{metric}{{{pairs}}}" if pairs or not metric else metric
    return text if len(text) <= _LABELS_LENGTH else f"{text[:_LABELS_LENGTH]}…}}"


def _counted(answer: Answer, shown: int) -> str:
    total = len(answer.series)
    left_out = total - shown
    if not left_out:
        return f"series: {total}"
    return f"series: {total}, of which {left_out} with lower values are left out; narrow the query or use topk"


def _joined(count: str, warnings: Sequence[str], lines: Sequence[str]) -> str:
    return "\n".join([count, *(f"warning: {warning}" for warning in warnings), *lines])


def _summary(series: Series) -> str:
    points = [(at, float(value)) for at, value in series.points if _is_number(value)]
    if not points:
        values = [value for _, value in series.points]
        return f"points={len(values)} last={values[-1] if values else '-'} {name(series)}"
    low = min(points, key=lambda point: point[1])
    high = max(points, key=lambda point: point[1])
    return (
        f"points={len(series.points)} min={number(str(low[1]))} at {times.shown(low[0])} "
        f"max={number(str(high[1]))} at {times.shown(high[0])} "
        f"first={number(series.points[0][1])} last={number(series.points[-1][1])} {name(series)}"
    )


def _rows(shown: Sequence[Series]) -> Iterator[str]:
    moments = sorted({at for series in shown for at, _ in series.points})
    values = [dict(series.points) for series in shown]
    keep = max(2, CELLS_SHOWN // max(1, len(shown)))
    stride = -(-len(moments) // keep)
    kept = moments[:: max(1, stride)]
    if moments and kept[-1] != moments[-1]:
        kept = [*kept, moments[-1]]
    note = f" (every {stride}th time and the last)" if stride > 1 else ""
    yield " ".join(["time", *(f"s{index}" for index in range(1, len(shown) + 1))]) + note
    for at in kept:
        yield " ".join([times.shown(at), *(number(column.get(at, "-")) for column in values)])


def _is_number(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


def _rank(text: str) -> float:
    return float(text) if _is_number(text) else -math.inf


def _highest(series: Series) -> float:
    return max((_rank(value) for _, value in series.points), default=-math.inf)
