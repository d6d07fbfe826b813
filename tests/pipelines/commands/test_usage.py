"""Wrong usage of any command: one line that says how to mend it, and nothing is written."""

import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests import toy
from tests.runs import evaluate, refused, write_lines

RECORDS: list[Any] = [{**toy.sample(index, 0)[0], "page": 1} for index in range(6)]
SHARD = "t-00000-of-00003.jsonl"
SHORT = {
    "EVALUATE": "evaluate toy --ground-truth t.jsonl --predictions p.jsonl --output out",
    "DETACHED": "evaluate toy --ground-truth t.jsonl --predictions p.jsonl --output out --runner=FlinkRunner "
    "--no_wait_until_finish",
    "GATE": "gate night --config gates.yaml",
    "SPLIT": f"split toy --ground-truth {SHARD} --output o.jsonl",
    "DRAW": "draw figure_text --ground-truth t.jsonl --predictions t.jsonl",
}
LONG = f"{'o' * 240}.jsonl"
NO_BASELINE = "gates.exact_match.not_worse_than: found baseline, but there is none; give --baseline RUN, or a file "
NO_BASELINE += "such as blessed.txt that names one"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Inputs, a run of two systems without gates, a run of one system, and much that is neither."""
    folder = tmp_path_factory.mktemp("usage")
    for name in ("t.jsonl", SHARD):
        write_lines(folder / name, RECORDS)
    write_lines(folder / "p.jsonl", RECORDS[1:])
    texts = {
        "a.json": "{}",
        "a.png": "{}",
        "list.jsonl": '{"id": "a"}\n',
        "list.parquet": "PAR1",
        "none.jsonl": "",
        "empty.txt": "# nothing yet\n",
        "bad.yaml": "benchmark: toy\nmising: wrong\n",
        "chart.yaml": "benchmark: chart\ngates: {task1.macro_f1: {minimum: 0.5}}\n",
        "gates.yaml": "benchmark: toy\ngates: {exact_match: {not_worse_than: baseline, margin: 0.05}}\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    for name in ("folder.jsonl", "bare", "x", "x=1", "[1]"):
        (folder / name).mkdir()
    write_lines(folder / "x=1" / "p.jsonl", RECORDS[1:])
    truths, predictions = folder / "t.jsonl", folder / "p.jsonl"
    assert evaluate(folder / "run", truths, {"good": truths, "poor": predictions}, "--quiet", "--no-html").code == 0
    assert evaluate(folder / "night", truths, predictions, "--quiet", "--no-html").code == 0
    shutil.copy(folder / "run" / "summary.json", folder / "bare")
    return folder


USAGE = {
    "": "the following arguments are required: COMMAND; see beamscore --help",
    "evalute": "evalute: there is no such command (did you mean evaluate?); see beamscore --help",
    "evaluate": "the following arguments are required: CONFIG; give it first, as --ground-truth",
    "evaluate toy": "ground_truth: missing; give --ground-truth GLOB, or ground_truth in the config",
    "evaluate toy --ground-truth t.jsonl": "predictions: missing; give --predictions [NAME=]GLOB, or ",
    "evaluate toy --ground-truth t.jsonl --predictions p.jsonl": "output: missing; give --output DIR, or ",
    "evaluate bad.yaml": "bad.yaml: mising: unknown key (did you mean missing?); allowed for toy: ",
    "evaluate my_metric.py": "the benchmark my_metric.py: give its class too, as my_metric.py:CLASS",
    "benchmarks tox": "there is no benchmark tox (did you mean toy?); there are ",
    "EVALUATE --slices a": "--slices: neither beamscore nor Beam knows this option (did you mean --slice?)",
    "GATE --baselines x": "--baselines: neither beamscore nor Beam knows this option (did you mean --baseline?)",
    "EVALUATE --runer x": "--runer: neither beamscore nor Beam knows this option (did you mean --runner?)",
    "EVALUATE --direct_num_worker=2": "--direct_num_worker=2: neither beamscore nor Beam knows this option (did you "
    "mean --direct_num_workers?)",
    "EVALUATE --direct_num_workers=many": "--direct_num_workers=many: argument --direct_num_workers",
    "EVALUATE stray": "stray: no option takes this argument; quote patterns",
    "EVALUATE --predictions ours=gone.jsonl": "--predictions ours=gone.jsonl: no file matches; check the path and "
    "quote the pattern in the shell\n",
    "EVALUATE --predictions x=1/p.jsonl": "--predictions x=1/p.jsonl: no file matches; check the path and quote the "
    "pattern in the shell; if x=1/p.jsonl is the path, give ./x=1/p.jsonl",
    "EVALUATE --predictions 'my model=p.jsonl'": "--predictions my model=p.jsonl: no file matches; check the path and "
    "quote the pattern in the shell; the name of a system has only letters, digits and the characters _ . -",
    "EVALUATE --predictions bad.yaml": "--predictions bad.yaml: the format is unknown; the name must end with .jsonl, ",
    "EVALUATE --ground-truth .": "--ground-truth .",
    "EVALUATE --runner=NoSuch": "--runner NoSuch: Beam has no such runner; there are ",
    "EVALUATE --runner=FlinkRuner": "--runner FlinkRuner: Beam has no such runner (did you mean FlinkRunner?); ",
    "EVALUATE --runner=no.such.Runner": "--runner no.such.Runner: ",
    "EVALUATE --environment_type=EXTERNAL": "--runner DirectRunner: Pipeline has validations errors: ",
    "EVALUATE --output t.jsonl": "--output t.jsonl: cannot be written: ",
    "EVALUATE --output /proc/out": "--output /proc/out: cannot be written: ",
    "DETACHED --resume": "--resume: not for a job that continues without this command",
    "DETACHED --junit j.xml --set gates.exact_match.minimum=0": "--junit j.xml: the job continues without this command",
    # Gates that could not be judged are refused before the run.
    "EVALUATE --junit j.xml": "--junit j.xml: there are no verdicts to write; the configuration has no gates",
    "EVALUATE --reuse x": "x/summary.json: no finished run is here",
    "EVALUATE --baseline out": "--baseline out/summary.json: no finished run is here",
    "EVALUATE --set 'gates.exact_match @ page=1.minimum=0'": "gates.exact_match @ page=1: the run does not slice by",
    "EVALUATE --set 'gates.exact_match={minimum: 0, system: x}'": "gates.exact_match.system: ",
    "EVALUATE --check --set 'gates.exact_match @ page=1.minimum=0'": "gates.exact_match @ page=1: the run does not",
    "EVALUATE --check --set 'gates.exact_match={minimum: 0, system: x}'": "gates.exact_match.system: ",
    "evaluate gates.yaml --ground-truth t.jsonl --predictions p.jsonl --output out": NO_BASELINE,
    "gate x": "x/summary.json: no finished run is here (no such file); give the --output",
    "gate night": "night: no gates are defined",
    "gate night --config chart.yaml": "chart.yaml: night is a run of toy, not of chart",
    "GATE --set protocol=released": 'gates.yaml: night used protocol: "published" instead of "released"',
    "GATE --junit j.xml": NO_BASELINE,
    "GATE --junit ''": "argument --junit: the value is empty; is a variable of the shell unset?; see ",
    "GATE --baseline night": "--baseline night: the baseline is the run itself",
    "GATE --baseline run:new": "--baseline run:new: the run has no system new; it has good, poor",
    "GATE --baseline empty.txt": "--baseline empty.txt: it names no run",
    "GATE --baseline gone.txt": "--baseline gone.txt: cannot be read: ",
    "GATE --baseline run:poor --quiet --junit /proc/none/j.xml": "--junit /proc/none/j.xml: ",
    "history x": "x: no finished runs in this folder; pass the parent of the --output folders",
    "history gone": "gone",
    "compare run:good run:poor --runner=FlinkRunner": "give --output DIR: the workers of this runner share no folder",
    "select run --output o.jsonl --value f1": "--value f1: no such metric; there are exact_match, similarity",
    "select run:best --output o.jsonl": "run:best: not in this run; there are good, poor",
    "select run --output o.jsonl --below nan": "run: no sample of good has similarity below nan; nothing is written",
    "select bare --output o.jsonl": "bare: the rows of the run are missing: ",
    "select run --output o.jsonl --samples gone.jsonl": "--samples gone.jsonl: no file matches",
    "select run --output o.jsonl --samples list.jsonl": "--samples list.jsonl:1: this is no list of samples: "
    "sample_id must be ",
    "select run --output o.jsonl --samples list.parquet": "--samples list.parquet: cannot be read as parquet: Parquet "
    "file size is 4 bytes",
    "SPLIT --fractions a=0.5,b=0.4": "--fractions a=0.5,b=0.4: must be at least 0 and add up to 1",
    "SPLIT --fractions a=0.5,a=0.5": "--fractions a=0.5,a=0.5: each part needs a name of its own",
    "SPLIT --fractions a": "--fractions a: Invalid literal for Fraction: ''; give NAME=X,...",
    "SPLIT --fractions a=1/0": "--fractions a=1/0: division by zero; give ",
    "SPLIT --folds 0": "argument --folds: must be a whole number of at least 1",
    "SPLIT --column sample_id": "--column sample_id: the split needs a column of its own",
    "SPLIT --column page --group page": "--column page: the split needs a column of its own",
    "SPLIT --column text": f"{SHARD}:1: there is a column text already; give another name with --column",
    "SPLIT --group pages": "--group pages: no record has such a column (did you mean page?)",
    f"SPLIT --output {LONG}": f"--output {LONG}: cannot be written: [Errno 36] File name too long: ",
    # An input is never replaced.
    f"SPLIT --output ./x/../{SHARD}": f"--output ./x/../{SHARD}: it would replace the input {SHARD}; give another",
    "draw toy --ground-truth t --predictions p --sample a --output o.svg": "draw does not support the benchmark toy, "
    "only chart, chemistry, figure_text, ",
    "DRAW --samples none.jsonl --output many": "there is no sample to draw",
    "DRAW --samples a.png --output many": "--samples a.png: ",
    "DRAW --sample b a --output o.svg": "--output o.svg: several samples are drawn; give the folder for their pictures",
    "DRAW --sample a --output t.jsonl": "--output t.jsonl: must end with .svg",
    "convert toy --input x --output o.jsonl": "convert does not support the benchmark toy, only chart",
    "convert chart": "give --input [ROLE=]GLOB and --output FILE; `--input roles` lists the roles",
    "convert chart --input a.json": "give --input [ROLE=]GLOB and --output FILE",
    "convert chart --input pictures=a.png --output o.jsonl": "--input pictures=a.png: there is no role pictures; ",
    "convert chart --input images=a.png --output o.jsonl": "--input: images alone make no records; give json=GLOB too",
    "convert chart --input ./x=1 --output o": "--input ./x=1: a folder; give a pattern of files, such as './x=1/*'",
    "convert traffic_rules --input [1] --output o": "--input [1]: a folder; give a pattern of files, such "
    "as '[[]1]/**/label.json'",
    "convert chart --input no*.json --output o.jsonl": "--input json=no*.json: no file matches; ",
    "convert chart --input x/day=1/*.json --output o.jsonl": "--input json=x/day=1/*.json: no file matches; ",
    "convert chart --input a.json --output .parquet": "--output .parquet: must end with .jsonl, ",
    "convert chart --input a.json --output folder.jsonl": "--output folder.jsonl: this is a folder; ",
    "export run --to junit --task a --model b --experiment c --dataset d": "--dataset: has no effect on --to junit",
    "export run --to mlflow --output x": "--output: has no effect on --to mlflow",
    "export run --to wandb --output x://y": "--output x://y: --to wandb writes to a folder on a disk",
    "export run --to every-eval-ever --relationship friend": "--relationship friend: must be one of first_party, ",
    "export run --to junit": "run: there are no verdicts to export; the configuration of the run has no gates",
    "export run --to every-eval-ever": "run: it holds 2 systems; give one of ",
    "export run --to model-index --model a/b": "run: it holds 2 systems; give one of run:good, run:poor",
    "export run:nobody --to model-index": "run:nobody: there is no such system in this run; there are good, poor",
}


def state(folder: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("line", USAGE)
def test_wrong_usage_is_one_line_and_writes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.chdir(folder)
    before = state(folder)
    name, _, more = line.partition(" ")
    said = refused(*shlex.split(f"{SHORT.get(name, name)} {more}"))
    assert f"{said}\n".startswith(USAGE[line])
    assert state(folder) == before
    assert not [*folder.glob("o.*"), *folder.glob("many"), *folder.glob("out/*")]
