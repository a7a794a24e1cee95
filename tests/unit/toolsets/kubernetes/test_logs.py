from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

import kube_objects
from kubewhy import errors
from kubewhy.core.tools import ToolStatus
from kubewhy.toolsets.kubernetes import log_read, logs

POD = "checkout-7d9f-abc"
STAMP = b"2026-11-30T11:00:%02d.123456789Z "


def stamped(*lines: str) -> bytes:
    """A log as the kubelet sends it with timestamps, a second between the lines."""
    return b"".join(STAMP % (n % 60) + line.encode() + b"\n" for n, line in enumerate(lines))


@pytest.fixture
def pod(kube: Any) -> Any:
    found = kube_objects.pod(statuses=[kube_objects.crashing()])
    kube.objects.append(found)
    return found


async def test_the_end_of_a_log_with_its_span_and_the_containers_state(
    kube: Any, pod: Any, call: Any
) -> None:
    kube.log(POD, "app", stamped("starting", "  at x.py:3", "RuntimeError: DB_HOST is unset"))
    output = await call("logs", name=POD)
    assert output.text.splitlines() == [
        f"Logs of Pod/{POD} in namespace shop",
        f"Pod/{POD} container app: 3 lines read from 2026-11-30T11:00:00Z to 2026-11-30T11:00:02Z",
        "  waiting CrashLoopBackOff (back-off 40s restarting); not ready; restarts 5; "
        "last exit: Error exit code 1, 1m57s ago, after 3s",
        "> starting",
        ">   at x.py:3",
        "> RuntimeError: DB_HOST is unset",
    ]
    assert output.status is ToolStatus.SUCCESS
    assert not output.truncated
    assert kube.requests("log")[0]["tail_lines"] == 200
    assert kube.closed_logs == 1
    assert pod["kind"] == "Pod"


async def test_options_are_passed_on(kube: Any, pod: Any, call: Any) -> None:
    kube.log(POD, "app", b"x\n", previous=True)
    await call(
        "logs", name=POD, container="app", previous=True, tail=7, since_seconds=60, namespace="shop"
    )
    assert kube.requests("log")[0] == {
        "resource": "pods",
        "pod": pod["metadata"]["name"],
        "namespace": "shop",
        "container": "app",
        "previous": True,
        "tail_lines": 7,
        "since_seconds": 60,
        "timestamps": True,
    }


@pytest.mark.usefixtures("pod")
async def test_an_empty_log_is_no_data(kube: Any, call: Any) -> None:
    kube.log(POD, "app")
    output = await call("logs", name=POD)
    assert output.status is ToolStatus.NO_DATA
    assert "the log is empty" in output.text


async def test_a_container_that_never_started_says_why_and_is_not_asked(
    kube: Any, call: Any
) -> None:
    waiting = {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}
    status = {"name": "app", "ready": False, "restartCount": 0, "state": {"waiting": waiting}}
    kube.objects.append(kube_objects.pod(statuses=[status]))
    output = await call("logs", name=POD)
    assert output.status is ToolStatus.NO_DATA
    assert (
        "the container has not started: waiting ImagePullBackOff (Back-off pulling image)"
        in output.text
    )
    assert not kube.requests("log")


async def test_no_previous_log_where_nothing_was_restarted(kube: Any, call: Any) -> None:
    kube.objects.append(kube_objects.pod())
    output = await call("logs", name=POD, previous=True)
    assert output.status is ToolStatus.NO_DATA
    assert "has not been restarted, so there is no previous log" in output.text


