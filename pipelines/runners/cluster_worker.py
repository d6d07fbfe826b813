"""Setup of a worker of a cluster: Beam's worker imports this at its start; the setup lasts until the worker ends."""

from ...transforms.beam_internals import shared_clients
from ...transforms.process import one_blas_thread

shared_clients.__enter__()
one_blas_thread.__enter__()
