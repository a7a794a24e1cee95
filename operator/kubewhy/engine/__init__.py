"""The imperative shell around the core: perform what is due, journal it, apply it."""
