import asyncio
import logging
import ssl
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from alert_messages import alert, body
from kubewhy import errors
from kubewhy.adapters.kube import config
from kubewhy.app import webhook
from kubewhy.app.webhook import peers, tokens

PATH = "/webhooks/alertmanager"
GOOD = "Bearer CANARY-token-1"


class Clock:
    """A clock that only moves when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer wrong",
        "Bearer CANARY-token-11",
        "Bearer CANARY-token-",
        "Basic CANARY-token-1",
        "Basic dXNlcjpDQU5BUlktdG9rZW4tMQ==",
        "CANARY-token-1",
        "Token CANARY-token-1",
    ],
)
async def test_without_a_valid_bearer_token_nothing_is_stored(running: Any, header: str) -> None:
    answer = await running.post(body(alert()), authorization=header)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert running.store.objects == {}
    assert running.sample("requests_total", code="401") == 1


@pytest.mark.parametrize(
    "header", ["Bearer CANARY-token-1", "bearer CANARY-token-1", "Bearer  CANARY-token-1"]
)
async def test_a_valid_token_is_accepted(running: Any, header: str) -> None:
    assert (await running.post(body(alert()), authorization=header)).status_code == 200


async def test_strangers_learn_nothing_else(running: Any) -> None:
    answer = await running.post(
        b"x", authorization="", content_type="text/plain", content_encoding="gzip"
    )
    assert answer.status_code == 401


async def test_the_body_is_not_waited_for(running: Any) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", running.server.port)
    writer.write(
        f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        "Content-Length: 1000\r\n\r\n".encode()
    )
    async with asyncio.timeout(2):
        assert (await reader.readline()).startswith(b"HTTP/1.1 401 ")
    writer.close()


async def test_both_tokens_are_valid_while_one_replaces_the_other(
    start: Any, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    old.write_text("old-token\n")
    async with start(tokens=("new-token",), token_files=(str(old),)) as running:
        for token, code in (("old-token", 200), ("new-token", 200), ("CANARY-token-1", 401)):
            answer = await running.post(body(alert()), authorization=f"Bearer {token}")
            assert answer.status_code == code


@pytest.mark.parametrize("ending", ["", "\n", "\r\n", " \n\n"])
def test_a_file_may_end_with_a_line_end(tmp_path: Path, ending: str) -> None:
    file = tmp_path / "token"
    file.write_bytes(b"s3cret" + ending.encode())
    assert tokens.Tokens((), [str(file)]).accept("Bearer s3cret")


def test_a_replaced_file_is_read_again(tmp_path: Path) -> None:
    clock = Clock()
    file = tmp_path / "token"
    file.write_text("one")
    valid = tokens.Tokens((), [str(file)], monotonic=clock)
    (tmp_path / "next").write_text("two")
    (tmp_path / "next").replace(file)
    assert valid.accept("Bearer one")
    clock.now += 2
    assert valid.accept("Bearer two")
    assert not valid.accept("Bearer one")


@pytest.mark.parametrize("content", [None, b"", b"\n", b"two words", b"\xff\xfe"])
def test_the_last_token_stays_valid_while_the_file_holds_none(
    tmp_path: Path, content: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    file = tmp_path / "token"
    file.write_text("CANARY-one")
    valid = tokens.Tokens((), [str(file)], monotonic=clock)
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    clock.now += 2
    assert valid.accept("Bearer CANARY-one")
    assert "the last token stays valid" in caplog.text
    assert "CANARY" not in caplog.text


@pytest.mark.parametrize("content", [b"", b" \n", b"two words", b"x" * 5000, "tökén".encode()])
def test_a_file_without_a_token_refuses_the_start(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(errors.ConfigError, match="no usable bearer token"):
        tokens.Tokens((), [str(file)])


def test_a_missing_file_refuses_the_start(tmp_path: Path) -> None:
    with pytest.raises(errors.ConfigError, match="No such file"):
        tokens.Tokens((), [str(tmp_path / "absent")])


@pytest.mark.parametrize("value", ["", " ", "a b", "a\nb", "\x00"])
def test_a_value_that_is_no_token_refuses_the_start(value: str) -> None:
    with pytest.raises(errors.ConfigError, match="no usable bearer token"):
        tokens.Tokens([value])


def test_without_authentication_the_start_is_refused() -> None:
    access = config.Explicit(server="https://api.invalid")
    with pytest.raises(errors.ConfigError, match="KUBEWHY_WEBHOOK_TOKEN"):
        webhook.Settings(access=access)
    assert webhook.Settings(access=access, insecure=True).insecure


async def test_the_insecure_switch_opens_the_webhook_only_where_there_is_no_token(
    start: Any,
) -> None:
    async with start(tokens=(), insecure=True) as running:
        assert (await running.post(body(alert()), authorization="")).status_code == 200
    async with start(insecure=True) as running:
        assert (await running.post(body(alert()), authorization="")).status_code == 401


async def test_no_token_is_ever_logged_or_measured(
    running: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for header in (GOOD, "Bearer CANARY-wrong", "Basic CANARY-basic"):
        await running.post(body(alert()), authorization=header)
    assert caplog.records
    for record in caplog.records:
        assert "CANARY" not in repr(vars(record))
    assert "CANARY" not in await running.metrics()


def test_a_peer_that_keeps_failing_is_slowed_down_for_a_minute() -> None:
    clock = Clock()
    known = peers.Peers(monotonic=clock)
    assert [known.failed("10.0.0.1") for _ in range(6)] == [0, 0, 0, 0, 0, 1.0]
    assert known.failed("10.0.0.2") == 0
    clock.now += 61
    assert known.failed("10.0.0.1") == 0


def test_the_memory_of_peers_is_bounded() -> None:
    known = peers.Peers()
    for number in range(peers.MAX_PEERS + 50):
        known.failed(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(known._failures) == peers.MAX_PEERS


# TLS: certificates made by openssl, as an installation would.


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA with a server certificate for 127.0.0.1, a client certificate, and an expired one."""
    folder = tmp_path_factory.mktemp("pki")
    _openssl(
        folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key",
        "-out", "ca.crt", "-days", "2", "-subj", "/CN=test-ca",
        "-addext", "keyUsage=critical,keyCertSign",
    )  # fmt: skip
    (folder / "san.txt").write_text("subjectAltName=IP:127.0.0.1\n")
    for name in ("server", "client"):
        _openssl(
            folder, "req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key",
            "-out", f"{name}.csr", "-subj", f"/CN={name}",
        )  # fmt: skip
        _openssl(
            folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key",
            "-CAcreateserial", "-out", f"{name}.crt", "-days", "1", "-extfile", "san.txt",
        )  # fmt: skip
    (folder / "index.txt").write_text("")
    (folder / "serial").write_text("10\n")
    (folder / "ca.cnf").write_text(
        "[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nserial=serial\nnew_certs_dir=.\n"
        "default_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n"
    )
    _openssl(
        folder, "ca", "-batch", "-config", "ca.cnf", "-in", "client.csr", "-cert", "ca.crt",
        "-keyfile", "ca.key", "-startdate", "20200101000000Z", "-enddate", "20200102000000Z",
        "-out", "expired.crt", "-notext",
    )  # fmt: skip
    return folder


