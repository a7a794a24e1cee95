"""The tool as a whole over an in-memory reader: what it reads, what it says, what it survives."""

from __future__ import annotations

import json

import pytest

import fake_kube
import first_look_world as world
from kubewhy import errors
from kubewhy.core import ports, tools
from kubewhy.toolsets.kubernetes import first_look

TRACE = b"""starting
Traceback (most recent call last):
  File "/srv/main.py", line 41, in main
RuntimeError: DB_HOST is unset
"""


async def test_crash_loop_shows_exit_log_and_owner() -> None:
    output = await world.look(world.crash_loop(TRACE))
    ended = world.fact(output, "ContainerTerminated")
    assert ended.get("exitCode") == "1"
    assert ended.get("restarts") == "5"
    assert ended.get("agoSeconds") == "40"
    assert "RuntimeError: DB_HOST is unset" in world.fact(output, "LogTail").words
    assert world.fact(output, "OwnerChain").get("owner") == "Deployment/checkout"
    assert world.fact(output, "WorkloadReplicas").words[0] == "spec.replicas: 1"
    order = world.kinds(output)
    assert order.index("LogTail") < order.index("WorkloadReplicas")


async def test_the_variable_that_the_log_asks_for_is_named_as_absent() -> None:
    output = await world.look(world.crash_loop(TRACE))
    absent = world.fact(output, "EnvironmentAbsent")
    assert absent.get("variable") == "DB_HOST"
    assert absent.words == ("env of container app: none",)


async def test_a_variable_that_is_defined_is_not_called_absent() -> None:
    owner = world.deployment(container={"env": [{"name": "DB_HOST", "value": ""}]})
    between = world.replica_set(owner)
    kube = fake_kube.FakeKubeReader(owner, between, world.pod(between), world.node())
    kube.log("checkout-1aaaa-bbbbb", "app", TRACE, previous=True)
    assert "EnvironmentAbsent" not in world.kinds(await world.look(kube))


async def test_healthy_workload_yields_positive_facts() -> None:
    owner = world.deployment(ready=1)
    between = world.replica_set(owner, ready=1)
    kube = fake_kube.FakeKubeReader(
        owner, between, world.pod(between, status=world.running()), world.node()
    )
    output = await world.look(kube)
    assert world.fact(output, "WorkloadReplicas").get("available") == "1"
    assert world.fact(output, "PodsReady").get("sinceSeconds") == "500"
    assert world.fact(output, "WarningsQuiet").get("warnings") == "0"


async def test_every_list_is_bounded_and_secrets_are_never_read() -> None:
    owner = world.deployment(container={"envFrom": [{"secretRef": {"name": "db"}}]})
    between = world.replica_set(owner)
    kube = fake_kube.FakeKubeReader(owner, between, world.pod(between), world.node())
    output = await world.look(kube)
    assert all(0 < options["limit"] <= 500 for options in kube.requests("list"))
    assert not [options for _, options in kube.asked if options["resource"] == "secrets"]
    assert "secrets=db" in output.text


async def test_a_missing_config_map_is_named_with_the_place_that_needs_it() -> None:
    owner = world.deployment(container={"envFrom": [{"configMapRef": {"name": "checkout-env"}}]})
    between = world.replica_set(owner)
    kube = fake_kube.FakeKubeReader(owner, between, world.pod(between), world.node())
    missing = world.fact(await world.look(kube), "MissingReference")
    assert missing.get("referenced") == "ConfigMap/checkout-env"
    assert missing.words[0] == "envFrom.configMapRef.name: checkout-env"


async def test_a_config_map_without_the_key_is_not_a_missing_config_map() -> None:
    source = {"configMapKeyRef": {"name": "checkout-env", "key": "REGION"}}
    owner = world.deployment(container={"env": [{"name": "REGION", "valueFrom": source}]})
    between = world.replica_set(owner)
    config = {"kind": "ConfigMap", "metadata": {"name": "checkout-env"}, "data": {"MODE": "x"}}
    output = await world.look(
        fake_kube.FakeKubeReader(owner, between, world.pod(between), config, world.node())
    )
    assert "MissingReference" not in world.kinds(output)
    assert world.fact(output, "MissingKey").words[1] == "keys of ConfigMap checkout-env: MODE"


async def test_forbidden_reads_become_facts_with_verb_and_resource() -> None:
    kube = world.crash_loop(TRACE)
    refusal = errors.ApiForbidden(
        'pods is forbidden: User "x" cannot list resource "pods"', status=403
    )
    kube.refuse("list", "pods", refusal)
    output = await world.look(kube)
    failed = world.fact(output, "ReadFailed")
    assert (failed.get("verb"), failed.get("resource"), failed.get("reason")) == (
        "list",
        "pods",
        "Forbidden",
    )
    assert output.status is tools.ToolStatus.SUCCESS
    assert world.fact(output, "WorkloadReplicas").get("desired") == "1"


