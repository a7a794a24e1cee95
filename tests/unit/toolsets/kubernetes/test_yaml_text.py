from __future__ import annotations

from typing import Any

import yaml

import kube_objects
from kubewhy.core import redaction
from kubewhy.core.tools import ToolStatus


async def test_the_whole_object_reads_back_without_bookkeeping(kube: Any, call: Any) -> None:
    kube.objects.append(kube_objects.pod())
    output = await call("yaml", kind="pod", name="checkout-7d9f-abc")
    read = yaml.safe_load(output.text)
    expected = kube_objects.pod()
    for gone in ("managedFields", "annotations"):
        del expected["metadata"][gone]
    assert read == expected


async def test_one_field_of_it(kube: Any, call: Any) -> None:
    kube.objects.append(kube_objects.deployment())
    output = await call("yaml", kind="deploy", name="checkout", field="spec.selector")
    assert output.text == "matchLabels:\n  app: checkout\n"
    missing = await call("yaml", kind="deploy", name="checkout", field="spec.nope")
    assert (missing.status, missing.text) == (
        ToolStatus.NO_DATA,
        "Deployment/checkout has no field spec.nope",
    )


async def test_long_texts_are_blocks_and_equal_parts_are_written_twice(
    kube: Any, call: Any
) -> None:
    same = {"a": "line 1\nline 2\n"}
    kube.objects.append(kube_objects.thing("ConfigMap", "c", data=same, copy=same))
    text = (await call("yaml", kind="cm", name="c")).text
    assert text.count("a: |\n    line 1\n    line 2\n") == 2
    assert "&" not in text


async def test_its_text_is_one_that_the_redaction_understands(kube: Any, call: Any) -> None:
    kube.objects.append(kube_objects.pod())
    text = (await call("yaml", kind="pod", name="checkout-7d9f-abc")).text
    assert "hunter2-CANARY" in text
    assert "hunter2-CANARY" not in redaction.redact(text)
    assert "fast" in redaction.redact(text)


async def test_a_huge_object_is_cut_and_counted(kube: Any, call: Any) -> None:
    kube.objects.append(kube_objects.thing("ConfigMap", "c", data={"blob": "x" * 1_000_000}))
    output = await call("yaml", kind="cm", name="c")
    assert output.truncated
    assert output.total_bytes > 1_000_000
    assert len(output.text) < 600_000
