"""Laws of whole runs under attack, over all benchmarks, drawn by seeds.

`make attacks SEEDS=60` tries as many seeds; each change has to pass two.
"""
