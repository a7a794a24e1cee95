"""Every exception that kubewhy raises on purpose, in one tree.

The type tells the caller what to do; the text tells a person what happened, to which object, and what to do next.

    KubewhyError
    ├── ConfigError                 settings, model list or toolset file are wrong: refuse to start or end the run
    ├── ApiError                    the Kubernetes API answered with an error
    │   ├── ApiNotFound             404: the object or the kind does not exist
    │   ├── ApiForbidden            403: a right is missing; the text names verb and resource
    │   ├── ApiUnauthorized         401: the token is not (or no longer) valid
    │   ├── ApiConflict             409 Conflict: read again, compare, repeat
    │   ├── ApiAlreadyExists        409 AlreadyExists: compare the content
    │   ├── ApiInvalid              400 or 422: our request is wrong and will stay wrong
    │   ├── ApiTooLarge             413, 422 or 500 that speak of size: shrink, then repeat
    │   ├── ApiGone                 410: the watch position is too old
    │   └── ApiUnavailable          429, 5xx, time-outs, refused connections: repeat later
    ├── JournalError
    │   ├── Fenced                  another holder has written: stop, touch nothing
    │   ├── JournalUnavailable      the journal can't be written now: start nothing, repeat later
    │   └── JournalLost             records are missing or damaged: end the run
    ├── ModelError
    │   ├── ModelRateLimited        429: repeat after the told pause
    │   ├── ModelUnavailable        time-outs, 5xx, refused connections
    │   ├── ModelAuthFailed         401, 403: no repeat
    │   ├── ModelNotFound           404 on the model: no repeat
    │   ├── ModelContextExceeded    the request is longer than the model's window
    │   ├── ModelRefused            the provider's content filter ended the reply
    │   └── ModelProtocolError      the reply can't be read
    ├── PayloadError                a message of an alert source can't be read: change nothing, answer 400
    └── ToolFailure                 a tool can't give a result; carries the status for the model
"""

from __future__ import annotations


class KubewhyError(Exception):
    """Base of all errors raised on purpose."""


class ConfigError(KubewhyError):
    """A setting, the model list or a toolset file can't be used as written."""


class ApiError(KubewhyError):
    """The Kubernetes API answered with an error.

    Attributes:
        status: HTTP status code, 0 where no answer came.
        reason: the `reason` of the API's Status object, "" where there is none.
        retry_after: seconds the server asked to wait, None where it named none.
    """

    def __init__(
        self, message: str, *, status: int = 0, reason: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after


class ApiNotFound(ApiError):
    """404: the object or its kind does not exist."""


class ApiForbidden(ApiError):
    """403: a right is missing."""


class ApiUnauthorized(ApiError):
    """401: the credentials are not accepted."""


class ApiConflict(ApiError):
    """409 Conflict: somebody wrote in between."""


class ApiAlreadyExists(ApiError):
    """409 AlreadyExists: an object of that name is there."""


class ApiInvalid(ApiError):
    """400 or 422: the request itself is wrong."""


class ApiTooLarge(ApiError):
    """The object or request is larger than the API server or etcd takes."""


class ApiGone(ApiError):
    """410: the position in the watch or list is no longer served."""


class ApiUnavailable(ApiError):
    """No usable answer: 429, 5xx, time-out or refused connection."""


class JournalError(KubewhyError):
    """The journal of one Investigation can't be used."""


class Fenced(JournalError):
    """Another holder has appended; this one must stop at once."""


class JournalUnavailable(JournalError):
    """The journal can't be written at the moment."""


class JournalLost(JournalError):
    """Records are missing or their hash chain is broken."""


class ModelError(KubewhyError):
    """A model gave no usable reply.

    Attributes:
        retry_after: seconds the provider asked to wait, None where it named none.
        usage: the `core.messages.Usage` of a reply that was paid but can't be used, else None.
    """

    def __init__(
        self, message: str, *, retry_after: float | None = None, usage: object = None
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.usage = usage


class ModelRateLimited(ModelError):
    """The provider limits the rate (429)."""


class ModelUnavailable(ModelError):
    """The provider can't be reached, is too slow, or fails (5xx)."""


class ModelAuthFailed(ModelError):
    """The provider refuses the key (401, 403)."""


class ModelNotFound(ModelError):
    """The provider doesn't know the model (404)."""


class ModelContextExceeded(ModelError):
    """The request is longer than the model's context window."""


class ModelRefused(ModelError):
    """The provider's content filter ended the reply."""


class ModelProtocolError(ModelError):
    """The reply does not follow the protocol."""


class PayloadError(KubewhyError):
    """A message of an alert source can't be read at all; the text holds nothing of its content."""


class ToolFailure(KubewhyError):
    """A tool can't give a result.

    Attributes:
        status: the value of a `core.tools.ToolStatus` that the model is told, such as "NotFound".
    """

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status
