"""The composition root: settings, wiring, and the processes that make up kubewhy."""
