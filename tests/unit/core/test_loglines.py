"""Finding the cause in a log: the shapes of each run time, severities, and what is left when neither is there."""

from __future__ import annotations

import time

import hypothesis
import pytest
from hypothesis import strategies

from kubewhy.core import loglines

PYTHON = """\
2026-11-30 20:00:00 INFO starting
Traceback (most recent call last):
  File "/srv/main.py", line 88, in <module>
    main()
  File "/srv/main.py", line 41, in main
    raise RuntimeError("DB_HOST is unset")
RuntimeError: DB_HOST is unset"""

PYTHON_CHAINED = """\
Traceback (most recent call last):
  File "a.py", line 1, in connect
    socket.create_connection(address)
ConnectionRefusedError: [Errno 111] Connection refused

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "a.py", line 9, in <module>
    boot()
app.errors.StartError: can't reach ledger:5432"""

JAVA = """\
INFO boot
Exception in thread "main" org.springframework.beans.BeanCreationException: Error creating bean 'pool'
\tat org.springframework.beans.Factory.create(Factory.java:12)
\tat com.shop.Main.main(Main.java:5)
Caused by: java.lang.IllegalStateException: property shop.region is missing
\tat com.shop.Config.read(Config.java:77)
\t... 2 more"""

JAVA_LOGGED = """\
2026-11-30 20:00:01 ERROR c.s.Main - start failed
java.net.UnknownHostException: ledger: Name or service not known
\tat java.net.InetAddress.lookup(InetAddress.java:1)"""

GO = """\
2026/11/30 20:00:00 listening
panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x48]

goroutine 1 [running]:
main.main()
\t/src/main.go:9 +0x1"""

NODE = """\
/app/server.js:10
    throw new TypeError("tenant is undefined");
    ^

TypeError: tenant is undefined
    at Object.<anonymous> (/app/server.js:10:11)
    at Module._compile (node:internal/modules/cjs/loader:1105:14)

Node.js v20.1.0"""

RUBY = "/app/boot.rb:3:in `load': no rate for EUR (KeyError)\n\tfrom /app/boot.rb:9:in `<main>'"
DOTNET = """\
Unhandled exception. System.InvalidOperationException: queue is closed
 ---> System.Net.Sockets.SocketException (111): Connection refused ledger:5672
   at System.Net.Connect()
   --- End of inner exception stack trace ---
   at Shop.Program.Main()"""
PHP = "PHP Fatal error:  Uncaught RuntimeException: no such tenant in /var/www/index.php:12"
RUST = "thread 'main' panicked at src/main.rs:4:5:\nno shard for key 7\nnote: run with `RUST_BACKTRACE=1`"
RUST_OLD = "thread 'main' panicked at 'no shard for key 7', src/main.rs:4:5"
ELIXIR = "** (RuntimeError) no shard for key 7"
CPP = "terminate called after throwing an instance of 'std::out_of_range'\n  what():  map::at\nAborted (core dumped)"
SHELL = "starting\n/bin/sh: wge: not found"
KLOG = "I1130 20:00:00.000000       1 main.go:10] start\nF1130 20:00:01.000000       1 main.go:20] no such secret"
JSON = '{"level":"info","msg":"up"}\n{"level":"fatal","msg":"cannot open pool","error":"password rejected"}'
LOGFMT = 'level=info msg=up\nlevel=error msg="write failed" err="no space left on device"'


