from __future__ import annotations

from typing import Any

import pytest

import fake_kube
import kube_objects
from kubewhy import errors
from kubewhy.core import ports
from kubewhy.core.tools import ToolStatus
from kubewhy.toolsets.kubernetes import table


async def test_rows_are_aligned_under_a_line_that_says_what_was_asked(kube: Any, call: Any) -> None:
    kube.objects += [kube_objects.pod("web-1"), kube_objects.pod("checkout-2", app="other")]
    output = await call("get", kind="po")
    assert output.text == "pods in namespace shop: 2 shown, none left out\nNAME\nweb-1\ncheckout-2"
    assert (output.status, output.truncated) == (ToolStatus.SUCCESS, False)


async def test_wide_adds_columns_and_selectors_are_part_of_the_scope(kube: Any, call: Any) -> None:
    kube.objects.append(kube_objects.pod("web-1", spec={"nodeName": "n1"}))
    output = await call(
        "get", kind="pods", wide=True, selector="app=checkout", field_selector="spec.nodeName=n1"
    )
    assert output.text.splitlines() == [
        "pods in namespace shop with labels app=checkout with fields spec.nodeName=n1: 1 shown, none left out",
        "NAME    NODE",
        "web-1   n1",
    ]


async def test_five_thousand_pods_are_bounded_and_what_is_left_out_is_said(
    kube: Any, call: Any
) -> None:
    kube.objects += [kube_objects.pod(f"web-{number}") for number in range(5000)]
    output = await call("get", kind="pods")
    assert "50 shown, 4950 more exist" in output.text
    assert output.truncated
    assert len(output.text.splitlines()) == 52
    assert kube.requests("list")[0]["limit"] == 50
    narrowed = await call("get", kind="pods", selector="app=checkout", limit=3)
    assert "3 shown, more exist" in narrowed.text


async def test_an_empty_list_is_no_data_and_names_the_scope(call: Any) -> None:
    output = await call("get", kind="pods", namespace="other", selector="app=x")
    assert output.status is ToolStatus.NO_DATA
    assert output.text.startswith("No pods in namespace other with labels app=x.")


async def test_all_namespaces_show_each_rows_namespace(kube: Any, call: Any) -> None:
    kube.objects += [kube_objects.pod("a"), kube_objects.pod("b", namespace="x")]
    kube.objects[1]["metadata"]["namespace"] = "other"
    output = await call("get", kind="pods", namespace="*")
    assert output.text.splitlines()[:2] == [
        "pods in all namespaces: 2 shown, none left out",
        "NAMESPACE   NAME",
    ]
    assert "other       b" in output.text


async def test_cluster_scoped_kinds_say_so(kube: Any, call: Any) -> None:
    kube.objects.append({"kind": "Node", "metadata": {"name": "n1"}})
    output = await call("get", kind="node", name="n1")
    assert output.text.startswith("Node n1 in the cluster: 1 shown")


async def test_refusals_and_absence_reach_the_engine_as_their_own_errors(
    kube: Any, call: Any
) -> None:
    with pytest.raises(errors.ApiNotFound):
        await call("get", kind="pods", name="nope")
    with pytest.raises(errors.ApiNotFound, match="no kind 'gizmo'"):
        await call("get", kind="gizmo")
    kube.refuse("list", "pods", errors.ApiForbidden("may not list pods in namespace 'x'"))
    with pytest.raises(errors.ApiForbidden, match="may not list pods"):
        await call("get", kind="pods")


async def test_a_custom_kind_is_listed_like_any_other(
    kube: fake_kube.FakeKubeReader, call: Any
) -> None:
    kube.serve(
        ports.Resource(
            group="example.com", version="v1", name="widgets", kind="Widget", namespaced=True
        )
    )
    kube.objects.append(kube_objects.thing("Widget", "blue", api_version="example.com/v1"))
    assert (await call("get", kind="widgets.example.com")).text.endswith("NAME\nblue")


def test_cells_are_one_bounded_line() -> None:
    cells = ["a\nb\u202ec" + "x" * 500, None, 3, True, ["l"]]
    columns = [{"name": str(number)} for number in range(5)]
    reply = {"kind": "Table", "columnDefinitions": columns, "rows": [{"cells": cells}]}
    head, row = table.render(reply)
    assert row.startswith("a bcxxx")
    assert f"…   <none>   3   True   ['l']" in row  # noqa: F541 - as printed
    assert len(row) < 160
    assert len(head) <= len(row)


@pytest.mark.parametrize(
    "reply",
    [
        {"kind": "Table"},
        {"kind": "Table", "columnDefinitions": [{"name": "A"}], "rows": []},
        {"kind": "Table", "columnDefinitions": None, "rows": None},
        {"kind": "Table", "columnDefinitions": [{"name": "A"}], "rows": "odd"},
        {"kind": "PodList", "items": []},
    ],
)
def test_tables_without_rows_have_no_lines(reply: Any) -> None:
    assert not table.render(reply)


def test_a_row_with_fewer_cells_than_columns_is_shown_as_far_as_it_goes() -> None:
    columns = [{"name": "A"}, {"name": "B"}]
    reply = {
        "kind": "Table",
        "columnDefinitions": columns,
        "rows": [{"cells": ["x"]}, {"cells": ["y", "z"]}],
    }
    assert table.render(reply) == ["A   B", "x", "y   z"]


def test_a_server_without_table_form_gives_names_and_times() -> None:
    items = [{"metadata": {"name": "n", "creationTimestamp": "2026-01-01T00:00:00Z"}}]
    assert table.render({"kind": "PodList", "items": items})[1] == "n      2026-01-01T00:00:00Z"
