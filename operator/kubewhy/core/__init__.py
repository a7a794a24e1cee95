"""The functional core: events in, state and due effects out. No clock, no randomness, no I/O."""
