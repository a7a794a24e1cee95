"""The sizes that the schema allows, as numbers that writers can cut to.

Lengths are characters, as `maxLength` counts them; list sizes are items. The sizes follow the budgets
of a status object: usually under 128 KiB and never over 512 KiB, which the status writer enforces.
The schema alone keeps the greatest possible status below the 3 MiB that an API server reads.
"""

from typing import Final

INT_MAX: Final = 2**53 - 1
"""Greatest integer that every JSON reader keeps exact."""

NAME: Final = 253
LABEL: Final = 63
KIND: Final = 64
API_VERSION: Final = 317
TIME: Final = 40
USER: Final = 256
SHA256_HEX: Final = 64
DIGEST: Final = 71
INVESTIGATION_NAME: Final = 200
"""Record names are the Investigation's name and up to 53 characters more."""

QUESTION: Final = 4096
CATALOGUE_NAME: Final = 128
TOOLSETS: Final = 64
RUNBOOKS: Final = 16
CLIENT_TOOLS: Final = 32
TOOL_NAME: Final = 128
TOOL_DESCRIPTION: Final = 1024
TOOL_PARAMETERS: Final = 8192

ALERTS: Final = 32
ALERT_PAIRS: Final = 64
ALERT_VALUE: Final = 4096
ALERT_PAIRS_TOTAL: Final = 16384
"""Sum of the lengths of all keys and values of one alert's labels, and of its annotations."""
GENERATOR_URL: Final = 2048

CONDITIONS: Final = 16
CONDITION_MESSAGE: Final = 1024
SUBJECT: Final = 320
COST: Final = 32
TODO: Final = 32
TODO_TEXT: Final = 256
SUMMARY: Final = 256
STATEMENT: Final = 1024
MECHANISM: Final = 64
EVIDENCE: Final = 20
EVIDENCE_CALL: Final = 64
QUOTE: Final = 1024
FINDINGS: Final = 20
RULED_OUT: Final = 20
BLIND_SPOTS: Final = 64
BLIND_SPOT_MESSAGE: Final = 1024
ACTIONS: Final = 20
ACTION_DESCRIPTION: Final = 1024
ACTION_COMMAND: Final = 1024
REPORT: Final = 16384
TRACE: Final = 200
CALL_ID: Final = 16
ARGUMENTS: Final = 2048
EXCERPT: Final = 2048
PENDING_APPROVALS: Final = 16
REQUEST_ID: Final = 63
RENDERED_CALL: Final = 4096
DIFF: Final = 4096
APPROVE_COMMAND: Final = 1024
APPROVALS: Final = 300
HOLDER: Final = 253
RUNTIME_VERSION: Final = 64

RECORD_DATA: Final = 1_400_000
"""1 MiB that does not compress, as base64, still fits; etcd's request limit is 1.5 MiB."""
RECORD_JSON_DATA: Final = 524_288
"""Plain JSON inside a JSON string doubles in the worst case, so it gets less room."""
RECORD_BYTES: Final = 16_777_216
RECORD_NUMBER: Final = 1_000_000
