"""Zstandard: of Python itself from 3.14 on, of its backport before."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import ZstdDecompressor, ZstdError, ZstdFile, compress, decompress
else:
    from backports.zstd import ZstdDecompressor, ZstdError, ZstdFile, compress, decompress

__all__ = ["ZstdDecompressor", "ZstdError", "ZstdFile", "compress", "decompress"]