async def test_an_unreadable_subject_still_gives_its_pods() -> None:
    kube = world.crash_loop(TRACE)
    kube.refuse("get", "deployments", errors.ApiForbidden("deployments is forbidden", status=403))
    output = await world.look(kube)
    assert world.fact(output, "ReadFailed").get("resource") == "deployments"
    assert "RuntimeError: DB_HOST is unset" in output.text


async def test_all_reads_failing_is_no_exception() -> None:
    kube = fake_kube.FakeKubeReader()
    for verb in ("get", "list", "log"):
        for kind in ("deployments", "pods", "events", "replicasets", "services", "nodes"):
            kube.refuse(verb, kind, errors.ApiUnavailable("no answer"))
    output = await world.look(kube)
    assert output.status is tools.ToolStatus.SUCCESS
    assert "ReadFailed" in world.kinds(output)


async def test_a_missing_subject_is_not_found_with_near_names_and_its_events() -> None:
    owner = world.deployment("checkout-v2")
    gone = {"kind": "Deployment", "metadata": {"name": "checkout"}}
    kube = fake_kube.FakeKubeReader(
        owner, world.event(gone, "ScalingReplicaSet", "scaled down to 0")
    )
    output = await world.look(kube)
    assert output.status is tools.ToolStatus.NOT_FOUND
    assert output.text.startswith('Deployment "checkout" not found in namespace shop')
    assert "names that come near: checkout-v2" in output.text
    assert "scaled down to 0" in output.text


async def test_the_runs_own_kube_events_tell_nothing_about_a_missing_subject() -> None:
    own = world.event({"kind": "Investigation", "metadata": {"name": "checkout"}}, "Started", "run")
    own["involvedObject"]["apiVersion"] = "kubewhy.internal/v1alpha1"
    kube = fake_kube.FakeKubeReader(world.deployment("other"), own)
    output = await world.look(kube)
    assert output.status is tools.ToolStatus.NOT_FOUND
    assert "Investigation" not in output.text


async def test_a_missing_cluster_scoped_subject_is_in_no_namespace() -> None:
    output = await world.look(fake_kube.FakeKubeReader(world.node()), "Node", "node-9")
    assert output.text.startswith('Node "node-9" not found: ')


async def test_a_replaced_pod_leads_to_its_workload() -> None:
    output = await world.look(world.crash_loop(TRACE), "Pod", "checkout-1aaaa-zzzzz")
    assert world.fact(output, "LookedAt").get("replaced") == "checkout-1aaaa-zzzzz"
    assert "RuntimeError: DB_HOST is unset" in output.text


async def test_an_unknown_kind_is_not_found() -> None:
    with pytest.raises(errors.ToolFailure, match="serves no kind Gizmo") as failure:
        await world.look(world.crash_loop(), "Gizmo", "x")
    assert failure.value.status == "NotFound"


async def test_another_namespace_is_refused() -> None:
    context = ports.ToolContext(
        namespace="shop", subject=None, kube=world.crash_loop(), now=lambda: world.NOW
    )
    with pytest.raises(errors.ToolFailure, match="only namespace shop") as failure:
        await first_look.tool().run(context, {"kind": "Pod", "name": "x", "namespace": "other"})
    assert failure.value.status == "Forbidden"


async def test_no_subject_and_no_arguments_asks_for_them() -> None:
    context = ports.ToolContext(
        namespace="shop", subject=None, kube=world.crash_loop(), now=lambda: world.NOW
    )
    with pytest.raises(errors.ToolFailure, match="kind and name are both needed"):
        await first_look.tool().run(context, {})


async def test_requests_stay_within_the_budget_whatever_is_there() -> None:
    references = [{"configMapRef": {"name": f"config-{number}"}} for number in range(60)]
    owner = world.deployment(container={"envFrom": references})
    between = world.replica_set(owner)
    pods = [
        world.pod(between, f"p{number}", status=world.crashing(code=number + 1))
        for number in range(30)
    ]
    kube = fake_kube.FakeKubeReader(owner, between, *pods, world.node())
    await world.look(kube)
    assert len(kube.asked) <= 40


async def test_a_namespace_of_5000_pods_costs_few_bytes() -> None:
    """Other workloads' pods are not read; of the own many, one page and those that the server can select."""
    owner = world.deployment(replicas=3)
    between = world.replica_set(owner)
    crowd = world.deployment("crowd", replicas=5000, ready=5000)
    crowd_set = world.replica_set(crowd)
    others = [world.pod(crowd_set, f"n{number}", status=world.running()) for number in range(5000)]
    kube = fake_kube.FakeKubeReader(
        owner, between, crowd, crowd_set, world.pod(between), *others, world.node()
    )
    kube.log("checkout-1aaaa-bbbbb", "app", TRACE, previous=True)
    sizes: list[int] = []
    listing = kube.list

    async def measured(resource: ports.Resource, **options: str) -> ports.ObjectPage:
        page = await listing(resource, **options)  # type: ignore[arg-type]
        sizes.append(len(json.dumps(list(page.items))))
        return page

    kube.list = measured  # type: ignore[method-assign, assignment]
    for name in ("checkout", "crowd"):
        sizes.clear()
        output = await world.look(kube, "Deployment", name)
        assert sum(sizes) < 1_000_000
        assert output.text
    assert "RuntimeError: DB_HOST is unset" in (await world.look(kube)).text


