"""The demonstration programs. `examples/` links to these files, so there is one copy of each."""
