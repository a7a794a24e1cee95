"""Pure functions that make facts of a Snapshot, one module per family of facts."""
