"""The demo with a node: a real crash, a real alert, its root cause, the repair, and the alert's end."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import alerting
import api
import exporter
import product
import rules
import show
import stack
import waiting
import workload
from stage import GOAL_SECONDS, Stage, clear, last_act, now, present, run_shown, show_resolved
from terminal import DemoError

CRASH_SECONDS = 90.0
FIRING_SECONDS = 90.0
RESOLVED_SECONDS = 420.0
_NEWS_SECONDS = 30.0


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Everything that runs before the workload breaks."""

    watch: waiting.Watch
    prometheus: alerting.Server
    alertmanager: alerting.Server


def play(stage: Stage) -> None:
    """Play it all.

    Raises:
        DemoError: something did not happen in time, or the answer is wrong.
    """
    clear(stage)
    with _scene(stage) as scene, last_act(stage):
        _break(stage, scene)
        started = _fire(stage, scene)
        _answer(stage, scene, started)
        if not stage.stop_after_answer:
            _repair(stage, scene)


@contextlib.contextmanager
def _scene(stage: Stage) -> Iterator[Scene]:
    say = stage.terminal.say
    with contextlib.ExitStack() as stack_:
        port = stack_.enter_context(exporter.serving(_exporter_access(stage)))
        say("exporter serves kube-state-metrics' series of the live pods")
        ports = [stack.free_port(), stack.free_port()]
        prometheus = stack_.enter_context(
            alerting.prometheus(
                folder=stage.folder, port=ports[0], exporter=port, alertmanager=ports[1]
            )
        )
        say(f"Prometheus is ready: {prometheus.url}")
        kubewhy = stack_.enter_context(
            product.running(folder=stage.folder, kubectl=stage.kubectl, prometheus=prometheus.url)
        )
        say(f"kubewhy is ready (operator and webhook, as `make run`): {kubewhy.webhook}")
        alertmanager = stack_.enter_context(
            alerting.alertmanager(
                folder=stage.folder, port=ports[1], webhook=kubewhy.webhook, token=kubewhy.token
            )
        )
        say(f"Alertmanager is ready and sends to the webhook with its token: {alertmanager.url}")
        programs = [kubewhy.program, prometheus.program, alertmanager.program]
        watch = waiting.Watch(client=stage.client, programs=programs)
        yield Scene(watch=watch, prometheus=prometheus, alertmanager=alertmanager)


def _exporter_access(stage: Stage) -> api.Access:
    """The access of the exporter's own account, which may list and nothing else."""
    stage.kubectl.apply(workload.monitoring())
    account = (workload.EXPORTER, "-n", workload.MONITORING)
    token = stage.kubectl.run("create", "token", *account, "--duration=1h").strip()
    return dataclasses.replace(api.access(stage.kubectl.kubeconfig), token=token)


def _break(stage: Stage, scene: Scene) -> None:
    say = stage.terminal.say
    say(f"alert rule: the kubernetes-mixin's {rules.ALERT}, its expression unchanged:")
    stage.terminal.text(f"{' ' * 15}{rules.EXPRESSION}")
    say(rules.spoken())
    stage.kubectl.apply(workload.shop())
    say(
        f"namespace {workload.NAMESPACE}: {workload.CHECKOUT} is broken, {workload.STOREFRONT} well"
    )
    pod = scene.watch.until(
        lambda: scene.watch.checkout_pod(lambda one: waiting.crash_loop(one) is not None),
        seconds=CRASH_SECONDS,
        what=f"CrashLoopBackOff of {workload.CHECKOUT}",
    )
    container = waiting.crash_loop(pod) or {}
    say(
        f"pod {pod['metadata']['name']} is in CrashLoopBackOff:"
        f" restarted {container.get('restartCount', 0)} times"
    )


