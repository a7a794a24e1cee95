"""Adapters: one module or package for each outside thing; they implement the ports of `kubewhy.core.ports`."""
