"""The custom resources: models, conditions, reasons, and what is generated from them.

Pure: nothing here reads a clock, a file or a network. The one exception is `generate`, the command
that writes the generated manifests, and nothing else imports it.
"""
