"""Whole commands against servers of object stores on this machine: `make test-stores`."""
