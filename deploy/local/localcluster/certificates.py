"""Keys and certificates of a cluster, made by openssl; valid for that cluster only."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from localcluster.errors import ClusterError

_DAYS = "825"
_SECONDS = 30


@dataclass(frozen=True)
class Leaf:
    """A certificate to issue: file stem, subject in openssl's form, names it is valid for."""

    stem: str
    subject: str
    names: str


# 10.0.0.1 is the first address of the service range, the ClusterIP of the service "kubernetes".
LEAVES = (
    Leaf(
        "apiserver",
        "/CN=kube-apiserver",
        "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,"
        "DNS:kubernetes.default.svc.cluster.local,IP:127.0.0.1,IP:10.0.0.1",
    ),
    # The group lets the kubelet's authorization accept the API server's calls (logs, exec).
    Leaf(
        "apiserver-kubelet-client",
        "/O=system:masters/CN=kube-apiserver-kubelet-client",
        "DNS:client",
    ),
    Leaf("kubelet", "/O=system:nodes/CN=system:node:localhost", "DNS:localhost,IP:127.0.0.1"),
)


def create(directory: Path) -> None:
    """Write ca, the LEAVES and the service account key into `directory` as .crt and .key files.

    Raises ClusterError.
    """
    directory.mkdir(parents=True, exist_ok=True)
    _openssl(
        directory,
        *_new_certificate("ca", "/CN=kubewhy-local-cluster"),
        *(
            "-addext",
            "basicConstraints=critical,CA:TRUE",
            "-addext",
            "keyUsage=critical,keyCertSign",
        ),
    )
    for leaf in LEAVES:
        _openssl(directory, *_new_key(leaf.stem))
        _openssl(
            directory,
            "req",
            "-new",
            "-key",
            f"{leaf.stem}.key",
            "-subj",
            leaf.subject,
            "-out",
            f"{leaf.stem}.csr",
        )
        extensions = directory / f"{leaf.stem}.ext"
        extensions.write_text(
            f"subjectAltName={leaf.names}\nextendedKeyUsage=serverAuth,clientAuth\n",
            encoding="utf-8",
        )
        _openssl(
            directory,
            "x509",
            "-req",
            "-in",
            f"{leaf.stem}.csr",
            "-CA",
            "ca.crt",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            _DAYS,
            "-extfile",
            extensions.name,
            "-out",
            f"{leaf.stem}.crt",
        )
    _openssl(
        directory,
        "genpkey",
        "-algorithm",
        "RSA",
        "-pkeyopt",
        "rsa_keygen_bits:2048",
        "-out",
        "service-accounts.key",
    )


def _new_key(stem: str) -> tuple[str, ...]:
    return (
        "genpkey",
        "-algorithm",
        "EC",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-out",
        f"{stem}.key",
    )


def _new_certificate(stem: str, subject: str) -> tuple[str, ...]:
    return (
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-keyout",
        f"{stem}.key",
        "-out",
        f"{stem}.crt",
        "-days",
        _DAYS,
        "-subj",
        subject,
    )


def _openssl(directory: Path, *arguments: str) -> None:
    try:
        done = subprocess.run(
            ["openssl", *arguments],
            cwd=directory,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise ClusterError("openssl is missing: install the Debian package openssl.") from None
    if done.returncode != 0:
        raise ClusterError(
            f"openssl {arguments[0]} failed in {directory}: {done.stderr.strip()[-300:]}"
        )
