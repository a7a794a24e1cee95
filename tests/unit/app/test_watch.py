"""kopf as it is used here: the settings of its reference, and handlers that only look.

The names with an underscore are kopf's: they are read to see that nothing else is registered.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kopf
import pytest

from kubewhy.adapters.kube import config
from kubewhy.app import watch

ACCESS = config.Explicit(server="https://127.0.0.1:1", ca_file="", token_file="")


def _read(found: kopf.OperatorSettings, path: str) -> Any:
    value: Any = found
    for part in path.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("peering.standalone", True),
        ("posting.enabled", False),
        ("watching.connect_timeout", 10),
        ("watching.inactivity_timeout", 70),
        ("watching.chunk_size", 500),
        ("networking.request_timeout", 30),
        ("networking.connect_timeout", 10),
        ("scanning.disabled", True),
        ("queueing.worker_limit", None),
        ("persistence.finalizer", "kubewhy.internal/unused"),
        ("admission.server", None),
    ],
)
def test_settings(path: str, value: object) -> None:
    assert _read(watch.settings(), path) == value


def test_settings_with_a_range() -> None:
    found = watch.settings()
    assert 300 <= (found.watching.server_timeout or 0) <= 600
    backoffs = found.networking.error_backoffs
    assert not isinstance(backoffs, float)
    assert sum(backoffs) < 10
    assert 0 < (found.process.ultimate_exiting_timeout or 0) < 30
    assert found.background.cancellation_polling
    for storage in (found.persistence.progress_storage, found.persistence.diffbase_storage):
        assert vars(storage)["prefix"] == "kubewhy.internal"


def test_only_what_has_not_finished_is_watched() -> None:
    selector: Any
    ((selector, wanted),) = watch.settings().watching.field_selectors.items()
    assert (selector.group, selector.any_name) == ("kubewhy.internal", "investigations")
    assert wanted == "status.finished!=true"


def _handlers(registry: kopf.OperatorRegistry, part: str) -> list[Any]:
    return list(getattr(registry, f"_{part}")._handlers)


def test_only_events_are_looked_at_and_nothing_else_is_registered() -> None:
    """Any other kind of handler would make kopf write: finalizers, progress, status."""
    found = watch.registry(ACCESS, lambda *_: None)
    (look,) = _handlers(found, "watching")
    assert look.id == "look"
    assert (look.selector.group, look.selector.version, look.selector.any_name) == (
        "kubewhy.internal", "v1alpha1", "investigations",
    )  # fmt: skip
    activities = [(each.id, each.activity.value) for each in _handlers(found, "activities")]
    assert activities == [("login", "authentication")]
    for part in ("indexing", "spawning", "changing", "webhooks"):
        assert _handlers(found, part) == [], part


def test_the_check_sees_another_handler() -> None:
    """The negative control: what a handler of another kind looks like in a registry."""
    found = watch.registry(ACCESS, lambda *_: None)
    kopf.on.update("kubewhy.internal", "v1alpha1", "investigations", registry=found)(
        lambda **_: None
    )
    assert len(_handlers(found, "changing")) == 1


async def test_an_event_is_handed_over_as_it_is() -> None:
    seen: list[tuple[str, Any]] = []
    (look,) = _handlers(watch.registry(ACCESS, lambda *found: seen.append(found)), "watching")
    for kind in (None, "ADDED", "DELETED"):
        await look.fn(event={"type": kind, "object": {"metadata": {"name": kind}}})
    assert [kind for kind, _ in seen] == ["", "ADDED", "DELETED"]


async def test_the_token_is_the_one_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first\n")
    access = config.Explicit(
        server="https://127.0.0.1:1", ca_file="", token_file=str(tmp_path / "token")
    )
    (login,) = _handlers(watch.registry(access, lambda *_: None), "activities")
    found = await login.fn()
    assert (found.server, found.scheme, found.token) == ("https://127.0.0.1:1", "Bearer", "first")
    (tmp_path / "token").write_text("second")
    assert (await login.fn()).token == "second"


def test_a_watch_without_credentials_is_not_ready_and_ends_when_it_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    missing = config.Explicit(server="https://127.0.0.1:1", ca_file="", token_file="/missing")
    found = watch.Watch(missing, lambda *_: None)
    found.start()
    try:
        _until(lambda: "token file /missing" in caplog.text)
        assert found.alive
        assert not found.ready
    finally:
        found.stop()
    _until(lambda: not found.alive)


def _until(true: Callable[[], bool], *, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
