"""Runs one program without a shell, bounded in time and output: implements `core.ports.ProcessRunner`."""
