"""The InvestigationRecord: one immutable part of an Investigation's journal.

Events lie in batches whose names count up; creating the next one is the journal's compare-and-swap.
A large output is a record of its own, named by its hash, and the batch refers to it.
"""

from typing import Annotated, Final, Self

from pydantic import ConfigDict, model_validator

from kubewhy.api import base, bounds, investigation, names, values
from kubewhy.api.base import Count, text

EVENTS_NEED: Final = "Events records need firstEvent, eventCount and epoch"
OUTPUT_LACKS: Final = "Output records have number 0 and no firstEvent, eventCount or previous"
JSON_BOUND: Final = f"data encoded as Json must have at most {bounds.RECORD_JSON_DATA} characters"


class InvestigationRecordSpec(base.ApiModel):
    """A batch of events or one tool output. Immutable as a whole."""

    model_config = ConfigDict(
        json_schema_extra={
            "x-kubernetes-validations": [
                {
                    "rule": "self.content != 'Events' || (has(self.firstEvent)"
                    " && has(self.eventCount) && has(self.epoch))",
                    "message": EVENTS_NEED,
                    "fieldPath": ".firstEvent",
                },
                {
                    "rule": "self.content != 'Output' || (self.number == 0"
                    " && !has(self.firstEvent) && !has(self.eventCount) && !has(self.previous))",
                    "message": OUTPUT_LACKS,
                    "fieldPath": ".number",
                },
                {
                    "rule": "self.encoding != 'Json'"
                    f" || size(self.data) <= {bounds.RECORD_JSON_DATA}",
                    "message": JSON_BOUND,
                    "fieldPath": ".data",
                },
            ]
        }
    )

    investigation: base.Name
    """investigation is the name of the Investigation, in the same namespace."""
    investigation_uid: Annotated[str, text(bounds.LABEL, min_length=1)]
    """investigationUID is the Investigation's UID, which tells it from a later one of its name."""
    content: values.RecordContent
    """content is Events, a batch of the journal, or Output, the text one tool call returned."""
    number: Annotated[int, base.integer(0, bounds.RECORD_NUMBER)]
    """number is the batch's place in the journal; 0 for Output."""
    first_event: Count | None = None
    """firstEvent is the sequence number of the batch's first event."""
    event_count: Count | None = None
    """eventCount is the number of events in the batch."""
    epoch: Count | None = None
    """epoch is the claim under which the batch was written."""
    encoding: values.RecordEncoding
    """encoding is Json, plain text, or ZlibBase64, compressed."""
    data: Annotated[str, text(bounds.RECORD_DATA)]
    """data is the content as encoding says."""
    sha256: base.Sha256
    """sha256 is the hash of the decoded bytes."""
    previous: base.Sha256 | None = None
    """previous is the sha256 of the batch before; absent for the first."""
    bytes: Annotated[int, base.integer(0, bounds.RECORD_BYTES)]
    """bytes is the size after decoding."""

    @model_validator(mode="after")
    def _fits_content(self) -> Self:
        batch = (self.first_event, self.event_count)
        if self.content is values.RecordContent.EVENTS and None in (*batch, self.epoch):
            raise ValueError(EVENTS_NEED)
        if self.content is values.RecordContent.OUTPUT and (
            self.number or any(field is not None for field in (*batch, self.previous))
        ):
            raise ValueError(OUTPUT_LACKS)
        too_long = len(self.data) > bounds.RECORD_JSON_DATA
        if self.encoding is values.RecordEncoding.JSON and too_long:
            raise ValueError(JSON_BOUND)
        return self


class InvestigationRecord(base.ApiModel):
    """One immutable part of an Investigation's journal."""

    api_version: str = names.API_VERSION
    kind: str = names.RECORD.kind
    metadata: investigation.ObjectMeta = investigation.ObjectMeta()
    spec: InvestigationRecordSpec
