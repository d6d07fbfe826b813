"""A real Flink cluster on this machine: JobManager, TaskManagers, Beam's job server, and workers as processes.

Nothing here is imported by the project. It downloads about 400 MB once, into ~/.cache/beamscore.
"""
