"""Laws of whole runs under attack, drawn by seeds: `make attacks SEEDS=60`; .ci/run tries two, `make test` one."""
