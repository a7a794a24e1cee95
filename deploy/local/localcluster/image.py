"""The one image of the local cluster, made from the machine's busybox without any registry.

An archive in the OCI image layout (https://github.com/opencontainers/image-spec, image-layout.md).
"""

import hashlib
import io
import json
import platform
import struct
import subprocess
import tarfile
from collections.abc import Iterable
from pathlib import Path

from localcluster.errors import ClusterError

BUSYBOX = Path("/bin/busybox")

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
_PT_INTERP = 3  # elf(5): names a dynamic linker, which the image doesn't have
_SECONDS = 10
_DIRECTORIES = {
    "bin": 0o755,
    "dev": 0o755,
    "etc": 0o755,
    "home": 0o755,
    "proc": 0o755,
    "root": 0o700,
    "run": 0o755,
    "sys": 0o755,
    "tmp": 0o1777,
    "usr": 0o755,
    "var": 0o755,
}
_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnonroot:x:65532:65532:nonroot:/home:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/:/bin/sh\n",
    "etc/group": "root:x:0:\nnonroot:x:65532:\nnobody:x:65534:\n",
}


def is_static(program: bytes) -> bool:
    """Whether an ELF program of 64 bits runs without a dynamic linker."""
    if program[:5] != b"\x7fELF\x02":
        return False
    (offset,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    kinds = [struct.unpack_from("<I", program, offset + index * size)[0] for index in range(count)]
    return _PT_INTERP not in kinds


def write(path: Path, *, reference: str) -> None:
    """Write the image called `reference` as an archive to `path`. Raises ClusterError."""
    program = BUSYBOX.read_bytes()
    if not is_static(program):
        raise ClusterError(
            f"{BUSYBOX} is not statically linked: install the Debian package busybox-static."
        )
    listing = subprocess.run(
        [BUSYBOX, "--list"], capture_output=True, text=True, timeout=_SECONDS, check=False
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(archive(layer(program, listing.stdout.split()), reference=reference))


def layer(program: bytes, applets: Iterable[str]) -> bytes:
    """A root file system as a tar archive: busybox under the name of each of its applets."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, mode in _DIRECTORIES.items():
            _add(tar, name, tarfile.DIRTYPE, mode)
        for name, text in _FILES.items():
            _add(tar, name, tarfile.REGTYPE, 0o644, text.encode())
        _add(tar, "bin/busybox", tarfile.REGTYPE, 0o755, program)
        # busybox lists itself; a link of that name would replace the program by a loop.
        for applet in sorted(set(applets) - {"busybox"}):
            link = tarfile.TarInfo(f"bin/{applet}")
            link.type, link.mode, link.linkname = tarfile.SYMTYPE, 0o777, "/bin/busybox"
            tar.addfile(link)
    return buffer.getvalue()


def archive(root: bytes, *, reference: str) -> bytes:
    """An OCI layout archive of an image with one uncompressed layer, `root`.

    It sleeps by default, so that it serves as the pause image too; by absolute path, because a
    sandbox has no PATH.
    """
    architecture = _ARCHITECTURES.get(platform.machine(), platform.machine())
    layer_blob = _descriptor(root, "layer.v1.tar")
    config = _encode(
        {
            "architecture": architecture,
            "os": "linux",
            "config": {
                "Env": ["PATH=/bin"],
                "Cmd": ["/bin/sleep", "2147483647"],
                "WorkingDir": "/",
            },
            "rootfs": {"type": "layers", "diff_ids": [layer_blob["digest"]]},
        }
    )
    manifest = _encode(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": _descriptor(config, "config.v1+json"),
            "layers": [layer_blob],
        }
    )
    entry = {
        **_descriptor(manifest, "manifest.v1+json"),
        "annotations": {"io.containerd.image.name": reference},
    }
    files = {
        "oci-layout": _encode({"imageLayoutVersion": "1.0.0"}),
        "index.json": _encode({"schemaVersion": 2, "manifests": [entry]}),
        **{f"blobs/{digest(blob).replace(':', '/')}": blob for blob in (root, config, manifest)},
    }
    return _tar(files)


def _tar(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in files.items():
            _add(tar, name, tarfile.REGTYPE, 0o644, content)
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, name: str, kind: bytes, mode: int, content: bytes = b"") -> None:
    member = tarfile.TarInfo(name)
    member.type, member.mode, member.size = kind, mode, len(content)
    tar.addfile(member, io.BytesIO(content))


def _descriptor(blob: bytes, kind: str) -> dict[str, object]:
    return {
        "mediaType": f"application/vnd.oci.image.{kind}",
        "digest": digest(blob),
        "size": len(blob),
    }


def digest(blob: bytes) -> str:
    """The digest of a blob in the form of OCI descriptors."""
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _encode(content: object) -> bytes:
    return json.dumps(content).encode()
