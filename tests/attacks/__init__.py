"""Laws of whole runs under attack, over all benchmarks, drawn by seeds.

`make attacks SEEDS=60` tries as many seeds, .ci/run two; of the damaged corpora `make test` tries one.
"""
