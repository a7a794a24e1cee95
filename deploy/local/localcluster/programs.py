"""The command lines of the control plane and the kubelet; pure."""

from pathlib import Path

from localcluster.layout import Layout

SERVICE_RANGE = "10.0.0.0/24"
# The kubelet injects it into pods; nothing answers there, but without it every pod gets a
# MissingClusterDNS warning that no healthy cluster shows.
CLUSTER_DNS = "10.0.0.10"
NODE_NAME = "localhost"


def etcd(layout: Layout) -> list[str]:
    """etcd on Unix sockets in a private directory: needs no port, and no other user gets in."""
    return [
        "etcd",
        f"--data-dir={layout.etcd}/data",
        f"--listen-client-urls=unix://{layout.etcd}/client.sock",
        f"--listen-peer-urls=unix://{layout.etcd}/peer.sock",
        # Must be an address with a port, but nobody asks a lone member where else to find it.
        "--advertise-client-urls=http://localhost:2379",
        # The data is thrown away with the cluster, so it need not survive a power cut.
        "--unsafe-no-fsync",
        # One member never hears from others: slow ticks spare the processor.
        "--heartbeat-interval=500",
        "--election-timeout=2500",
        "--log-level=warn",
    ]


def apiserver(layout: Layout, *, port: int) -> list[str]:
    """kube-apiserver on loopback with RBAC, the default admission plugins and bearer tokens."""
    pki = layout.pki
    return [
        "kube-apiserver",
        f"--etcd-servers=unix://{layout.etcd}/client.sock",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={pki}/apiserver.crt",
        f"--tls-private-key-file={pki}/apiserver.key",
        f"--client-ca-file={pki}/ca.crt",
        f"--token-auth-file={layout.tokens}",
        "--authorization-mode=Node,RBAC",
        f"--service-account-key-file={pki}/service-accounts.key",
        f"--service-account-signing-key-file={pki}/service-accounts.key",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        "--allow-privileged=true",
        "--endpoint-reconciler-type=none",
        "--profiling=false",
        # The node is called localhost, so that logs and exec stay on loopback.
        "--kubelet-preferred-address-types=Hostname",
        f"--kubelet-certificate-authority={pki}/ca.crt",
        f"--kubelet-client-certificate={pki}/apiserver-kubelet-client.crt",
        f"--kubelet-client-key={pki}/apiserver-kubelet-client.key",
    ]


def controller_manager(layout: Layout, *, kubeconfig: Path) -> list[str]:
    """kube-controller-manager with every default controller, each under its own account."""
    return [
        "kube-controller-manager",
        f"--kubeconfig={kubeconfig}",
        f"--service-account-private-key-file={layout.pki}/service-accounts.key",
        f"--root-ca-file={layout.pki}/ca.crt",
        "--use-service-account-credentials=true",
        # Fetching forty accounts at the default rate alone would take five seconds.
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--leader-elect=false",
        "--profiling=false",
        "--secure-port=0",
    ]


def scheduler(*, kubeconfig: Path) -> list[str]:
    """kube-scheduler with its default profile."""
    return [
        "kube-scheduler",
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--profiling=false",
        "--secure-port=0",
    ]


def kubelet(*, kubeconfig: Path, config: Path) -> list[str]:
    """The kubelet; everything else is in its configuration file."""
    return [
        "kubelet",
        f"--kubeconfig={kubeconfig}",
        f"--config={config}",
        f"--hostname-override={NODE_NAME}",
        "--root-dir=/var/lib/kubelet",
        "--cert-dir=/var/lib/kubelet/pki",
    ]
