"""How often the intervals and tests hold, measured on generated populations: `make calibrate`."""