async def test_a_huge_log_line_is_cut_and_the_end_is_found_by_a_shorter_tail() -> None:
    kube = world.crash_loop()
    chunks = [b"x" * 65_536] * 200 + [b"\nRuntimeError: the end\n"]
    kube.log("checkout-1aaaa-bbbbb", "app", *chunks, previous=True)
    output = await world.look(kube)
    assert [options["tail_lines"] for options in kube.requests("log")] == [200, 20, 1]
    assert len(output.text) < 16_000
    assert kube.closed_logs == 3


async def test_a_hanging_log_gives_what_came_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kubewhy.toolsets.kubernetes.first_look.reads.LOG_SECONDS", 0.05)
    kube = world.crash_loop()
    kube.log(
        "checkout-1aaaa-bbbbb", "app", b"FATAL before the silence\n", previous=True, hangs=True
    )
    output = await world.look(kube)
    assert world.fact(output, "ReadFailed").get("reason") == "TimedOut"
    assert kube.closed_logs == 1


async def test_bytes_that_are_no_text_are_shown_as_text() -> None:
    output = await world.look(world.crash_loop(b"\xff\xfe\x00 ERROR \x1b[31mbroken pipe\x1b[0m\n"))
    assert "ERROR broken pipe" in output.text
    assert "\x1b" not in output.text
    output.text.encode("utf-8")


async def test_an_empty_log_is_a_fact_of_its_own() -> None:
    empty = world.fact(await world.look(world.crash_loop(b"")), "LogEmpty")
    assert empty.words == ("log of the previous container app: empty, 0 bytes",)


@pytest.mark.parametrize(
    "refusal",
    [
        b"unable to retrieve container logs for containerd://1",
        b'failed to try resolving symlinks in path "/var/log/pods/x/1.log": lstat /var/log/pods/x/1.log: no such file',
    ],
)
async def test_a_log_that_the_kubelet_has_no_more_is_sought_in_the_other_run(
    refusal: bytes,
) -> None:
    kube = world.crash_loop()
    kube.log("checkout-1aaaa-bbbbb", "app", refusal, previous=True)
    kube.log("checkout-1aaaa-bbbbb", "app", b"FATAL: out of tickets\n")
    output = await world.look(kube)
    assert "FATAL: out of tickets" in world.fact(output, "LogTail").words
    assert refusal.decode()[:30] not in output.text


async def test_warnings_of_a_pod_that_is_ready_now_are_marked_as_over() -> None:
    owner = world.deployment(ready=1)
    between = world.replica_set(owner, ready=1)
    one = world.pod(between, status=world.running())
    kube = fake_kube.FakeKubeReader(
        owner, between, one, world.event(one, "FailedMount", "not yet"), world.node()
    )
    assert world.fact(await world.look(kube), "KubeEvent").get("readyNow") == "true"


async def test_events_of_strangers_and_the_nodes_own_noise_are_left_out() -> None:
    kube = world.crash_loop(TRACE)
    stranger = {"kind": "Pod", "metadata": {"name": "another-pod"}}
    kube.objects.append(world.event(stranger, "FailedMount", "not ours"))
    output = await world.look(kube)
    assert "not ours" not in output.text


async def test_a_revision_change_names_what_changed() -> None:
    owner = world.deployment(container={"image": "shop/checkout:2"})
    before = world.deployment()["spec"]["template"]
    old = world.replica_set(owner, revision=1, ready=1, template=before)
    new = world.replica_set(owner, revision=2)
    output = await world.look(
        fake_kube.FakeKubeReader(owner, old, new, world.pod(new), world.node())
    )
    change = world.fact(output, "RevisionChange")
    assert (change.get("field"), change.get("before"), change.get("after")) == (
        "image",
        "shop/checkout:1",
        "shop/checkout:2",
    )


async def test_a_service_that_selects_nothing_shows_the_nearest_pods() -> None:
    owner = world.deployment(ready=1)
    owner["spec"]["template"]["metadata"]["labels"]["version"] = "v1"
    service = {
        "kind": "Service",
        "metadata": {"name": "cart"},
        "spec": {"selector": {"app": "checkout", "version": "v2"}, "ports": [{"port": 80}]},
    }
    kube = fake_kube.FakeKubeReader(owner, service)
    for resource in ("endpointslices", "statefulsets", "daemonsets"):
        kube.refuse("list", resource, errors.ApiForbidden("no", status=403))
    output = await world.look(kube, "Service", "cart")
    assert world.fact(output, "ServiceSelector").get("pods") == "0"
    near = world.fact(output, "NearestPods")
    assert (near.object, near.get("wanted"), near.get("actual")) == (
        "Deployment/checkout",
        "version=v2",
        "version=v1",
    )
