"""Waiting for something to become true, with a bound and with an eye on the programs that must go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import httpx

import api
import show
import stack
import workload
from terminal import DemoError

Found = TypeVar("Found")

EVERY_SECONDS = 0.25
INVESTIGATIONS = f"/apis/kubewhy.internal/v1alpha1/namespaces/{workload.NAMESPACE}/investigations"


@dataclass(frozen=True, kw_only=True)
class Watch:
    """Waits on one cluster; gives up as soon as one of the programs ends."""

    client: httpx.Client
    programs: Sequence[stack.Running]

    def until(
        self,
        ask: Callable[[], Found | None],
        *,
        seconds: float,
        what: str,
        meanwhile: Callable[[], None] | None = None,
    ) -> Found:
        """Ask until there is an answer.

        Args:
            ask: gives None while there is none; an unanswered request counts as none.
            seconds: the most to wait.
            what: what is waited for, for the message.
            meanwhile: called between two questions.

        Raises:
            DemoError: time is up, or a program has ended.
        """
        deadline = time.monotonic() + seconds
        while True:
            found = _answer(ask)
            if found is not None:
                return found
            for program in self.programs:
                program.require()
            if time.monotonic() > deadline:
                raise DemoError(f"After {seconds:.0f} s there is still no {what}.")
            if meanwhile is not None:
                meanwhile()
            time.sleep(EVERY_SECONDS)

    def investigation(self, met: Callable[[show.Investigation], bool]) -> show.Investigation | None:
        """The first Investigation in the shop for which `met` holds."""
        return next(filter(met, api.items(self.client, INVESTIGATIONS)), None)

    def checkout_pod(self, met: Callable[[api.Object], bool]) -> api.Object | None:
        """The first pod of checkout for which `met` holds."""
        pods = api.items(self.client, f"/api/v1/namespaces/{workload.NAMESPACE}/pods")
        return next((pod for pod in pods if _is_checkout(pod) and met(pod)), None)


def crash_loop(pod: api.Object) -> api.Object | None:
    """The status of the pod's container that is in CrashLoopBackOff; None where none is."""
    return next(
        (
            one
            for one in pod.get("status", {}).get("containerStatuses") or ()
            if ((one.get("state") or {}).get("waiting") or {}).get("reason") == "CrashLoopBackOff"
        ),
        None,
    )


def unscheduled(pod: api.Object) -> str:
    """Why the scheduler has not placed the pod, in its own words; "" where it has, or has not tried."""
    for found in pod.get("status", {}).get("conditions") or ():
        if (found["type"], found["status"]) == ("PodScheduled", "False"):
            return str(found.get("message", ""))
    return ""


def _answer(ask: Callable[[], Found | None]) -> Found | None:
    try:
        return ask()
    except httpx.HTTPError:
        return None


def _is_checkout(pod: api.Object) -> bool:
    return bool((pod["metadata"].get("labels") or {}).get("app") == workload.CHECKOUT)
