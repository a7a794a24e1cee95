from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import asyncio, sys
from kubewhy.adapters.kube import client, config

async def main():
    api = await client.connect(config.Explicit(server="http://127.0.0.1:9"))
    try:
        await api.request("GET", "/api")
    except Exception as error:
        print(type(error).__name__)
    await api.close()

asyncio.run(main())
loaded = [name for name in sys.modules if name.startswith("kubernetes.")]
print(sum(".models." in name for name in loaded), sum(".api." in name for name in loaded))
"""


def test_the_client_loads_next_to_none_of_the_generated_code() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=True
    )
    error, counts = done.stdout.splitlines()
    assert error == "ApiUnavailable"
    models, apis = map(int, counts.split())
    assert models < 20  # of more than 700
    assert apis < 5
