"""Finding in a program's log the lines that say why it stopped.

Knows the shapes in which the common run times print an uncaught error, then the usual words for severity, and falls
back to the last line. Reads text only: what the error means is for the reader of the result.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterator, Sequence

from kubewhy.core import untrusted

LINE_LENGTH = 1000
"""Characters kept of one line."""

SURVIVED_LINES = 8
"""An uncaught error further back than this from a later fatal line was survived."""

BLOCK_LINES = 40
"""Most lines that one error block is taken to have."""

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CLASS = r"[A-Za-z_$][\w$]*(?:(?:\.|::|\\)[A-Za-z_$][\w$]*)*"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """The lines `start` to `end` (exclusive) of a log that name an error.

    `headline` is the decisive line as it stands in the log; `error` is the error's class or "" and `message` its text.
    `strength` says how the lines were recognised: 3 an uncaught error of a known run time, 2 a line of fatal severity,
    1 a line of error severity, 0 words of failure or just the last line.
    """

    start: int
    end: int
    headline: str
    error: str
    message: str
    strength: int

    @property
    def text(self) -> str:
        """Class and message as one text."""
        return (
            f"{self.error}: {self.message}"
            if self.error and self.message
            else self.error or self.message
        )


def clean(line: str) -> str:
    """The line without terminal sequences and invisible characters, cut to `LINE_LENGTH`."""
    return untrusted.clean_line(_ANSI.sub("", line)).rstrip()[:LINE_LENGTH]


def cause(lines: Sequence[str]) -> Cause | None:
    """The error that the log ends with, None where no line says anything.

    The last uncaught error wins; a later line of fatal severity wins over it when the error lies further back, because
    then it was survived.
    """
    block = _last_block(lines)
    fatal = _last_of(lines, _FATAL, strength=2)
    if block and (fatal is None or fatal.start - block.end < SURVIVED_LINES):
        return block
    return fatal or block or _last_of(lines, _ERROR, strength=1) or _weak(lines)


def excerpt(lines: Sequence[str], *, most: int) -> tuple[str, ...]:
    """At most `most` lines: the error with some lines before it, and the end of the log; in order, without repeats."""
    found = cause(lines)
    chosen: set[int] = set()
    if found:
        block = list(range(found.start, found.end))
        head = max(2, most // 6)
        keep = max(4, most // 2)
        chosen.update(block if len(block) <= keep else [*block[:head], *block[-(keep - head) :]])
        chosen.add(_index_of(lines, found))
        chosen.update(range(max(0, found.start - most // 6), found.start))
    for index in range(len(lines) - 1, -1, -1):
        if len(chosen) >= most:
            break
        if lines[index].strip():
            chosen.add(index)
    return tuple(lines[index] for index in sorted(chosen) if lines[index].strip())


def _index_of(lines: Sequence[str], found: Cause) -> int:
    block = range(found.start, found.end)
    return next((index for index in block if lines[index] == found.headline), found.start)


# --- uncaught errors of known run times --------------------------------------------------------------------------

_PYTHON_START = re.compile(r"^(?P<prefix>.*?)Traceback \(most recent call last\):\s*$")
_PYTHON_END = re.compile(rf"^(?P<error>{_CLASS})(?:: (?P<message>.*))?$")
_JAVA = re.compile(
    rf"^(?:.*?\bException in thread (?:\"[^\"]*\"|\S+) |.*?\bUncaught exception[^:]{{0,80}}: )"
    rf"(?P<error>{_CLASS})(?:: (?P<message>.*))?$"
)
_JAVA_BARE = re.compile(
    r"^(?:.*\s)?(?P<error>(?:[a-z_][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error|Throwable|Failure))(?:: (?P<message>.*))?$"
)
_JAVA_CAUSED = re.compile(rf"^\s*Caused by: (?P<error>{_CLASS})(?:: (?P<message>.*))?$")
_FRAME = re.compile(r"^\s+(?:at |\.\.\. \d+ (?:more|common)|Suppressed: )|^\s*--- End of ")
_GO = re.compile(r"^(?:\S+ \S+ )?(?P<error>panic|fatal error): (?P<message>.*)$")
_NODE = re.compile(
    rf"^(?:Uncaught |\S*UnhandledPromiseRejection\S*: |\(node:\d+\) )?"
    rf"(?P<error>(?:{_CLASS})?(?:Error|Exception))(?: \[(?P<code>\w+)\])?: (?P<message>.*)$"
)
_RUBY = re.compile(rf"^(?P<place>\S+:\d+:in [`'][^']*'): (?P<message>.*?) \((?P<error>{_CLASS})\)$")
_DOTNET = re.compile(
    rf"^Unhandled exception(?:\.|:) (?P<error>{_CLASS})(?: \([^)]*\))?(?:: (?P<message>.*))?$",
    re.IGNORECASE,
)
_DOTNET_INNER = re.compile(
    rf"^\s*--->\s+(?P<error>{_CLASS})(?: \([^)]*\))?: (?P<message>.*?)(?: --->.*)?$"
)
_PHP = re.compile(
    rf"^(?:.*?)(?:PHP )?Fatal error:\s+(?:Uncaught (?P<error>{_CLASS})(?:: ))?"
    r"(?P<message>.*?)(?: in \S+(?::| on line )\d+)?$"
)
_RUST = re.compile(
    r"^thread '(?P<thread>[^']*)'(?: \(\d+\))? panicked at (?:'(?P<message>.*)', \S+|(?P<place>\S+):\s*)$"
)
_ELIXIR = re.compile(rf"^\*\* \((?P<error>{_CLASS})\) (?P<message>.*)$")
_CPP = re.compile(r"^terminate called after throwing an instance of '(?P<error>[^']+)'$")
_CPP_WHAT = re.compile(r"^\s*what\(\):\s+(?P<message>.*)$")
_SHELL = re.compile(
    r"^(?P<message>(?:\S*/)?(?:sh|ash|bash|dash|env|exec): .*"
    r"(?:not found|Permission denied|No such file or directory|parameter not set|unbound variable|can't open .*))$"
)

_Finder = Callable[[Sequence[str], int], Cause | None]


def _python(lines: Sequence[str], start: int) -> Cause | None:
    opening = _PYTHON_START.match(lines[start])
    if not opening:
        return None
    for index in range(start + 1, min(len(lines), start + BLOCK_LINES * 3)):
        line = lines[index].removeprefix(opening["prefix"])
        if not line.strip() or line[0] in " \t|+":
            continue
        found = _PYTHON_END.match(line)
        return _cause(lines, start, index + 1, index, found) if found else None
    return None


def _java(lines: Sequence[str], start: int) -> Cause | None:
    found = _JAVA.match(lines[start])
    if not found:
        found = _JAVA_BARE.match(lines[start])
        if not found or not _FRAME.match(_line(lines, start + 1)):
            return None
    decisive, end = (start, found), start + 1
    for index in range(start + 1, min(len(lines), start + BLOCK_LINES * 5)):
        inner = _JAVA_CAUSED.match(lines[index])
        if inner:
            decisive = (index, inner)
        elif not _FRAME.match(lines[index]):
            break
        end = index + 1
    return _cause(lines, start, end, *decisive)


def _go(lines: Sequence[str], start: int) -> Cause | None:
    found = _GO.match(lines[start])
    if not found:
        return None
    end = start + 1
    while end < min(len(lines), start + BLOCK_LINES) and not lines[end].startswith(("20", "{")):
        end += 1
    return _cause(lines, start, end, start, found)


def _node(lines: Sequence[str], start: int) -> Cause | None:
    found = _NODE.match(lines[start])
    if not found or not _FRAME.match(_line(lines, start + 1)):
        return None
    end = start + 1
    while end < len(lines) and end < start + BLOCK_LINES and _FRAME.match(lines[end]):
        end += 1
    return _cause(lines, start, end, start, found)


def _dotnet(lines: Sequence[str], start: int) -> Cause | None:
    found = _DOTNET.match(lines[start])
    if not found:
        return None
    decisive, end = (start, found), start + 1
    for index in range(start + 1, min(len(lines), start + BLOCK_LINES)):
        inner = _DOTNET_INNER.match(lines[index])
        if inner:
            decisive = (index, inner)
        elif not _FRAME.match(lines[index]):
            break
        end = index + 1
    return _cause(lines, start, end, *decisive)


def _rust(lines: Sequence[str], start: int) -> Cause | None:
    found = _RUST.match(lines[start])
    if not found:
        return None
    at = start if found["message"] else start + 1
    message = found["message"] or _line(lines, at).strip()
    if not message:
        return None
    end = min(len(lines), at + 1)
    return Cause(
        start=start, end=end, headline=lines[at], error="panic", message=message, strength=3
    )


def _cpp(lines: Sequence[str], start: int) -> Cause | None:
    found = _CPP.match(lines[start])
    if not found:
        return None
    what = _CPP_WHAT.match(_line(lines, start + 1))
    message = what["message"] if what else ""
    end = start + 2 if what else start + 1
    headline = lines[start + 1] if what else lines[start]
    return Cause(
        start=start, end=end, headline=headline, error=found["error"], message=message, strength=3
    )


def _one_line(pattern: re.Pattern[str]) -> _Finder:
    def find(lines: Sequence[str], start: int) -> Cause | None:
        found = pattern.match(lines[start])
        return _cause(lines, start, start + 1, start, found) if found else None

    return find


_FINDERS: tuple[tuple[str, _Finder], ...] = (
    ("Traceback (", _python),
    ("hrowable", _java),
    ("xception", _java),
    ("Error", _java),
    ("Failure", _java),
    ("panic: ", _go),
    ("fatal error: ", _go),
    ("Error", _node),
    ("xception", _node),
    (":in ", _one_line(_RUBY)),
    ("nhandled exception", _dotnet),
    ("Fatal error:", _one_line(_PHP)),
    ("panicked at", _rust),
    ("** (", _one_line(_ELIXIR)),
    ("terminate called", _cpp),
    (": ", _one_line(_SHELL)),
)


def _last_block(lines: Sequence[str]) -> Cause | None:
    """The uncaught error that ends last; of errors that are chained to it, the decisive one is inside the block."""
    last: Cause | None = None
    index = 0
    while index < len(lines):
        found = _block_at(lines, index)
        last = found or last
        index = found.end if found else index + 1
    return last


def _block_at(lines: Sequence[str], index: int) -> Cause | None:
    line = lines[index]
    tried = (find(lines, index) for word, find in _FINDERS if word in line)
    return next((found for found in tried if found), None)


def _cause(lines: Sequence[str], start: int, end: int, at: int, found: re.Match[str]) -> Cause:
    groups = found.groupdict()
    return Cause(
        start=start,
        end=end,
        headline=lines[at],
        error=groups.get("error") or "",
        message=(groups.get("message") or "").strip(),
        strength=3,
    )


def _line(lines: Sequence[str], index: int) -> str:
    return lines[index] if index < len(lines) else ""


# --- lines of a severity -----------------------------------------------------------------------------------------

_FATAL = re.compile(
    r"\b(?:FATAL|PANIC|EMERG|EMERGENCY|CRITICAL|CRIT)\b|\blevel=(?:fatal|panic|critical|dpanic)\b"
    r"|\"(?:level|severity|lvl|log\.level)\"\s*:\s*\"(?:fatal|panic|critical|FATAL|PANIC|CRITICAL|EMERGENCY)\""
    r"|\"level\"\s*:\s*60\b|^F\d{4} \d\d:|^(?:Fatal|fatal): |\b(?:Segmentation fault|Bus error|core dumped|Aborted)\b"
)
_ERROR = re.compile(
    r"\b(?:ERROR|SEVERE|ERR)\b|\[error\]|\[emerg\]|\[alert\]|\[crit\]|\blevel=error\b|^E\d{4} \d\d:"
    r"|\"(?:level|severity|lvl|log\.level)\"\s*:\s*\"(?:error|ERROR|Error)\"|\"level\"\s*:\s*50\b"
    r"|^(?:[\w./-]+: )?(?:[Ee]rror|[Ff]ailed|[Ff]ailure): |\b[A-Z]\w*(?:Error|Exception)\b"
)
_FAILURE = re.compile(
    r"\b(?:fail(?:ed|ure|s)?|can ?not|can't|could not|couldn't|unable|refused|denied|forbidden|not found|no such"
    r"|not set|unset|undefined|invalid|required|missing|timed? ?out|exceeded|unreachable|exhausted|expired|rejected"
    r"|already in use|too many|out of|unauthori[sz]ed|not authori[sz]ed|illegal|corrupt\w*|errors?|exception"
    r"|unknown|unrecogni[sz]ed|unexpected|not permitted|read-only|no space|no route|reset by peer|bad)\b",
    re.IGNORECASE,
)
_PREFIX = re.compile(
    r"^[\[(]?(?:\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?[\])]?\s*"
)
_LABEL = re.compile(
    r"^[\[(<]?(?:FATAL|PANIC|EMERG(?:ENCY)?|CRITICAL|CRIT|ERROR|ERR|SEVERE|error|fatal|Error|Fatal)[\])>]?\s*[:\-|]?\s+(?P<rest>\S.*)$"
)
_KLOG = re.compile(r"^[FE]\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ (?P<place>\S+?:\d+)\] (?P<rest>.*)$")
_LOGFMT = re.compile(r"\b(?P<key>msg|message|err|error)=(?P<value>\"(?:[^\"\\]|\\.)*\"|\S+)")
_ERROR_WORD = re.compile(rf"^(?P<error>{_CLASS}(?:Error|Exception)): (?P<message>.*)$")


def _last_of(lines: Sequence[str], pattern: re.Pattern[str], *, strength: int) -> Cause | None:
    for index in range(len(lines) - 1, -1, -1):
        if pattern.search(lines[index]):
            return _severity(lines, index, strength)
    return None


def _weak(lines: Sequence[str]) -> Cause | None:
    """The last line that speaks of a failure, else the last line."""
    for index in range(len(lines) - 1, max(-1, len(lines) - 20), -1):
        if _FAILURE.search(lines[index]):
            return _severity(lines, index, 0)
    last = next((index for index in range(len(lines) - 1, -1, -1) if lines[index].strip()), None)
    return None if last is None else _severity(lines, last, 0)


def _severity(lines: Sequence[str], index: int, strength: int) -> Cause:
    message = _message(lines[index])
    found = _ERROR_WORD.match(message)
    return Cause(
        start=index,
        end=index + 1,
        headline=lines[index],
        error=found["error"] if found else "",
        message=found["message"] if found else message,
        strength=strength,
    )


def _message(line: str) -> str:
    """The message of a log line without time, severity and place."""
    line = line.strip()
    return next((text for text in (_json_message(line), _logfmt(line)) if text), "") or _plain(line)


def _json_message(line: str) -> str:
    if not line.startswith("{"):
        return ""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    texts = [value.get(key) for key in ("message", "msg", "event", "error", "err", "exception")]
    parts = [_inner(text) for text in texts if text]
    return ": ".join(dict.fromkeys(part for part in parts if part))


def _inner(value: object) -> str:
    if isinstance(value, dict):
        value = value.get("message") or value.get("msg") or ""
    return value.split("\n")[0] if isinstance(value, str) else ""


def _logfmt(line: str) -> str:
    pairs = dict(_pairs(line))
    texts = [pairs.get("msg") or pairs.get("message"), pairs.get("err") or pairs.get("error")]
    return ": ".join(text for text in texts if text) if "msg" in pairs or "err" in pairs else ""


def _pairs(line: str) -> Iterator[tuple[str, str]]:
    for found in _LOGFMT.finditer(line):
        yield found["key"], found["value"].strip('"')


def _plain(line: str) -> str:
    klog = _KLOG.match(line)
    if klog:
        return klog["rest"]
    rest = _PREFIX.sub("", line, count=1)
    label = _LABEL.match(rest)
    return label["rest"] if label else rest or line