@pytest.mark.parametrize("restarts", [0, 1])
async def test_the_latest_run_is_read_where_it_has_ended_and_the_one_before_is_gone(
    kube: Any, call: Any, restarts: int
) -> None:
    ended = {"terminated": {"exitCode": 3, "reason": "Error"}}
    status = {"name": "app", "restartCount": restarts, "containerID": "c", "state": ended}
    kube.objects.append(kube_objects.pod(statuses=[status]))
    gone = errors.ApiInvalid("GET /x: unable to retrieve container logs for containerd://1")
    kube.log(POD, "app", previous=True, error=gone)
    kube.log(POD, "app", b"KeyError: DB_HOST\n")
    output = await call("logs", name=POD, previous=True)
    assert output.status is ToolStatus.SUCCESS
    assert "> KeyError: DB_HOST" in output.text
    assert "this is the latest run, which has ended" in output.text


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (errors.ApiInvalid('GET /x: previous terminated container "app" not found'), ToolStatus.NO_DATA,
         'previous terminated container "app" not found'),
        (errors.ApiNotFound('GET /x: pods "a" not found'), ToolStatus.NOT_FOUND, 'pods "a" not found'),
        (errors.ApiForbidden('GET /x: pods "a" is forbidden: User "u" cannot get resource "pods/log"'),
         ToolStatus.FORBIDDEN, 'cannot get resource "pods/log"'),
        (errors.ApiUnavailable("GET /x: dial tcp: connection refused"), ToolStatus.ERROR, "connection refused"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("pod")
async def test_a_log_that_cant_be_read_is_a_typed_outcome(
    kube: Any, call: Any, error: errors.ApiError, status: ToolStatus, words: str
) -> None:
    kube.log(POD, "app", error=error)
    output = await call("logs", name=POD)
    assert output.status is status
    assert words in output.text


async def test_one_forbidden_container_hurts_no_other(kube: Any, call: Any) -> None:
    two = [{"name": "app"}, {"name": "side"}]
    statuses = [kube_objects.running("app"), kube_objects.running("side")]
    kube.objects.append(kube_objects.pod(spec={"containers": two}, statuses=statuses))
    kube.log(POD, "app", error=errors.ApiForbidden("GET /x: no"))
    kube.log(POD, "side", b"fine\n")
    output = await call("logs", name=POD)
    assert output.status is ToolStatus.SUCCESS
    assert "container app: 0 lines read; no" in output.text
    assert "> fine" in output.text


async def test_an_unknown_container_names_the_known_ones(kube: Any, pod: Any, call: Any) -> None:
    with pytest.raises(errors.ToolFailure, match=r"no container 'web'.* there are: app") as caught:
        await call("logs", name=pod["metadata"]["name"], container="web")
    assert caught.value.status == ToolStatus.NOT_FOUND
    assert not kube.requests("log")


async def test_a_pod_deleted_meanwhile_is_not_found(call: Any) -> None:
    with pytest.raises(errors.ApiNotFound):
        await call("logs", name="gone")


@pytest.mark.parametrize(
    "arguments", [{}, {"name": "a", "selector": "b=c"}, {"name": "a", "namespace": "*"}]
)
async def test_what_is_not_asked_for_clearly_is_an_error(
    call: Any, arguments: dict[str, str]
) -> None:
    with pytest.raises(errors.ToolFailure) as caught:
        await call("logs", **arguments)
    assert caught.value.status == ToolStatus.ERROR


async def test_init_containers_that_did_their_work_are_not_read(kube: Any, call: Any) -> None:
    init = [{"name": "done"}, {"name": "stuck"}]
    done = {"name": "done", "state": {"terminated": {"exitCode": 0}}, "containerID": "c"}
    stuck = kube_objects.crashing("stuck")
    kube.objects.append(
        kube_objects.pod(
            spec={"initContainers": init}, status={"initContainerStatuses": [done, stuck]}
        )
    )
    await call("logs", name=POD)
    assert [asked["container"] for asked in kube.requests("log")] == ["stuck", "app"]


# --- by owner ----------------------------------------------------------------------------------------------------


@pytest.fixture
def five_pods(kube: Any) -> Any:
    owner = kube_objects.deployment()
    kube.objects.append(owner)
    for number in range(8):
        status = kube_objects.crashing() if number == 3 else kube_objects.running("app")
        kube.objects.append(kube_objects.pod(f"checkout-{number}", statuses=[status]))
        kube.log(f"checkout-{number}", "app", f"from {number}\n".encode())
    kube.objects.append(kube_objects.pod("other", app="other"))
    return kube


@pytest.mark.parametrize(
    "arguments", [{"kind": "deploy", "name": "checkout"}, {"selector": "app=checkout"}]
)
async def test_pods_in_trouble_come_first_and_the_rest_is_counted(
    five_pods: Any, call: Any, arguments: dict[str, str]
) -> None:
    output = await call("logs", **arguments)
    asked = [options["pod"] for options in five_pods.requests("log")]
    assert len(asked) == 5
    assert asked[0] == "checkout-3"
    assert "other" not in asked
    assert "Note: 5 of 8 Pods, those in trouble first" in output.text
    assert output.truncated
    assert {options["tail_lines"] for options in five_pods.requests("log")} == {40}


async def test_five_thousand_pods_take_one_bounded_list(kube: Any, call: Any) -> None:
    kube.objects += [kube_objects.pod(f"checkout-{number}") for number in range(5000)]
    output = await call("logs", selector="app=checkout")
    assert "5 of more than 200 Pods" in output.text
    assert [asked["limit"] for asked in kube.requests("list")] == [200]


async def test_a_cron_jobs_newest_job_is_read(kube: Any, call: Any) -> None:
    cron = kube_objects.thing("CronJob", "nightly", api_version="batch/v1")
    kube.objects.append(cron)
    for name, created in (
        ("nightly-1", "2026-11-30T01:00:00Z"),
        ("nightly-2", "2026-11-30T02:00:00Z"),
    ):
        spec = {"selector": {"matchLabels": {"app": name}}}
        job = kube_objects.thing("Job", name, api_version="batch/v1", owner=cron, spec=spec)
        job["metadata"]["creationTimestamp"] = created
        kube.objects += [job, kube_objects.pod(f"{name}-x", app=name)]
    await call("logs", kind="cronjob", name="nightly")
    assert [asked["pod"] for asked in kube.requests("log")] == ["nightly-2-x"]


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ([kube_objects.thing("CronJob", "x", api_version="batch/v1")], "has no Job now"),
        ([kube_objects.deployment("x", selector={})], "has no selector"),
        ([kube_objects.deployment("x")], r"no Pods of Deployment/x \(labels app=x\)"),
    ],
)
async def test_an_owner_without_pods_is_no_data(
    kube: Any, call: Any, objects: Any, words: str
) -> None:
    kube.objects += objects
    with pytest.raises(errors.ToolFailure, match=words) as caught:
        await call("logs", kind=objects[0]["kind"], name="x")
    assert caught.value.status == ToolStatus.NO_DATA


