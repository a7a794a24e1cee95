"""Configuration of kubelet, containerd and the pod network; pure.

The node runs in a mount namespace of its own, where the usual places (/run/containerd,
/var/lib/kubelet, …) are directories of the cluster. So the defaults apply, Unix socket paths stay
short, and cAdvisor finds containerd where it looks for it and labels its series.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path

from localcluster.programs import CLUSTER_DNS

SOCKET = "/run/containerd/containerd.sock"
CGROUP_ROOT = "kubewhy-node"
IMAGE = "kubewhy.local/busybox:1"


@dataclass(frozen=True)
class Places:
    """The directories of a node below `root`, and where the node itself sees them."""

    root: Path

    @property
    def binds(self) -> Mapping[Path, Path]:
        """Place inside the node's mount namespace to the directory it shows."""
        return {
            Path("/run/containerd"): self.root / "run-containerd",
            Path("/run/mount"): self.root / "run-mount",
            Path("/var/lib/kubelet"): self.root / "lib-kubelet",
            Path("/var/lib/cni"): self.root / "lib-cni",
            Path("/var/log/pods"): self.root / "log-pods",
            Path("/var/log/containers"): self.root / "log-containers",
        }

    @property
    def containerd_config(self) -> Path:
        """containerd's configuration file."""
        return self.root / "containerd.toml"

    @property
    def kubelet_config(self) -> Path:
        """The kubelet's configuration file."""
        return self.root / "kubelet.json"

    @property
    def network(self) -> Path:
        """CNI's directory of network definitions."""
        return self.root / "cni"

    @property
    def image(self) -> Path:
        """The archive of IMAGE."""
        return self.root / "busybox.tar"

    @property
    def before(self) -> Path:
        """What the machine looked like before the node (traces.Before)."""
        return self.root / "before.json"


def kubelet(*, port: int, authority: Path, certificate: Path, key: Path, plugins: Path) -> str:
    """KubeletConfiguration as JSON: defaults as far as a shared machine allows.

    Callers are authenticated by certificate or by the API server (token), and authorized by it.
    """
    return _json(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": "127.0.0.1",
            "port": port,
            "healthzPort": 0,
            "readOnlyPort": 0,
            "tlsCertFile": str(certificate),
            "tlsPrivateKeyFile": str(key),
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": str(authority)},
            },
            "authorization": {"mode": "Webhook"},
            "containerRuntimeEndpoint": f"unix://{SOCKET}",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{CGROUP_ROOT}",
            "failSwapOn": False,
            "resolvConf": "",
            "clusterDNS": [CLUSTER_DNS],
            "clusterDomain": "cluster.local",
            "makeIPTablesUtilChains": False,
            "volumePluginDir": str(plugins),
            # A full disk or a busy machine must not evict the pods under test, and the one image
            # can't be pulled again.
            "evictionHard": {},
            "imageGCHighThresholdPercent": 100,
            "enforceNodeAllocatable": [],
        }
    )


def containerd(*, root: Path, network: Path, plugins: Path, snapshotter: str) -> str:
    """containerd's configuration (version 2) with runc and no other runtime."""
    text = json.dumps  # a JSON string of plain characters is a TOML string
    return f"""\
version = 2
root = {text(str(root))}
state = "/run/containerd"
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp"]

[grpc]
  address = "{SOCKET}"

[debug]
  level = "warn"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{IMAGE}"
  netns_mounts_under_state_dir = true
  # Without it runc fails where the machine lacks CAP_SYS_RESOURCE.
  restrict_oom_score_adj = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = {text(str(plugins))}
  conf_dir = {text(str(network))}

[plugins."io.containerd.grpc.v1.cri".containerd]
  snapshotter = {text(snapshotter)}

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = false
"""


def pod_network(subnet: IPv4Network) -> str:
    """The CNI definition: a point-to-point link per pod, addresses from `subnet`, no masquerade."""
    return _json(
        {
            "cniVersion": "0.4.0",
            "name": "kubewhy",
            "plugins": [
                {
                    "type": "ptp",
                    "ipMasq": False,
                    "ipam": {
                        "type": "host-local",
                        "subnet": str(subnet),
                        "routes": [{"dst": "0.0.0.0/0"}],
                    },
                }
            ],
        }
    )


def _json(content: object) -> str:
    return json.dumps(content, indent=2) + "\n"
