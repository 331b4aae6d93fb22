"""Several derivatives at once of device arrays: passes and sweeps as one host program of launches."""