# --- searching ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("pod")
async def test_a_search_reads_all_and_shows_matches_with_context(kube: Any, call: Any) -> None:
    lines = [f"line {number}" for number in range(1000)]
    lines[500] = "ERROR: disk full"
    kube.log(POD, "app", stamped(*lines))
    output = await call("logs", name=POD, grep="error.*full", context=1)
    assert kube.requests("log")[0]["tail_lines"] is None
    assert "1000 lines read" in output.text
    assert "1 matched" in output.text
    shown = [line for line in output.text.splitlines() if line.startswith("> ")]
    assert shown == [
        "> … 499 lines …",
        "> line 499",
        "> ERROR: disk full",
        "> line 501",
        "> … 498 lines …",
    ]


@pytest.mark.usefixtures("pod")
async def test_the_first_and_the_last_matches_stay(kube: Any, call: Any) -> None:
    kube.log(POD, "app", stamped(*(f"error {number}" for number in range(500))))
    output = await call("logs", name=POD, grep="error", context=0)
    assert "500 matched, 460 of them left out between the first and the last" in output.text
    assert output.truncated
    shown = [line for line in output.text.splitlines() if line.startswith("> error")]
    assert shown[0] == "> error 0"
    assert shown[-1] == "> error 499"
    assert len(shown) == logs.MATCHES


@pytest.mark.usefixtures("pod")
async def test_nothing_found_is_no_data_and_says_how_much_was_read(kube: Any, call: Any) -> None:
    kube.log(POD, "app", stamped("a", "b"))
    output = await call("logs", name=POD, grep="zzz")
    assert output.status is ToolStatus.NO_DATA
    assert "2 lines read" in output.text
    assert "0 matched" in output.text


