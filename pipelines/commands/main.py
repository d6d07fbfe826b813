"""The command `beamscore`: parses the command line, imports the command, runs it, and reports errors.

Importing Beam takes a second, SciPy half of one: neither is imported before the command line and the configuration are
known to be valid.
"""

from __future__ import annotations

import argparse
import atexit
import errno
import gc
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

from ...metrics.common.text import nearest
from ...transforms.process import quiet_root_logger
from ..config.errors import UsageError, as_usage_error, unknown_option
from .arguments import COMMANDS, beam_flags, configuration_of, flags_of, parser
from .messages import CRASHED, DONE, INTERRUPTED, WRONG_USAGE, say, show_log, signals, stop_output

RUN_NO_PIPELINE = ("benchmarks", "bless", "gate", "history")
"""Commands that need Beam only for paths that are not on a local disk."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code.

    0 done; 1 a gate failed; 2 wrong usage or input; 3 a defect; 4 a gate is inconclusive; 130 interrupted, by Ctrl-C
    or SIGTERM.
    """
    # Otherwise Python collects garbage among all objects of the libraries at exit, for half a second.
    atexit.register(gc.freeze)
    # The parent process may have closed them.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    with signals() as interrupted:
        try:
            return _run(list(sys.argv[1:] if arguments is None else arguments))
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - each is reported, with its own exit code
            return _failed(error, interrupted.is_set())


def _run(arguments: list[str]) -> int:
    # Needed before the rest of the command line is parsed.
    show_log("--verbose" in arguments)
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        hint = nearest(arguments[0], COMMANDS)
        raise UsageError(f"{arguments[0]}: there is no such command{hint}; see beamscore --help")
    parsed, rest = parser().parse_known_args(arguments)
    if rest and not rest[0].startswith("-"):
        raise UsageError(
            f"{rest[0]}: no option takes this argument; quote patterns so that the shell does not expand them"
        )
    takes_config = hasattr(parsed, "configuration") and "://" not in parsed.config
    # A command with such a file first removes that of an earlier run, even if it fails.
    configured = takes_config and not any(getattr(parsed, name, None) for name in ("junit", "markdown"))
    if configured:
        configuration_of(parsed)
    # Where Beam is imported, as by a benchmark that may declare options of Beam, nothing would be told sooner.
    if "apache_beam" not in sys.modules:
        _check_flags(rest, flags_of(parsed.command))
        if configured:
            _check_complete(parsed)
    parsed.command_line = ["beamscore", *arguments]
    if rest or parsed.command not in RUN_NO_PIPELINE or any("://" in each for each in arguments):
        return _with_beam(parsed, rest, arguments)
    with quiet_root_logger:
        return _function(parsed.command)(parsed, None)


def _check_flags(rest: Sequence[str], ours: Sequence[str]) -> None:
    """Raises UsageError if Beam has no such option; what follows one may be its value, which Beam checks."""
    known = beam_flags() if rest else []
    for before, each in pairwise(["", *rest]):
        if each.startswith("--") and each.partition("=")[0] not in known and before not in known:
            raise unknown_option(each, ours, known)


def _check_complete(parsed: argparse.Namespace) -> None:
    """Raises UsageError if an input or the output is missing; an option that is misspelled was told before."""
    configuration = configuration_of(parsed)
    configuration.check_sides("predictions" in parsed)
    if parsed.command == "evaluate" and not parsed.check:
        configuration.output()


def _with_beam(parsed: argparse.Namespace, rest: Sequence[str], arguments: Sequence[str]) -> int:
    """Runs a command that needs Beam; rest: the arguments that are options of Beam."""
    from apache_beam.io.filesystems import FileSystems

    from ...transforms.io.storage import new_run_id
    from ..runners import launch
    from ..runners.lifetime import own_temporary_folder
    from ..runners.reachable import check_reachable

    run = _function(parsed.command)
    with launch.run_in_this_process(), own_temporary_folder():
        options = launch.beam_options(rest, flags_of(parsed.command))
        launch.quiet_workers(options, parsed.verbose)
        FileSystems.set_options(options)
        check_reachable(each for each in arguments if each not in rest)
        launch.name_job(options, parsed.command, new_run_id())
        return run(parsed, options)


def _function(command: str) -> Callable[[argparse.Namespace, Any], int]:
    """Returns the function of a command: `run` of the module of its name, or `bless` of that of the history."""
    module, name = ("history", "bless") if command == "bless" else (command, "run")
    function: Callable[[argparse.Namespace, Any], int] = getattr(import_module(f".{module}", __package__), name)
    return function


def _failed(error: BaseException, is_interrupted: bool) -> int:
    """Reports the error that ended the command, and returns the exit code."""
    if is_interrupted or isinstance(error, KeyboardInterrupt):
        say("interrupted")
        return INTERRUPTED
    if problem := as_usage_error(error):
        say(str(problem))
        return WRONG_USAGE
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        say(f"{error}: a disk is full, or standard output goes to one; make room and run again")
        return WRONG_USAGE
    if isinstance(error, BrokenPipeError):
        # Python must not fail on it again at exit.
        stop_output()
        return DONE
    # A defect is shown with its traceback, and has a different exit code from wrong usage.
    traceback.print_exception(error)
    return CRASHED
