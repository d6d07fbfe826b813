"""The Python API: scoring of records in memory, without Beam, and of files, with Beam."""
