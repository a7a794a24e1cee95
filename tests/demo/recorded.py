"""The demo without root: no node, so a fault that the scheduler makes, and a recorded message for the alert."""

from __future__ import annotations

import datetime
import json
from typing import Any

import httpx

import local
import product
import show
import waiting
import workload
from stage import GOAL_SECONDS, Stage, clear, last_act, now, present, run_shown, show_resolved
from terminal import DemoError

FIXTURE = local.ROOT / "tests" / "fixtures" / "demo" / "pod-not-ready.json"
"""What Alertmanager 0.25 sent for the mixin's KubePodNotReady about pod checkout-0 of namespace shop."""

_UNSCHEDULED_SECONDS = 60.0
_RESOLVED_SECONDS = 60.0
_POST_SECONDS = 10.0


def play(stage: Stage) -> None:
    """Play it all.

    Raises:
        DemoError: something did not happen in time, or the answer is wrong.
    """
    say = stage.terminal.say
    say(
        "NOT ROOT: there is no node here, so nothing can crash. The fault shown is one that the real"
        " scheduler makes, and instead of a firing alert the recorded message of an Alertmanager is"
        " posted, with its times replaced by now. As root the alert is real."
    )
    clear(stage)
    kubewhy_runs = product.running(folder=stage.folder, kubectl=stage.kubectl)
    with kubewhy_runs as kubewhy, last_act(stage):
        say(f"kubewhy is ready (operator and webhook, as `make run`): {kubewhy.webhook}")
        watch = waiting.Watch(client=stage.client, programs=[kubewhy.program])
        words = _break(stage, watch)
        started = now()
        _post(kubewhy, message(started))
        _answer(stage, watch, posted=started, words=words)
        if not stage.stop_after_answer:
            _resolve(stage, watch, kubewhy, started=started)


def message(
    started: datetime.datetime, *, ended: datetime.datetime | None = None
) -> dict[str, Any]:
    """The recorded message, its alert starting at `started`; resolved where it has an end."""
    found: dict[str, Any] = json.loads(FIXTURE.read_text(encoding="utf-8"))
    for alert in found["alerts"]:
        alert["startsAt"] = started.isoformat()
        if ended is not None:
            alert |= {"status": "resolved", "endsAt": ended.isoformat()}
    return found | ({"status": "resolved"} if ended is not None else {})


def _break(stage: Stage, watch: waiting.Watch) -> str:
    """Deploy the workload; why the scheduler does not place it, in its words."""
    stage.kubectl.apply(workload.stateful_shop())
    stage.terminal.say(f"namespace {workload.NAMESPACE}: {workload.CHECKOUT} waits for a node")
    pod = watch.until(
        lambda: watch.checkout_pod(lambda one: bool(waiting.unscheduled(one))),
        seconds=_UNSCHEDULED_SECONDS,
        what="verdict of the scheduler",
    )
    return waiting.unscheduled(pod)


def _post(kubewhy: product.Product, content: dict[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {kubewhy.token}"}
    try:
        reply = httpx.post(
            kubewhy.webhook, json=content, headers=headers, timeout=_POST_SECONDS, trust_env=False
        )
    except httpx.HTTPError as error:
        raise DemoError(f"The webhook did not answer the recorded message: {error}.") from error
    if not reply.is_success:
        raise DemoError(f"The webhook refused the recorded message with {reply.status_code}.")


def _answer(stage: Stage, watch: waiting.Watch, *, posted: datetime.datetime, words: str) -> None:
    watch.until(lambda: watch.investigation(show.concluded), seconds=GOAL_SECONDS, what="answer")
    took = (now() - posted).total_seconds()
    expected = workload.Expected(
        namespace=workload.NAMESPACE, name=workload.CHECKOUT, words=(words,)
    )
    present(stage, watch, expected=expected)
    stage.terminal.say(f"root cause found {took:.1f} s after the recorded message was posted")


def _resolve(
    stage: Stage,
    watch: waiting.Watch,
    kubewhy: product.Product,
    *,
    started: datetime.datetime,
) -> None:
    stage.terminal.say(f"without a node there is no repair: {workload.CHECKOUT} is scaled to none")
    run_shown(stage, "scale", f"statefulset/{workload.CHECKOUT}", "--replicas=0")
    _post(kubewhy, message(started, ended=now()))
    stage.terminal.say("the same message is posted as resolved")
    found = watch.until(
        lambda: watch.investigation(show.resolved),
        seconds=_RESOLVED_SECONDS,
        what="note on the Investigation that the alert resolved",
    )
    show_resolved(stage, found)
