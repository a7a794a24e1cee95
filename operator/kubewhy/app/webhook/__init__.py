"""The webhook: a process of its own that turns Alertmanager messages into Investigations and does nothing else.

It holds nothing in memory: 200 is answered only after the API server has acknowledged every Investigation, and names
are deterministic, so any number of replicas may receive any message any number of times.
"""

from kubewhy.app.webhook.server import Webhook, main, serve
from kubewhy.app.webhook.settings import Limits, Settings, TlsFiles

__all__ = ["Limits", "Settings", "TlsFiles", "Webhook", "main", "serve"]
