"""beamscore changes nothing in the process of its caller, and its command takes no package of the folder it is in."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import bare_environment

pytestmark = pytest.mark.dist

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "tests" / "corpora" / "traffic_rules"
PROGRAM = Path(sys.executable).with_name("beamscore")
GOOD = '{"sample_id": "a", "text": "good"}\n'

# The state of a process that a user may notice. Third-party libraries are imported before the first snapshot where what
# they do themselves is not the question.
SNAPSHOT = """
import gc, json, locale, logging, multiprocessing, os, signal, socket, sys, tempfile, threading, warnings

def snapshot():
    state = {
        "root handlers": list(map(repr, logging.getLogger().handlers)),
        "levels": [logging.getLogger(name).level for name in ("", "apache_beam.typehints.native_type_compatibility")],
        "disabled logging": logging.root.manager.disable,
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "signals": {str(number): repr(signal.getsignal(number)) for number in signal.valid_signals()},
        "collector": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()],
        "hooks": [repr(sys.excepthook), repr(threading.excepthook), repr(sys.displayhook)],
        "streams": [repr(sys.stdin), repr(sys.stdout), repr(sys.stderr)],
        "start method": multiprocessing.get_start_method(allow_none=True),
        "warnings": [repr(each) for each in warnings.filters],
        "limits": [sys.getrecursionlimit(), sys.getswitchinterval(), socket.getdefaulttimeout()],
        "locale": locale.setlocale(locale.LC_ALL, None),
        "path": list(sys.path),
        "temporary folder": tempfile.gettempdir(),
        "threads": sorted(thread.name for thread in threading.enumerate() if not thread.daemon),
    }
    if "threadpoolctl" in sys.modules:
        info = sys.modules["threadpoolctl"].threadpool_info()
        state["blas"] = sorted((each["filepath"], each["num_threads"]) for each in info)
    if "apache_beam" in sys.modules:
        from apache_beam.io.aws.clients.s3 import boto3_client
        from apache_beam.io.filesystems import FileSystems
        from apache_beam.runners.portability.fn_api_runner import execution, fn_runner
        from apache_beam.transforms import core
        state["beam"] = list(map(repr, [
            boto3_client.Client, core.get_function_args_defaults, execution.GroupingBuffer.partition,
            fn_runner.BundleManager._send_input_to_worker, FileSystems._pipeline_options,
        ]))
    return state

def check(what, before):
    after = snapshot()
    changed = {name: [before[name], after[name]] for name in before if before[name] != after[name]}
    assert not changed, f"{what} changed {changed}"
