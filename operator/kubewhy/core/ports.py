"""What the engine and the toolsets need from the outside world. Adapters implement it, `app` wires it, tests fake it.

All methods are bounded in time by their caller (`asyncio.timeout`) and in size by the stated parameter. Errors are
those of `kubewhy.errors`; no exception of a third-party library passes through a port.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from kubewhy.core import messages, snapshots, subjects, tools


class Clock(Protocol):
    """The one source of time of a process."""

    def now(self) -> datetime.datetime:
        """The current time, aware, UTC."""


class Model(Protocol):
    """A language model, or something that behaves like one."""

    @property
    def name(self) -> str:
        """The name in the operator's model list."""

    @property
    def context_tokens(self) -> int:
        """Size of the context window in tokens."""

    async def ask(self, request: messages.ModelRequest) -> messages.ModelReply:
        """One request, one reply; bounded by `request.timeout_seconds` in all, retries included.

        Raises:
            errors.ModelError: one of its subclasses, which say whether a repeat can help.
        """


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One kind that the API server serves. `group` is "" for the core group; `name` is the lower-case plural."""

    group: str
    version: str
    name: str
    kind: str
    namespaced: bool

    @property
    def api_version(self) -> str:
        """As in manifests: "v1", "apps/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ObjectPage:
    """One page of a list; `remaining` counts the objects left out (None: the server did not say)."""

    items: Sequence[Mapping[str, Any]]
    continue_token: str = ""
    remaining: int | None = None
    resource_version: str = ""


class KubeReader(Protocol):
    """Reads of one Investigation: under its identity, bounded to its namespace and listed cluster-scoped kinds.

    Every method may raise any `errors.ApiError`; a read outside the bounds raises `errors.ApiForbidden` whose text
    names verb, resource and namespace. `namespace=""` means the Investigation's own.
    """

    @property
    def namespace(self) -> str:
        """The Investigation's namespace."""

    async def resource(self, name: str) -> Resource:
        """Find a kind by kind, plural, singular, short name or `plural.group`, case-insensitively.

        Raises:
            errors.ApiNotFound: the API server serves no such kind.
        """

    async def get(self, resource: Resource, name: str, *, namespace: str = "") -> Mapping[str, Any]:
        """One object."""

    async def list(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
        continue_token: str = "",
    ) -> ObjectPage:
        """One page of objects; there is no list without a limit."""

    async def table(
        self,
        resource: Resource,
        *,
        name: str = "",
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        limit: int = 500,
    ) -> Mapping[str, Any]:
        """The server's Table form (what kubectl prints) of one object or of one page of a list."""

    def logs(  # noqa: PLR0913 - the API's own parameters
        self,
        pod: str,
        *,
        namespace: str = "",
        container: str = "",
        previous: bool = False,
        tail_lines: int | None = None,
        since_seconds: int | None = None,
        timestamps: bool = False,
    ) -> AsyncIterator[bytes]:
        """A container's log as chunks of bytes; closing the iterator ends the request."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HttpReply:
    """Status, headers (lower-case names) and at most the asked number of body bytes."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool = False


class HttpReader(Protocol):
    """HTTP GET with a time limit and a size limit."""

    async def get(
        self,
        url: str,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_seconds: float = 20.0,
        limit_bytes: int = 8 * 1024 * 1024,
    ) -> HttpReply:
        """Fetch; redirects are not followed.

        Raises:
            errors.ToolFailure: `TimedOut`, or `Error` naming host and cause when no reply came.
        """


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """What a program left: `exit_code` (negative: killed by that signal), bounded output, all bytes that it wrote."""

    exit_code: int
    output: str
    total_bytes: int
    truncated: bool = False
    timed_out: bool = False


class ProcessRunner(Protocol):
    """Runs one program without a shell, in its own process group, with its own small environment."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        limit_bytes: int = tools.STORED_TEXT_BYTES,
    ) -> ProcessResult:
        """Standard output and error together, head and tail kept, read until end or time-out.

        Raises:
            errors.ToolFailure: `Error` when the program can't be started, naming it.
        """


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a tool may use while it runs for one Investigation."""

    namespace: str
    subject: subjects.Subject | None
    kube: KubeReader
    now: Callable[[], datetime.datetime]