@pytest.mark.parametrize(
    ("log", "error", "message"),
    [
        pytest.param(PYTHON, "RuntimeError", "DB_HOST is unset", id="python"),
        pytest.param(
            PYTHON_CHAINED, "app.errors.StartError", "can't reach ledger:5432", id="python-chained"
        ),
        pytest.param(
            JAVA,
            "java.lang.IllegalStateException",
            "property shop.region is missing",
            id="java-caused-by",
        ),
        pytest.param(
            JAVA_LOGGED,
            "java.net.UnknownHostException",
            "ledger: Name or service not known",
            id="java-logged",
        ),
        pytest.param(
            GO, "panic", "runtime error: invalid memory address or nil pointer dereference", id="go"
        ),
        pytest.param(NODE, "TypeError", "tenant is undefined", id="node"),
        pytest.param(RUBY, "KeyError", "no rate for EUR", id="ruby"),
        pytest.param(
            DOTNET,
            "System.Net.Sockets.SocketException",
            "Connection refused ledger:5672",
            id="dotnet-inner",
        ),
        pytest.param(PHP, "RuntimeException", "no such tenant", id="php"),
        pytest.param(RUST, "panic", "no shard for key 7", id="rust"),
        pytest.param(RUST_OLD, "panic", "no shard for key 7", id="rust-before-1.73"),
        pytest.param(ELIXIR, "RuntimeError", "no shard for key 7", id="elixir"),
        pytest.param(CPP, "std::out_of_range", "map::at", id="cpp"),
        pytest.param(SHELL, "", "/bin/sh: wge: not found", id="shell"),
        pytest.param(KLOG, "", "no such secret", id="klog"),
        pytest.param(JSON, "", "cannot open pool: password rejected", id="json"),
        pytest.param(LOGFMT, "", "write failed: no space left on device", id="logfmt"),
        pytest.param(
            "up\n2026-11-30T20:00:00Z FATAL no route to shard 3\nbye",
            "",
            "no route to shard 3",
            id="fatal-word",
        ),
        pytest.param(
            "up\n[ERROR] could not bind\nshutting down", "", "could not bind", id="error-word"
        ),
        pytest.param(
            "up\nlistening failed on 80\nbye", "", "listening failed on 80", id="words-of-failure"
        ),
        pytest.param("one\ntwo\n", "", "two", id="last-line"),
    ],
)
def test_cause_of_each_shape(log: str, error: str, message: str) -> None:
    lines = [loglines.clean(line) for line in log.split("\n")]
    found = loglines.cause(lines)
    assert found is not None
    assert (found.error, found.message) == (error, message)
    assert found.headline in lines[found.start : found.end]


def test_the_last_error_wins() -> None:
    lines = [*PYTHON.split("\n"), "retrying", *PYTHON_CHAINED.split("\n")]
    found = loglines.cause(lines)
    assert found is not None
    assert found.error == "app.errors.StartError"


def test_an_error_that_was_survived_loses_against_a_later_fatal_line() -> None:
    lines = [
        *PYTHON.split("\n"),
        *(f"request {number} served" for number in range(30)),
        "FATAL licence expired",
    ]
    found = loglines.cause(lines)
    assert found is not None
    assert found.message == "licence expired"


def test_a_fatal_line_right_after_the_error_does_not_hide_it() -> None:
    found = loglines.cause([*PYTHON.split("\n"), "CRITICAL worker exited"])
    assert found is not None
    assert found.error == "RuntimeError"


def test_no_lines_no_cause() -> None:
    assert loglines.cause([]) is None
    assert loglines.cause(["", "  "]) is None


def test_excerpt_keeps_the_error_its_context_and_the_end() -> None:
    lines = (
        [f"line {number}" for number in range(500)]
        + PYTHON.split("\n")
        + [f"end {number}" for number in range(9)]
    )
    shown = loglines.excerpt(lines, most=30)
    assert len(shown) <= 30
    assert "RuntimeError: DB_HOST is unset" in shown
    assert "Traceback (most recent call last):" in shown
    assert shown[-1] == "end 8"
    assert list(shown) == [line for line in lines if line in set(shown)]


def test_excerpt_of_a_long_stack_keeps_the_decisive_line() -> None:
    frames = [f"\tat com.shop.Deep.call{number}(Deep.java:{number})" for number in range(150)]
    lines = ['Exception in thread "main" java.lang.StackOverflowError: too deep', *frames]
    assert "java.lang.StackOverflowError" in loglines.excerpt(lines, most=12)[0]


def test_clean_drops_what_a_terminal_would_act_on() -> None:
    assert loglines.clean("\x1b[31mERROR\x1b[0m a\x00b\u202ec\u200bd  ") == "ERROR abcd"
    assert len(loglines.clean("x" * 10_000)) == loglines.LINE_LENGTH


@hypothesis.given(strategies.lists(strategies.text(max_size=60), max_size=60))
def test_any_text_is_read_without_fault(lines: list[str]) -> None:
    cleaned = [loglines.clean(line) for line in lines]
    found = loglines.cause(cleaned)
    if found:
        assert found.headline in cleaned
    assert len(loglines.excerpt(cleaned, most=12)) <= 12


@pytest.mark.parametrize(
    "part",
    ["at ", "Error: ", "a.", "Traceback (most recent call last):", "Fatal error: ", "x:1:in `"],
)
def test_hostile_lines_take_linear_time(part: str) -> None:
    lines = [loglines.clean(part * 500)] * 400
    began = time.process_time()
    loglines.cause(lines)
    assert time.process_time() - began < 2