"""
LIBRARIES = """
import numpy, scipy.optimize, scipy.spatial, pyarrow.parquet, msgspec, rapidfuzz, shapely, PIL.Image, threadpoolctl
import hypothesis, pytest  # of the tests: on Python 3.10 they set a hook of their own
threadpoolctl.threadpool_limits(limits=3, user_api="blas"); gc.set_threshold(701, 11, 12)
"""
BEAM = """
logging.getLogger().addHandler(logging.NullHandler())
import apache_beam, apache_beam.io.aws.s3io, apache_beam.runners.worker.sdk_worker_main
from apache_beam.runners.portability.fn_api_runner import execution, fn_runner
logging.getLogger().handlers.clear()
"""
SIDES = """
from tests.generate.traffic_rules import sample
truths, predictions = map(list, zip(*(sample(number, 1) for number in range(5))))
"""


def run(code: str, tmp_path: Path) -> None:
    code = f"{SNAPSHOT}\nsys.path.insert(1, {str(ROOT)!r})\n{code}"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_records_in_memory_change_nothing_nor_do_files_that_bring_in_beam(tmp_path: Path) -> None:
    """Beam, imported by the first evaluation of files, would give the root logger a handler of its own."""
    (tmp_path / "good.jsonl").write_text(GOOD)
    run(
        f"{LIBRARIES}{SIDES}before = snapshot(); import beamscore; check('import', before)\n"
        "beamscore.score('traffic_rules', truths[0], predictions[0]); check('score', before)\n"
        "for processes in (1, 2):\n"
        "    beamscore.evaluate('traffic_rules', truths, predictions, processes=processes); check('evaluate', before)\n"
        "    with beamscore.Scorer('traffic_rules', processes=processes) as scorer:\n"
        "        scorer.update(truths, predictions); check('update', before)\n"
        "        scorer.compute(); check('compute', before)\n"
        "    check('Scorer', before)\n"
        "assert 'apache_beam' not in sys.modules\n"
        "from tests import toy; toy.register()\n"
        "beamscore.evaluate('toy', 'good.jsonl', 'good.jsonl', replicates=0)\n"
        "assert 'apache_beam' in sys.modules and logging.getLogger().handlers == []\n"
        "logging.basicConfig(level=logging.INFO); assert len(logging.getLogger().handlers) == 1\n"
        # Nor does a program that logs get a line for each type hint of ours.
        "lines = []; logging.getLogger().handlers[0].emit = lambda record: lines.append(record.getMessage())\n"
        "before = snapshot(); beamscore.evaluate('toy', 'good.jsonl', 'good.jsonl'); check('files', before)\n"
        "assert len(lines) < 20, lines\n",
        tmp_path,
    )


def test_files_and_a_transform_change_nothing_more_than_a_pipeline_does(tmp_path: Path) -> None:
    (tmp_path / "good.jsonl").write_text(GOOD)
    (tmp_path / "bad.jsonl").write_text(GOOD.replace("good", "disk is full"))
    run(
        f"{LIBRARIES}{BEAM}{SIDES}before = snapshot(); import beamscore, apache_beam as beam; check('import', before)\n"
        "from tests import toy; toy.register()\n"
        "for processes in (1, 2):\n"
        "    beamscore.evaluate('toy', 'good.jsonl', 'good.jsonl', processes=processes); check('evaluate', before)\n"
        "try:\n"
        "    beamscore.evaluate('toy', 'bad.jsonl', 'bad.jsonl')\n"
        "except OSError:\n    check('a run that fails', before)\n"
        "else:\n    raise AssertionError\n"
        "with beam.Pipeline('FnApiRunner') as pipeline:\n"
        "    pipeline | beam.Create([1])\n"
        "beamscore.Evaluate; before = snapshot()\n"
        "del before['beam']  # a pipeline sets its options\n"
        "with beam.Pipeline('FnApiRunner') as pipeline:\n"
        "    sides = pipeline | 'T' >> beam.Create(truths), pipeline | 'P' >> beam.Create(predictions)\n"
        "    sides | beamscore.Evaluate('traffic_rules', replicates=2, output='out')\n"
        "check('Evaluate', before)\n",
        tmp_path,
    )


@pytest.mark.parametrize(
    ("program", "names", "more"),
    [
        ([PROGRAM], ["metrics", "transforms", "pipelines", "yaml", "numpy"], ["--processes", "2"]),
        # A module that is run takes the packages beside it that are not its own.
        ([sys.executable, "-m", "beamscore.pipelines.commands"], ["metrics", "transforms"], []),
    ],
)
def test_the_command_and_its_workers_import_what_is_installed(
    tmp_path: Path, program: list[str | Path], names: list[str], more: list[str]
) -> None:
    if not PROGRAM.exists():
        pytest.skip("needs the program beamscore beside this Python")
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise ImportError(f'the {__name__} of somebody else')\n")
    inputs = [f"--{side}={CORPUS / side.replace('-', '_')}.jsonl" for side in ("ground-truth", "predictions")]
    flags = ["--output", "out", "--set", "bootstrap.replicates=2", "--quiet", *more]
    command = [*program, "evaluate", "traffic_rules", *inputs, *flags]
    environment = bare_environment(Path(sys.executable))
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