def _fire(stage: Stage, scene: Scene) -> datetime.datetime:
    """Wait for the alert; its startsAt, as the webhook stored it."""

    def in_state(*states: str) -> Callable[[], str | None]:
        def ask() -> str | None:
            found = alerting.alert_states(scene.prometheus.ask("/api/v1/alerts"))
            return next((pod for pod, state in found.items() if state in states), None)

        return ask

    for states, word in ((("pending", "firing"), "pending"), (("firing",), "firing")):
        pod = scene.watch.until(
            in_state(*states), seconds=FIRING_SECONDS, what=f"{word} alert in Prometheus"
        )
        stage.terminal.say(f"Prometheus: {rules.ALERT} of pod {pod} is {word}")
    investigation = scene.watch.until(
        lambda: scene.watch.investigation(lambda one: show.starts_at(one) is not None),
        seconds=GOAL_SECONDS,
        what="Investigation made by the webhook",
    )
    name = investigation["metadata"]["name"]
    stage.terminal.say(f"the webhook has made Investigation {workload.NAMESPACE}/{name}")
    started = show.starts_at(investigation)
    if started is None:
        raise DemoError(f"Investigation {name} carries no alert with a startsAt.")
    return started


def _answer(stage: Stage, scene: Scene, started: datetime.datetime) -> None:
    left = GOAL_SECONDS - (now() - started).total_seconds()
    scene.watch.until(
        lambda: scene.watch.investigation(show.concluded),
        seconds=max(1.0, left),
        what=f"answer ({GOAL_SECONDS:.0f} s after the alert's startsAt)",
    )
    concluded = now()
    present(stage, scene.watch, expected=workload.CRASH)
    shown = (now() - started).total_seconds()
    posted = alerting.posted_at(scene.alertmanager)
    since_post = f", {(concluded - posted).total_seconds():.1f} s after the POST" if posted else ""
    stage.terminal.say(
        f"root cause found {(concluded - started).total_seconds():.1f} s after the alert's startsAt"
        f"{since_post}; shown here {shown:.1f} s after startsAt (goal: {GOAL_SECONDS:.0f} s)"
    )
    if shown > GOAL_SECONDS:
        raise DemoError(f"The answer came after {shown:.0f} s; the goal is {GOAL_SECONDS:.0f} s.")


def _repair(stage: Stage, scene: Scene) -> None:
    stage.terminal.say(f"repairing {workload.CHECKOUT}: the setting that the answer names is added")
    target = f"deployment/{workload.CHECKOUT}"
    patch = ("--type=merge", "--patch", workload.repair())
    run_shown(stage, "patch", "configmap", workload.SETTINGS, *patch)
    run_shown(stage, "rollout", "restart", target)
    stage.kubectl.run("-n", workload.NAMESPACE, "rollout", "status", target, "--timeout=2m")
    run_shown(stage, "get", "pods")
    repaired = stage.terminal.seconds
    stage.terminal.say(
        f"waiting for the alert to resolve. Its expression looks back {rules.LOOKBACK_SECONDS // 60} min"
        " (max_over_time over [5m]), so it goes on firing so long after the last CrashLoopBackOff."
        " That is not shortened."
    )
    news = _News(stage, repaired)
    found = scene.watch.until(
        lambda: scene.watch.investigation(show.resolved),
        seconds=RESOLVED_SECONDS,
        what="note on the Investigation that the alert resolved",
        meanwhile=news.tell,
    )
    stage.terminal.say(
        f"the alert resolved {stage.terminal.seconds - repaired:.0f} s after the repair"
    )
    show_resolved(stage, found)


class _News:
    """A line of progress every now and then."""

    def __init__(self, stage: Stage, since: float) -> None:
        self._terminal = stage.terminal
        self._since = since
        self._next = since + _NEWS_SECONDS

    def tell(self) -> None:
        """Say how long it has been, if it is time to."""
        if self._terminal.seconds < self._next:
            return
        self._next += _NEWS_SECONDS
        waited = self._terminal.seconds - self._since
        self._terminal.say(
            f"{waited:.0f} s since the repair; expected after about {rules.LOOKBACK_SECONDS} s"
        )
