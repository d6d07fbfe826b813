"""A worker of a cluster: Beam's own, which imports this before it works, and is ours to its end."""

from ...transforms.beam_internals import shared_clients
from ...transforms.process import one_blas_thread

shared_clients.__enter__()
one_blas_thread.__enter__()