def _client_context(pki: Path, certificate: str = "") -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    if certificate:
        context.load_cert_chain(pki / certificate, pki / "client.key")
    return context


@pytest.mark.parametrize(
    ("certificate", "passes"), [("client.crt", True), ("", False), ("expired.crt", False)]
)
async def test_with_a_client_ca_only_its_certificates_get_in(
    start: Any, pki: Path, certificate: str, passes: bool
) -> None:
    files = webhook.TlsFiles(
        certificate=str(pki / "server.crt"),
        key=str(pki / "server.key"),
        client_ca=str(pki / "ca.crt"),
    )
    async with start(tls=files) as running:
        url = f"https://127.0.0.1:{running.server.port}{PATH}"
        headers = {"authorization": GOOD, "content-type": "application/json"}
        async with httpx.AsyncClient(verify=_client_context(pki, certificate)) as client:
            if passes:
                answer = await client.post(url, content=body(alert()), headers=headers)
                assert answer.status_code == 200
            else:
                with pytest.raises(httpx.TransportError):
                    await client.post(url, content=body(alert()), headers=headers)
                assert running.store.objects == {}


async def test_tls_files_that_can_not_be_used_refuse_the_start(start: Any, pki: Path) -> None:
    files = webhook.TlsFiles(certificate=str(pki / "server.crt"), key=str(pki / "client.key"))
    with pytest.raises(errors.ConfigError, match="TLS files"):
        async with start(tls=files):
            pass
