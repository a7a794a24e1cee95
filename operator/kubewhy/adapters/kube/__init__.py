"""The Kubernetes API: the only package that uses the `kubernetes` client library.

`config` says where the API server is, `client` sends requests and maps every failure to `kubewhy.errors`, `discovery`
knows the served kinds, `accounts` decides whose rights an Investigation reads with, `reader` reads within them.
"""
