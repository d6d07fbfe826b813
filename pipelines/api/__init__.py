"""What the Python API is made of: scoring in memory, without Beam, and of files, with it."""
