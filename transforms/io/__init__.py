"""Files on any filesystem: read in parts and in bounded memory, written whole or not at all."""

from transforms.io.s3 import share_clients

share_clients()
