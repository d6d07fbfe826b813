"""Files on any filesystem: read in parts and in bounded memory, written whole or not at all."""
