"""HTTP GET with aiohttp, bounded in time and size: implements `core.ports.HttpReader`."""
