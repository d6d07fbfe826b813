"""The version of the project: the one place for it."""

VERSION = "0.4.0"
