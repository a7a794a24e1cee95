"""The log's form: one JSON object a line, bounded, with the Investigation's name."""

from __future__ import annotations

import ast
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import kubewhy
from kubewhy.app import logs


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    """What is logged; the process's own logging is put back afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    noisy = {
        name: logging.getLogger(name).level
        for name in (
            "kopf",
            "kopf.objects",
            "aiohttp.access",
            "asyncio",
            "kopf._core.reactor.running",
        )
    }
    root.handlers = []
    found = io.StringIO()
    logs.set_up(stream=found)
    yield found
    root.handlers, root.level = handlers, level
    for name, kept in noisy.items():
        logging.getLogger(name).setLevel(kept)


def _lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


LOG = logging.getLogger("kubewhy.test")


def test_a_record_is_one_line_whatever_its_text() -> None:
    # Not through the logger: pytest's own capture can't hand lone surrogates on.
    fields = {
        "name": LOG.name,
        "levelname": "INFO",
        "msg": "one\ntwo \x1b[31m\u2028\ud83d\ude00\x00",
    }
    (text,) = logs.JsonFormatter().format(logging.makeLogRecord(fields)).splitlines()
    line = json.loads(text)
    assert line["level"] == "info"
    assert line["logger"] == "kubewhy.test"
    assert line["message"].startswith("one\ntwo")
    assert line["time"].endswith("Z")


def test_the_name_of_the_investigation_is_a_field(stream: io.StringIO) -> None:
    LOG.warning("x", extra={"investigation": "shop/checkout", "reason": "Running", "other": 1})
    (line,) = _lines(stream)
    assert line["investigation"] == "shop/checkout"
    assert line["reason"] == "Running"
    assert "other" not in line


def test_texts_are_bounded(stream: io.StringIO) -> None:
    try:
        raise ValueError("y" * 10**6)
    except ValueError:
        LOG.exception("x" * 10**6)
    (line,) = _lines(stream)
    assert len(line["message"]) <= logs.MESSAGE_LENGTH
    assert len(line["exception"]) <= logs.TRACE_LENGTH


def test_a_field_that_json_cannot_hold_is_written_as_text(stream: io.StringIO) -> None:
    LOG.info("x", extra={"alerts": {"outcome": Path("x")}, "status": object})
    (line,) = _lines(stream)
    assert line["alerts"] == {"outcome": "x"}


def test_half_a_surrogate_pair_does_not_stop_the_log() -> None:
    """A real stream encodes; a line that it can't encode would be lost with a traceback on standard error."""
    raw = io.BytesIO()
    handler = logging.StreamHandler(io.TextIOWrapper(raw, encoding="utf-8", write_through=True))
    handler.setFormatter(logs.JsonFormatter())
    handler.handle(LOG.makeRecord("n", logging.INFO, "f", 1, "bad \ud800 text", (), None))
    assert json.loads(raw.getvalue())["message"].startswith("bad ")


@pytest.mark.parametrize("name", ["kopf", "kopf.objects", "aiohttp.access", "asyncio"])
def test_talkative_libraries_speak_from_warning_up(stream: io.StringIO, name: str) -> None:
    logging.getLogger(name).info("chatter")
    logging.getLogger(name).warning("trouble")
    assert [line["message"] for line in _lines(stream)] == ["trouble"]


def test_every_extra_in_the_code_reaches_the_log() -> None:
    """A field that is not listed would be dropped without a word."""
    package = Path(kubewhy.__file__).parent
    used = set()
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "extra":
                used |= {key.value for key in _keys(node.value)}
    assert {"investigation", "peer", "port"} <= used
    assert used <= set(logs.FIELDS)


def _keys(value: ast.expr) -> list[Any]:
    return list(value.keys) if isinstance(value, ast.Dict) else []
