"""Why a runner could not start a job, where that is no defect but something that is missing or misnamed."""

from __future__ import annotations

import re

from ..config.errors import UsageError, one_line

_STARTERS = ("apache_beam.utils.subprocess_server", "apache_beam.runners.portability.")
"""Where Beam looks for a job server, downloads it and starts it."""

_ELSEWHERE = "or start a job server and give --runner PortableRunner --job_endpoint HOST:PORT"
_FIXES = {
    "FlinkRunner": f"give its job server by --flink_job_server_jar FILE, {_ELSEWHERE}",
    "SparkRunner": f"give its job server by --spark_job_server_jar FILE, {_ELSEWHERE}",
    "KafkaStreamsRunner": f"give its job server by --kafka_streams_job_server_jar FILE, {_ELSEWHERE}",
    "PrismRunner": "give its program by --prism_location FILE",
    "PortableRunner": "give --job_endpoint HOST:PORT, where a job server listens",
}
_WORDS = (
    (r"Unable to fetch remote .*? at (\S+): ", "{} cannot be downloaded"),
    (r'Unable to parse \w+ URL "(.*?)"', "there is no file {}"),
    (
        r"Service failed to start up with error (-?\d+)",
        "its job server ended with exit code {}",
    ),
)
_KINDS = (RuntimeError, ValueError, NotImplementedError, OSError)


def start_problem(runner: str, error: BaseException) -> UsageError | None:
    """Returns the problem of a runner that could not be started; None where the error is another one."""
    if not isinstance(error, _KINDS) or runner not in _FIXES or not _last_of_beam(error).startswith(_STARTERS):
        return None
    text, fix = one_line(error), _FIXES[runner]
    if "java" in text.split(".")[0].lower().split("'") or text.startswith("Java "):
        return UsageError(f"--runner {runner}: it needs Java; install a Java runtime, or set JAVA_HOME")
    if isinstance(error, NotImplementedError):
        text = "it needs a job server"
    for pattern, words in _WORDS:
        found = re.match(pattern, text)
        if found:
            text = words.format(found[1])
    return UsageError(f"--runner {runner}: {text.split('. ')[0]}; {fix}")


def _last_of_beam(error: BaseException) -> str:
    """Returns the module of Beam in which an error was raised, or from which what raised it was called."""
    found, frames = "", error.__traceback__
    while frames is not None:
        name = str(frames.tb_frame.f_globals.get("__name__", ""))
        found = name if name.startswith("apache_beam.") else found
        frames = frames.tb_next
    return found
