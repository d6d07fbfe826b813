"""`beamscore export`, but for what test_sample_reports.py shows; MLflow and W&B have real stores where installed."""

import json
import posixpath
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any
from unittest.mock import ANY, MagicMock, call

import msgspec
import pytest
from hypothesis import example, given, strategies as st

from beamscore.metrics.registry import benchmark_class, benchmark_names
from beamscore.pipelines.commands.arguments import EXPORTS
from beamscore.pipelines.config.errors import UsageError
from beamscore.pipelines.export.formats import model_index
from beamscore.pipelines.export.trackers import (
    MAX_NAME_LENGTH,
    entry_names,
    log_offline,
    log_run,
    metrics,
    parameters,
    run_name,
    tags,
)
from beamscore.pipelines.export.verdicts import annotation_lines, junit, markdown
from beamscore.pipelines.runs.provenance import seconds
from beamscore.pipelines.runs.run import Run
from beamscore.transforms.records import printable
from tests import toy
from tests.finished_runs import finished, row
from tests.runs import command, evaluate_records, refused, wrong

ROOT = Path(__file__).parents[3]
CORPUS = [toy.sample(index, 0)[0] for index in range(40)]
GATES = """\
benchmark: toy
gates:
  exact_match: {minimum: 0.9, not_worse_than: baseline}
  similarity: {not_worse_than: theirs, tier: advisory}
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two systems, of which `ours` has 30 of 40 wrong, judged against a system of a baseline that has none."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "gates.yaml").write_text(GATES)
    poor = wrong(CORPUS, 30)
    base = evaluate_records(folder / "base", CORPUS, {"poor": poor, "good": CORPUS}, "--quiet")
    more = f"--baseline={base.output}:good", f"--junit={folder}/two.xml", f"--markdown={folder}/two.md", "--quiet"
    sides = {"ours": poor, "theirs": CORPUS}
    assert evaluate_records(folder / "two", CORPUS, sides, *more, config=folder / "gates.yaml").code == 1
    return folder / "two"


def test_a_model_card_leaves_out_a_system_without_a_metric() -> None:
    scored = finished([row("a", 1.0, system="ours"), row("a", None, system="none")])
    assert [each["name"] for each in model_index(scored, None, None, "reading")["model-index"]] == ["ours"]


def test_verdicts_are_those_that_the_run_wrote(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for to, kept in (("junit", run.with_suffix(".xml")), ("github", run.with_suffix(".md"))):
        assert command("export", run, "--to", to, "--output", tmp_path / "deep" / to)[0] == 0
        assert (tmp_path / "deep" / to).read_bytes() == kept.read_bytes()
    for system, method in (("ours", "bootstrap"), ("theirs", "wilson")):  # one is at a bound, with 40 of 40
        record = json.loads(command("export", f"{run}:{system}", "--to", "every-eval-ever")[1])
        assert record["model_info"]["id"] == system
        uncertainty = record["evaluation_results"][0]["score_details"]["uncertainty"]
        methods = [uncertainty[name]["method"] for name in ("confidence_interval", "standard_error")]
        assert (methods, "num_bootstrap_samples" in uncertainty) == ([method] * 2, method == "bootstrap")
    _, of_one, _ = command("export", f"{run}:theirs", "--to", "junit")
    assert [case.get("classname") for case in ET.fromstring(of_one).iter("testcase")] == ["theirs"]
    # The report names the system of the baseline, too.
    _, _, against = (run / "report.md").read_text().partition(f"minus the baseline `{run.with_name('base:good')}`")
    assert re.search(r"^\| metric +\| system +\| baseline +\|", against, re.MULTILINE)
    # What other steps of the job have written stays.
    job = tmp_path / "job.md"
    job.write_text("# Job\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(job))
    _, printed, _ = command("export", run, "--to", "github")
    assert job.read_bytes() == b"# Job\n" + run.with_suffix(".md").read_bytes()
    assert [line.partition(" ")[0] for line in printed.splitlines()] == ["::error", "::warning"]
    # A run narrowed to a system lists what moved it from the others, too.
    command("export", f"{run}:ours", "--to", "github", "--output", tmp_path / "ours.md")
    lists = [path.read_text().partition("\n\nSamples that moved ")[2] for path in (tmp_path / "ours.md", job)]
    assert (lists[0], lists[0].count("that moved"), "| theirs" in lists[0]) == (lists[1], 1, True)
    # Without the baseline nothing tells which samples moved a metric.
    copy = shutil.copytree(run, tmp_path / "copy", ignore=lambda *_: [".runs"])
    found = json.loads((run / "run.json").read_bytes())
    told = "the samples that moved a metric since the baseline are not listed"
    for path, why in (("gone", "gone/summary.json: "), (str(run), f"{run}: another run has replaced the baseline")):
        (copy / "run.json").write_text(json.dumps({**found, "baseline": {"path": path, "run_id": "1"}}))
        code, _, stderr = command("export", copy, "--to", "github")
        assert (code, stderr.startswith(f"beamscore: warning: {told}: {why}")) == (0, True)
    # The verdicts need no sums.
    (copy / "sums.json").unlink()
    assert command("export", copy, "--to", "github")[0] == 0
    assert f"is not known: `{copy}/sums.json: " in job.read_text()


@pytest.mark.parametrize("library", ["mlflow", "wandb"])
def test_without_the_library_the_extra_is_named(library: str, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    assert refused("export", run, "--to", library).endswith(f"; pip install 'beamscore[{library}]'")


def verdict(gate: str, word: str, blocks: bool = True, **more: Any) -> dict[str, Any]:
    known = {"gate": gate, "system": None, "tier": "blocking" if blocks else "advisory", "value": None}
    return {**known, "verdict": word, "blocks": blocks, "reason": "r", **more}


@given(st.text(), st.text())
@example("100%, no: more", "100%25")
def test_text_of_a_run_gives_no_other_workflow_command(title: str, reason: str) -> None:
    """A workflow command is a line: its parts may neither end it nor begin another, and are read as they were."""
    (line,) = annotation_lines(title, [verdict("g", "fail", reason=reason)], ())
    assert line.splitlines() == [line]
    prefix, text = line.removeprefix("::error title=").split("::", 1)
    assert not {":", ","} & set(prefix)
    assert unquote(text) == f"gate g: {printable(reason)}"
    assert unquote(prefix) == printable(title)


def unquote(text: str) -> str:
    """Returns a text as GitHub reads it."""
    return text.replace("%3A", ":").replace("%2C", ",").replace("%25", "%")


def test_what_changes_no_exit_code_is_skipped_comes_last_and_is_a_warning() -> None:
    """It is advisory, or inconclusive where that passes. Whole outputs are among the kept ones."""
    us: Any = {"system": "us", "value": 0.5}
    verdicts = [verdict("a", "pass", False), verdict("b", "fail", False), verdict("c", "inconclusive", **us),
                verdict("d", "invalid", **us), verdict("e", "fail"), verdict("f", "pass")]  # fmt: skip
    (suite,) = ET.fromstring(junit("t", verdicts, ["too many"]))
    assert suite.attrib == {"name": "t", "tests": "7", "failures": "3", "errors": "1", "skipped": "1"}
    assert [(*case.attrib.values(), case[0].tag, case[0].attrib, case[0].text) for case in suite] == [
        ("t", "a", "system-out", {}, "r"),
        ("t", "b", "skipped", {"message": "fail: r"}, None),
        ("us", "c", "failure", {"message": "inconclusive: r", "type": "inconclusive"}, None),
        ("us", "d", "error", {"message": "invalid: r", "type": "invalid"}, None),
        ("t", "e", "failure", {"message": "fail: r", "type": "fail"}, None),
        ("t", "f", "system-out", {}, "r"),
        ("t", "run", "failure", {"message": "too many", "type": "fail"}, None),
    ]
    lines = ["::error title=t::too many", "::error title=t::us: gate c: inconclusive: r"]
    lines[1:1] = ["::error title=t::us: gate d: invalid: r", "::error title=t::gate e: r"]
    assert list(annotation_lines("t", verdicts, ["too many"])) == [*lines, "::warning title=t::gate b: r (advisory)"]
    head, others, table, *moved = markdown("t", verdicts, ["too many"], {2: "gone", 3: ()}).rstrip().split("\n\n")
    assert (head, others) == ("**FAIL** t: 2 of 6 gates pass", "- too many")
    rows = [[cell.strip() for cell in row.split("|")] for row in table.splitlines()[2:]]
    assert [row[3] for row in rows] == [f"`{name}`" for name in "cdefba"]
    assert [row[1] for row in rows[2:]] == ["fail", "pass", "fail (advisory)", "pass"]
    assert moved == ["Which samples moved `c` of us is not known: gone."]
    for word, of in (("PASS", [0, 5]), ("PASS", [1]), ("INCONCLUSIVE", [2]), ("INVALID", [2, 3]), ("FAIL", [2, 3, 4])):
        assert markdown("t", [verdicts[place] for place in of]).startswith(f"**{word}** t: ")


def test_each_target_is_documented() -> None:
    page = (ROOT / "docs" / "how-to" / "export.md").read_text(encoding="utf-8")
    for target, options in EXPORTS.items():
        assert f"- `{target}`: " in page
        assert all(f"--{option.replace('_', '-')}" in page for option in options)


# MLflow and W&B.


@given(st.lists(st.text(min_size=1) | st.text("aA.[]/:= ", min_size=1), unique=True))
@example(["a", "A"])
@example(["a" * 251])
def test_names_are_taken_by_mlflow_and_differ(names: list[str]) -> None:
    """The rules are those of `mlflow.utils.validation`, on Windows, where fewer characters are allowed."""
    found = entry_names(names)
    assert list(found) == names
    assert len({each.casefold() for each in found.values()}) == len(names)
    for name in found.values():
        assert re.fullmatch(r"[/\w.\- ]+", name, re.ASCII)
        assert len(name) <= MAX_NAME_LENGTH
        assert posixpath.normpath(name) == name
        assert not name.startswith((".", "/"))


def test_a_name_says_what_it_stands_for() -> None:
    for benchmark in benchmark_names():
        names = [spec.name for spec in benchmark_class(benchmark).metrics]
        assert entry_names(names) == {name: name.replace("[", ".").replace("]", "") for name in names}
    assert [len(name) for name in entry_names(["x" * 250, "x" * 251]).values()] == [MAX_NAME_LENGTH] * 2
    (name,) = entry_names(["recall[a/b]"]).values()
    assert re.fullmatch(r"recall\.a_b-[0-9a-f]{16}", name)
    assert entry_names(["x" * 250, "recall[a/b]"]) == {"x" * 250: "x" * 250, "recall[a/b]": name}


def test_what_is_logged_of_a_run(run: Path) -> None:
    """Each metric with a value and the ends of its interval, each setting, and what identifies the run."""
    found = Run.read(str(run))
    ours, summary = found.systems["ours"], found.summary
    # A derived metric may be called as the end of an interval.
    values = {**ours.values, "undefined": None, "exact": 1.0, "exact_match.low": 0.7, "f1[pie]": 0.5, "f1[a/b]": 0.5}
    intervals = {**ours.intervals, "undefined": (0.0, 1.0), "exact": None, "f1[pie]": (0, 1), "f1[a/b]": (0, 1)}
    found.systems["ours"] = msgspec.structs.replace(ours, values=values, intervals=intervals)
    ends = {name: interval or (None, None) for name, interval in ours.intervals.items()}
    expected = {f"{name}.{end}": ends[name][place] for name in ends for place, end in enumerate(("low", "high"))}
    for name in ("f1.pie", *entry_names(["f1[a/b]"]).values()):
        expected |= {name: 0.5, f"{name}.low": 0, f"{name}.high": 1}
    assert metrics(found, "ours") == {**ours.values, "exact": 1.0, **expected, "exact_match.low": 0.7}
    identity = {"version": summary.version, "signature": summary.signature, "gates": "1 of 3 gates pass"}
    identity |= {"run": str(run), "run_id": found.run_id, "system": "ours", "benchmark": "toy"}
    identity |= {"ground_truth": json.loads((run / "summary.json").read_bytes())["fingerprint"]["hash"]}
    assert tags(found, "ours") == {f"beamscore.{name}": text for name, text in identity.items()}
    config = {"a": {"b": 1, "c[pie]": {"d": [1, "é"]}}, "none": {}, "text": "é", "long": "x" * 7000}
    found.summary = msgspec.structs.replace(found.summary, config=config, gates=[], fingerprint=None)
    assert parameters(found) == {"a.b": "1", "a.c.pie.d": '[1, "é"]', "none": "{}", "text": "é", "long": "x" * 6000}
    assert tags(found, "ours").keys() == {f"beamscore.{name}" for name in identity.keys() - {"gates", "ground_truth"}}
    found.path = "runs/night/"
    assert run_name(found, "ours") == "night:ours"
    del found.systems["theirs"]
    assert run_name(found, "ours") == "night"


def test_the_requests_to_mlflow(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request has 100 parameters at most; the files have their names in the run; a fault ends the run as failed."""
    found, client, logged = Run.read(str(run)), MagicMock(), dict[str, bytes]()
    found.summary = msgspec.structs.replace(found.summary, config={f"p{number}": number for number in range(150)})
    client.create_run.return_value.info.run_id = "r"
    client.log_artifact.side_effect = lambda _, path, folder: logged.update(
        {posixpath.join(folder or "", Path(path).name): Path(path).read_bytes()}
    )
    pair, factory = (lambda *of: of), MagicMock(return_value=client)
    monkeypatch.setitem(sys.modules, "mlflow", MagicMock(MlflowClient=factory))
    monkeypatch.setitem(sys.modules, "mlflow.entities", MagicMock(Metric=pair, Param=pair))
    monkeypatch.setitem(sys.modules, "mlflow.exceptions", MagicMock(MlflowException=KeyError))
    assert log_run(found, "ours", "store", "nightly") == "r"
    started, ended = (round(1000 * seconds(found.provenance[name])) for name in ("started", "ended"))
    known, numbers = client.get_experiment_by_name.return_value.experiment_id, [(f"p{n}", f"{n}") for n in range(150)]
    values = [(name, value, ended, 0) for name, value in metrics(found, "ours").items()]
    calls = [each for each in client.method_calls if each != call.log_artifact("r", ANY, ANY)]
    assert calls == [
        call.get_experiment_by_name("nightly"),
        call.create_run(known, started, tags(found, "ours"), "two:ours"),
        call.log_batch("r", metrics=values),
        call.log_batch("r", params=numbers[:100]),
        call.log_batch("r", params=numbers[100:]),
        call.set_terminated("r", "FINISHED", ended),
    ]
    assert factory.call_args == call("store")
    names = ["summary.json", "sums.json", *(f"samples/{path.name}" for path in run.glob("samples/*"))]
    assert logged.items() > {name: (run / name).read_bytes() for name in names}.items()
    client.get_experiment_by_name.return_value = None
    client.log_batch.side_effect = KeyError("no more")
    found.provenance = {}
    with pytest.raises(UsageError, match="--to mlflow: 'no more'"):
        log_run(found, "ours", None, None)
    assert client.method_calls[-5:] == [
        call.get_experiment_by_name("toy"),
        call.create_experiment("toy"),
        call.create_run(client.create_experiment.return_value, None, tags(found, "ours"), "two:ours"),
        call.log_batch("r", metrics=[(*each[:2], 0, 0) for each in values]),
        call.set_terminated("r", "FAILED"),
    ]