class Tool(Protocol):
    """One callable of a toolset."""

    @property
    def spec(self) -> tools.ToolSpec:
        """What the model sees."""

    def run(
        self, context: ToolContext, arguments: Mapping[str, Any]
    ) -> Awaitable[tools.ToolOutput]:
        """Run once with arguments that fit `spec.parameters` (nulls dropped, unknown names refused before).

        The caller bounds the time, turns `errors.ToolFailure` and `errors.ApiError` into results, and redacts.
        """


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Toolset:
    """A named group of tools. `problem` says why it is off; "" means healthy. `instructions` go to the model."""

    name: str
    description: str
    tools: Sequence[Tool]
    instructions: str = ""
    problem: str = ""


RunKey = snapshots.RunKey
"""Identity of one Investigation."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Events appended together: `number` counts batches from 0, `data` is the codec's bytes.

    `previous` is the sha256 of the batch before ("" for the first): the chain that shows a missing or changed batch.
    """

    number: int
    first_event: int
    event_count: int
    epoch: int
    data: bytes
    previous: str = ""

    @property
    def digest(self) -> str:
        """The sha256 of `data`."""
        return hashlib.sha256(self.data).hexdigest()


class Journal(Protocol):
    """Append-only, immutable batches of events; large outputs are stored apart by their sha256."""

    async def load(self, key: RunKey) -> Sequence[Batch]:
        """All batches that are there, by number; the caller checks that they form a chain.

        Raises:
            errors.JournalLost: a record's content doesn't fit its own hash.
            errors.JournalUnavailable: can't be read now.
        """

    async def append(self, key: RunKey, batch: Batch) -> None:
        """Create the next batch; the creation is the compare-and-swap.

        Appending the same bytes under the same number again succeeds.

        Raises:
            errors.Fenced: another batch has that number.
            errors.JournalUnavailable: not written, or not known to be written after a re-read.
        """

    async def store(self, key: RunKey, digest: str, text: str) -> None:
        """Store a large output under its sha256; storing it again is a success."""

    async def fetch(self, key: RunKey, digest: str) -> str:
        """Read a large output back.

        Raises:
            errors.JournalLost: it is not there or damaged.
        """


class Investigations(Protocol):
    """The Investigations of the cluster: reading them, and writing their status under compare-and-swap."""

    async def read(self, key: RunKey) -> snapshots.Snapshot:
        """The object as it is now.

        Raises:
            errors.ApiNotFound: it is gone, or another object has its name.
        """

    async def unfinished(self) -> Sequence[snapshots.Snapshot]:
        """All Investigations that have not finished, oldest first."""

    def finished(self) -> AsyncIterator[Mapping[str, Any]]:
        """All Investigations that have finished, as the API server holds them, read page by page."""

    async def delete(self, key: RunKey, *, resource_version: str) -> None:
        """Delete the object if it is still that one at that version.

        Raises:
            errors.ApiConflict: somebody wrote in between.
        """

    async def write_status(
        self, key: RunKey, status: Mapping[str, Any], *, resource_version: str
    ) -> str:
        """Merge `status` into the object's status if its version is still that; the new resourceVersion.

        Raises:
            errors.ApiConflict: somebody wrote in between.
            errors.ApiNotFound, errors.ApiTooLarge, errors.ApiInvalid, errors.ApiForbidden, errors.ApiUnavailable.
        """


class Holders(Protocol):
    """The replicas of the operator that are alive, by the Leases they renew."""

    async def live(self) -> frozenset[str]:
        """Names of the holders whose Lease has not run out."""


class KubeEvents(Protocol):
    """Posts Kubernetes Events about an Investigation; losing one is no fault."""

    async def post(self, key: RunKey, *, kind: str, reason: str, message: str) -> None:
        """`kind` is "Normal" or "Warning", `reason` one CamelCase word; the same reason is posted once per run."""