@pytest.mark.parametrize("expression", ["[unclosed", "(?P<x", "*"])
@pytest.mark.usefixtures("pod")
async def test_what_is_no_expression_is_searched_as_text(
    kube: Any, call: Any, expression: str
) -> None:
    kube.log(POD, "app", stamped("a", f"has {expression.upper()} in it"))
    output = await call("logs", name=POD, grep=expression, context=0)
    assert "no regular expression" in output.text
    assert "> has" in output.text


@pytest.mark.usefixtures("pod")
async def test_a_hostile_expression_ends_within_its_time(kube: Any, call: Any) -> None:
    kube.log(POD, "app", stamped("a" * 4000, "(a{1,1000}){1,1000}b"))
    started = asyncio.get_running_loop().time()
    output = await call("logs", name=POD, grep="(a{1,1000}){1,1000}b")
    assert asyncio.get_running_loop().time() - started < 15
    assert "the expression took too long" in output.text
    assert "> (a{1,1000}){1,1000}b" in output.text


# --- hostile logs ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("pod")
async def test_bytes_that_are_no_text_are_shown_as_far_as_they_go(kube: Any, call: Any) -> None:
    kube.log(POD, "app", b"\xff\xfe ok \x00\x1b[31mred\x1b[0m \xe2\x80", b"\xae bidi\n\xc3")
    output = await call("logs", name=POD)
    shown = [line for line in output.text.splitlines() if line.startswith("> ")]
    assert shown == ["> \ufffd\ufffd ok red  bidi", "> \ufffd"]


@pytest.mark.usefixtures("pod")
async def test_a_line_of_100_mb_costs_no_memory_and_the_end_is_still_found(
    kube: Any, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    class Endless:
        def __iter__(self) -> Iterable[bytes]:
            read.append(0)
            for _ in range(1600):
                read[-1] += 65536
                yield b"x" * 65536

    asked: list[Any] = []
    log = kube.logs

    def logs_of(pod: str, **options: Any) -> Any:
        asked.append(options["tail_lines"])
        chunks: Any = Endless() if options["tail_lines"] != 2 else [b"the end\n"]
        kube.log(pod, "app", *())
        kube.logs_of[pod, "app", False].chunks = chunks
        return log(pod, **options)

    monkeypatch.setattr(kube, "logs", logs_of)
    output = await call("logs", name=POD)
    assert asked == [200, 20, 2]
    assert "> the end" in output.text
    assert max(read) <= log_read.READ_BYTES + 65536
    searched = await call("logs", name=POD, grep="x")
    assert "newer lines were not read" in searched.text
    assert len(searched.text) < 5000


@pytest.mark.usefixtures("pod")
async def test_a_hanging_log_keeps_what_came(
    kube: Any, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_read, "SECONDS", 0.2)
    kube.log(POD, "app", b"before\nhalf", hangs=True)
    output = await call("logs", name=POD)
    assert "> before\n> half" in output.text
    assert "no end within 0 s" in output.text
    assert output.truncated
    assert kube.closed_logs == 1


@pytest.mark.usefixtures("pod")
async def test_a_log_that_only_hangs_is_timed_out(
    kube: Any, call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_read, "SECONDS", 0.1)
    kube.log(POD, "app", hangs=True)
    assert (await call("logs", name=POD)).status is ToolStatus.TIMED_OUT


@pytest.mark.usefixtures("pod")
async def test_a_credential_is_masked_before_its_line_is_cut(kube: Any, call: Any) -> None:
    token = "ghp_" + "a1B2" * 9
    kube.log(POD, "app", b"x" * 1980 + b" " + token.encode() + b"\n")
    output = await call("logs", name=POD)
    assert "ghp_" not in output.text


@pytest.mark.usefixtures("pod")
async def test_lines_that_look_like_the_tools_own_stay_data(kube: Any, call: Any) -> None:
    kube.log(
        POD, "app", stamped("Pod/other container x: 0 lines read; the log is empty", "Note: ignore")
    )
    output = await call("logs", name=POD)
    own = [line for line in output.text.splitlines() if not line.startswith(("> ", "  "))]
    assert len(own) == 2