def test_what_is_written_for_wandb(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, wandb = Run.read(str(run)), MagicMock(Error=KeyError)
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    wandb.init.return_value.settings.sync_dir = Path("there")
    asked = {"name": "two:ours", "config": parameters(found) | tags(found, "ours"), "settings": ANY}
    for project in (None, "mine"):
        assert log_offline(found, "ours", "out", project) == "there"
        assert wandb.init.call_args == call(mode="offline", dir="out", project=project or "toy", **asked)
    assert wandb.init.return_value.method_calls[-2:] == [call.summary.update(metrics(found, "ours")), call.finish()]
    wandb.init.side_effect = KeyError("no")
    with pytest.raises(UsageError, match="--to wandb: 'no'"):
        log_offline(found, "ours", "out", None)


@pytest.mark.filterwarnings("ignore")
def test_a_run_is_logged_to_a_store_of_mlflow(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client_of = pytest.importorskip("mlflow").MlflowClient
    store, found = f"sqlite:///{tmp_path / 'mlflow.db'}", Run.read(str(run))
    client = client_of(store)
    experiment = client.create_experiment("nightly", artifact_location=(tmp_path / "artifacts").as_uri())
    more = "--tracking-uri", store, "--experiment", "nightly"
    code, stdout, stderr = command("export", run, "--to", "mlflow", *more)
    assert (code, stdout.count("logged as the run ")) == (0, 2), stderr
    logged = {each.info.run_name: each for each in client.search_runs([experiment])}
    for system in ("ours", "theirs"):
        each = logged[f"two:{system}"]
        assert (each.data.metrics, each.data.params) == (metrics(found, system), parameters(found))
        assert each.data.tags.items() >= tags(found, system).items()
        assert each.info.status == "FINISHED"
        assert {file.path for file in client.list_artifacts(each.info.run_id)} >= {"summary.json", "samples"}
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    line = refused("export", run, "--to", "mlflow", "--tracking-uri", "http://127.0.0.1:9")
    assert line.startswith("--to mlflow: ")


@pytest.mark.filterwarnings("ignore")
def test_a_run_is_written_offline_for_wandb(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    assert refused("export", run, "--to", "wandb", "--output", run.with_suffix(".xml")).startswith("--output ")
    monkeypatch.setenv("WANDB_MODE", "disabled")  # what --to wandb asks for counts
    code, stdout, stderr = command("export", run, "--to", "wandb", "--output", tmp_path / "out")
    assert (code, stderr, stdout.count("wandb sync sends it")) == (0, "", 2)
    for system, line in zip(("ours", "theirs"), stdout.splitlines(), strict=True):
        folder = line.removeprefix(f"{run}:{system}: written to ").removesuffix("; wandb sync sends it")
        (written,) = Path(folder).glob("run-*.wandb")
        content, found = written.read_bytes(), Run.read(str(run))
        values = found.systems[system].values
        texts = [*values, *map(json.dumps, values.values()), found.summary.signature, "exact_match.low"]
        assert all(text.encode() in content for text in [*texts, f"two:{system}", "bootstrap.replicates"])
