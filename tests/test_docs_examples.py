"""The docs and configs/: all that they show is read, true and valid, and their commands can be followed."""

import contextlib
import doctest
import importlib.metadata
import json
import os
import re
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import kubernetes_validate
import msgspec
import pytest
import yaml
from markdown_it import MarkdownIt
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from beamscore.metrics.benchmark import SampleScore
from beamscore.metrics.registry import benchmark_class, benchmark_names
from beamscore.metrics.version import VERSION
from beamscore.pipelines.commands import arguments, messages
from beamscore.pipelines.config import settings
from beamscore.pipelines.config.gates import GATE_KEYS, gate_target
from beamscore.pipelines.runners import launch
from beamscore.pipelines.runs.documents import Summary, SystemSummary
from beamscore.transforms.io.field_map import MAX_SAMPLE_ID_LENGTH
from beamscore.transforms.io.files import name_format
from beamscore.transforms.io.readers import MAX_ARRAYS
from beamscore.transforms.records import Quarantined
from beamscore.transforms.rows import sample_schema
from tests.flink.cluster import NETWORK_MIB, OFF_HEAP_MIB, SHUFFLE_BUFFERS
from tests.pipelines.runners.test_dataflow_template import PARAMETERS
from tests.plain_loop import make_benchmark
from tests.runs import command, evaluate, without_progress, write_lines
from tests.test_layers import CODE

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DATAFLOW, FLINK, NIGHTLY = (DOCS / "how-to" / f"{name}.md" for name in ("dataflow", "flink", "nightly"))
CONFIGS = ROOT / "configs"
LINKED = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
BENCHMARKS = DOCS / "explanation" / "benchmarks"
WITH_EXAMPLES = [path for path in sorted(CODE) if ">>> " in path.read_text(encoding="utf-8")]


def blocks(path: Path) -> Iterator[str]:
    for token in MarkdownIt().parse(path.read_text(encoding="utf-8")):
        if token.type in ("fence", "code_block"):
            yield token.content


def keys_within(value: Any, path: str = "") -> set[str]:
    """Returns the paths of all keys within a value that hold something."""
    if isinstance(value, (list, tuple)):
        return {key for each in value for key in keys_within(each, path)}
    held = {f"{path}.{key}": each for key, each in value.items() if each is not None} if isinstance(value, dict) else {}
    return {*held, *(key for name, each in held.items() for key in keys_within(each, name))}


@pytest.mark.parametrize("page", sorted(path.stem for path in BENCHMARKS.glob("*.md")))
def test_the_records_of_a_benchmark_are_read_to_the_last_key_and_can_be_scored(page: str) -> None:
    benchmark = make_benchmark("formula" if page == "formula_documents" else page)
    texts = (text for block in blocks(BENCHMARKS / f"{page}.md") for text in re.split(r'(?=\{"sample_id")', block)[1:])
    shown = [json.JSONDecoder().raw_decode(text)[0] for text in texts]
    assert shown
    for record in shown:
        read = []
        for kind in (benchmark.truth_type, benchmark.prediction_type):
            with contextlib.suppress(msgspec.ValidationError):
                read.append(keys_within(msgspec.to_builtins(msgspec.convert(record, kind))))
        given = keys_within(record) - {".sample_id", ".source"}
        assert any(given <= each for each in read), (given, read)
    if not page.startswith("formula"):
        assert isinstance(benchmark.score_sample(msgspec.convert(shown[0], benchmark.truth_type), None), SampleScore)


def test_configurations_are_accepted(tmp_path: Path) -> None:
    shown = [block for path in DOCS.rglob("*.md") for block in blocks(path) if re.match(r"benchmark: \w+\n", block)]
    assert len(shown) > 3
    for block in shown:
        (tmp_path / "c.yaml").write_text(block)
        configuration = settings.load(str(tmp_path / "c.yaml"), [], {})
        assert all(gate_target(key, type(configuration.benchmark)) for key in configuration.settings.gates)


@pytest.mark.parametrize("path", [str(path.relative_to(ROOT)) for path in WITH_EXAMPLES])
def test_the_examples_of_docstrings_hold(path: str) -> None:
    module = importlib.import_module(f"beamscore.{path.removesuffix('.py').replace('/', '.')}")
    assert doctest.testmod(module).failed == 0


def test_the_examples_of_the_page_of_the_python_api_hold() -> None:
    failed, attempted = doctest.testfile(str(DOCS / "how-to" / "python.md"), module_relative=False)
    assert (failed, attempted > 15) == (0, True)


@cache
def anchors(page: Path) -> frozenset[str]:
    """Returns the anchors that GitHub gives the headings of a page."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    headings = [text.content for token, text in pairwise(tokens) if token.type == "heading_open"]
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


def test_links_lead_somewhere_and_from_the_readme_to_every_page() -> None:
    """Links and pictures, but for those that leave the repository."""
    reached: dict[Path, set[Path]] = {}
    for page in LINKED:
        parsed = MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))
        for token in (token for block in parsed for token in block.children or ()):
            link = str(token.attrGet("href") or token.attrGet("src") or "")
            if link and not re.match(r"[a-z]+:", link):
                path, _, anchor = link.partition("#")
                target = (page.parent / path).resolve() if path else page
                assert target.exists(), (page, link)
                assert not anchor or anchor in anchors(target), (page, link)
                reached.setdefault(page, set()).add(target)
    found, new = set(), {ROOT / "README.md"}
    while new:
        found |= new
        new = set().union(*(reached.get(page, ()) for page in new)) - found
    assert set(LINKED) - {ROOT / "CONTRIBUTING.md"} <= found


def test_files_that_are_named_exist() -> None:
    """Pages and pictures in the code, and files of configs/ in pages but for those in somebody's bucket."""
    folders = ("metrics", "transforms", "pipelines", "configs", "tests")
    found = (path for name in folders for path in (ROOT / name).rglob("*"))
    code = [path for path in found if path.suffix in (".py", ".yaml", ".jinja")]
    named = r"\bdocs/[\w/-]+\.(?:md|png)", r"(?<!\$BUCKET/)(?<!-bucket/)\bconfigs/(?!NAME)[\w/]+\.\w+"
    for sources, pattern in zip(([*code, ROOT / "__init__.py", ROOT / "Makefile"], LINKED), named, strict=True):
        for source in sources:
            for path in re.findall(pattern, source.read_text(encoding="utf-8")):
                assert (ROOT / path).exists(), f"{source.relative_to(ROOT)}: {path}"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty checkout but for configurations and corpora."""
    for name in ("configs", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "out" / "tutorial").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)


def follow(block: str) -> tuple[list[str], list[str]]:
    """Runs the lines of a block; returns what each has printed, and the lines of standard error of all."""
    outputs, errors = [], []
    for line in filter(None, map(str.strip, block.replace("\\\n", " ").split("\n"))):
        if line.startswith("beamscore "):
            code, stdout, stderr = command(*shlex.split(line, comments=True)[1:])
            assert code == (1 if line.endswith("# exits with code 1") else 0), stderr
            assert "Traceback" not in stderr
            errors += without_progress(stderr).splitlines()
        else:
            stdout = subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout
        outputs.append(stdout)
    return outputs, errors


@pytest.mark.usefixtures("checkout")
def test_the_readme_has_the_benchmarks_of_the_registry_and_its_example_prints_what_is_shown() -> None:
    named = [(name, benchmark_class(name).summary) for name in benchmark_names() if name != "toy"]
    rows = [f"| [{name}](docs/explanation/benchmarks/{name}.md) | {summary} |" for name, summary in named]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "\n".join(["| benchmark | what is scored |", "|---|---|", *rows, "", ""]) in readme
    (block,) = [each for each in blocks(ROOT / "README.md") if "$ beamscore " in each]
    typed, box, shown = block.partition("\u250f")
    assert follow(typed.partition("activate\n$ ")[2]) == ([box + shown], [])


@pytest.mark.usefixtures("checkout")
def test_the_examples_of_the_commands_work_in_their_order() -> None:
    lines = [line for block in blocks(DOCS / "reference" / "commands.md") for line in block.splitlines(keepends=True)]
    text = "".join(line for line in lines if "--print-completion" not in line)
    names = set(re.findall(r"^beamscore (\w+)", text, re.MULTILINE))
    assert names == {"convert", "split", "evaluate", "select", "draw"}
    assert follow(text)[1] == []


@pytest.mark.usefixtures("checkout")
def test_every_command_of_the_tutorial_does_what_it_says() -> None:
    outputs = []
    for block in blocks(DOCS / "tutorial" / "tutorial.md"):
        if block.startswith("benchmark:"):
            Path("out/tutorial/gated.yaml").write_text(block)
        elif block.startswith("python -c"):
            script, end, rest = block.partition("truth.jsonl\n")
            subprocess.run(f"{script}{end}", shell=True, check=True)
            outputs += follow(rest)[0]
        elif not block.startswith("python3 -m venv"):
            outputs += follow(block)[0]
    assert "59 of 60 samples scored, 1 without a prediction" in outputs[0]
    assert "size=large" in Path("out/tutorial/sliced/report.md").read_text()
    verdicts = [Path(f"out/tutorial/nights/{night}/report.md").read_text() for night in "12"]
    assert ["2 of 2 gates pass" in verdicts[0], "1 fail, 1 inconclusive" in verdicts[1]] == [True, True]


@pytest.mark.usefixtures("checkout")
def test_three_nights() -> None:
    _, heading, rest = NIGHTLY.read_text(encoding="utf-8").partition("## Three nights\n")
    Path("page.md").write_text(section := heading + rest.partition("\n## ")[0])
    configuration, *others = blocks(Path("page.md"))
    Path("out/nightly.yaml").write_text(configuration)
    errors = follow("".join(others))[1]
    assert sum("# exits with code 1" in line for each in others for line in each.splitlines()) == 1
    # What the page says that is printed is printed.
    (quoted,) = re.findall(r"^> (beamscore: .*) \.\.\.$", section, re.MULTILINE)
    assert any(line.startswith(quoted) for line in errors)
    tonight = Path("out/tonight.md").read_text()
    assert tonight.startswith("**FAIL** ")
    assert "Samples that moved `overall.f1` of tonight most, losses first:" in tonight
    assert ET.parse("out/junit.xml").getroot().find(".//failure") is not None
    history = Path("out/scores/history.md").read_text()
    assert history.startswith("# traffic_rules: 3 runs")
    assert all(text in history for text in ("**worse**", "2026-01-03", "## Against the baseline"))


def page(name: str) -> str:
    return (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8")


def table(name: str, first: str) -> list[list[str]]:
    """Returns the rows of the table of a page whose first heading is `first`."""
    text = page(name).partition(f"| {first} |")[2].partition("\n\n")[0]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in text.split("\n")[2:]]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Returns the values within nested mappings by their keys, with dots for groups."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) and value else {prefix + name: value}
    return found


def test_pages_list_what_there_is() -> None:
    keys, gates = page("configuration"), NIGHTLY.read_text(encoding="utf-8").partition("## Gates\n")[2]
    listed: dict[str, Any] = {
        "commands": dict(re.findall(r"^- \[?`(\w+)`[^:]*: (.*)$", page("commands"), re.MULTILINE)),
        "exit codes": list(dict.fromkeys(int(row[0]) for row in table("outputs", "code"))),
        "columns of samples": {name for cell, _ in table("outputs", "column") for name in code(cell) or ["METRIC"]},
        "keys of gates": {name for cell in re.findall(r"^\| (`.*?) \|", gates, re.MULTILINE) for name in code(cell)},
        "keys and their defaults": {
            key: yaml.safe_load(default)
            for key, default in re.findall(r"`([\w.]+)`\s+\(`([^`]+)`\)", keys.partition("\n## ")[0])
        },
        # A limit of several inputs is a number in the first row.
        "limits": {code(option)[0]: limit for _, limit, option in reversed(table("inputs", "what"))},
    }
    expected = flat(msgspec.to_builtins(settings.Settings(benchmark="toy")))
    assert expected.pop("benchmark") == "toy"
    assert "\n- `benchmark`: " in keys
    limits = {key: f"{default:,}" for key, default in expected.items() if key.startswith("limits.")}
    known = settings.LimitSettings()
    limits |= {"limits.record_bytes": f"{known.record_bytes >> 20} MiB", "limits.depth": f"{known.depth} levels"}
    limits["max_steps"] = "that of the benchmark"
    assert listed == {
        "commands": {name: text for name, (text, _) in arguments.COMMANDS.items()},
        "exit codes": [
            *(messages.DONE, messages.FAILED, messages.WRONG_USAGE, messages.CRASHED),
            *(messages.INCONCLUSIVE, messages.INTERRUPTED),
        ],
        "columns of samples": set(sample_schema(["METRIC"], ["NAME"]).names),
        "keys of gates": set(GATE_KEYS),
        "keys and their defaults": expected,
        "limits": limits,
    }
    assert f"a JSON record with more than {MAX_ARRAYS:,} `[`" in page("inputs")
    assert f"a string of 1 to {MAX_SAMPLE_ID_LENGTH:,} characters" in page("inputs")
    endings = [ending for _, names, _ in table("inputs", "format") for ending in code(names) if ending.startswith(".")]
    for ending in endings:
        assert name_format(f"x.jsonl{ending}" if ending in (".gz", ".zst", ".bz2") else f"x{ending}"), ending


def test_the_files_of_a_run_and_their_keys(tmp_path: Path) -> None:
    truths = write_lines(tmp_path / "t.jsonl", [{"sample_id": str(each), "text": "x"} for each in range(3)])
    predictions = write_lines(tmp_path / "p.jsonl", [{"sample_id": "0", "text": "x"}, b"damaged"])
    run = evaluate(tmp_path / "out", truths, predictions, "--quiet", "--set", "max_rejected_fraction=1", config="toy")
    documented = {code(file)[0]: code(content) for file, content in table("outputs", "file")}
    assert {path.name for path in run.output.iterdir()} - {".runs"} == {name.partition("/")[0] for name in documented}
    assert set(documented["summary.json"]) == {*Summary.__struct_fields__, *SystemSummary.__struct_fields__}
    assert documented["quarantine/*.jsonl"] == list(Quarantined.__struct_fields__)
    about = msgspec.json.decode((run.output / "run.json").read_bytes())
    assert set(about) - {"format"} <= set(documented["run.json"])


def commands(page: Path) -> list[str]:
    """Returns every call of beamscore on a page, alone or within another command."""
    text = "\n".join(blocks(page)).replace("\\\n", " ")
    return re.findall(r"(?:^ *|-c\|)(beamscore evaluate .*?)(?=\"? *$)", text, re.MULTILINE)


def understood(command: str) -> None:
    words = shlex.split(re.sub(r"\\?\$\(date \+%F\)", "2026-01-31", command))
    parsed, rest = arguments.parser().parse_known_args(words[1:])
    assert parsed.config
    assert parsed.output
    launch.beam_options(rest)


def test_commands_on_dataflow_and_flink_are_understood() -> None:
    (of_flink,), of_dataflow = commands(FLINK), commands(DATAFLOW)
    understood(of_flink)
    assert len(of_dataflow) == 2
    for call in of_dataflow:
        understood(call)
        options = {word.partition("=")[0] for word in shlex.split(call)}
        assert {"--project", "--region", "--temp_location", "--sdk_container_image"} <= options
        assert "--runner=DataflowRunner" in call


def kubernetes(path: str) -> Any:
    return yaml.safe_load((CONFIGS / path).read_text(encoding="utf-8"))


def test_the_job_on_kubernetes_fits_its_cluster() -> None:
    cluster, job = kubernetes("flink/cluster.yaml")["spec"], kubernetes("flink/job.yaml")["spec"]["template"]["spec"]
    (command,) = job["containers"]
    understood(shlex.join([*command["command"], *command["args"]]))
    given = dict(argument.removeprefix("--").split("=", 1) for argument in command["args"] if "=" in argument)
    slots = int(cluster["flinkConfiguration"]["taskmanager.numberOfTaskSlots"])
    assert int(given["sdk_worker_parallelism"]) == slots
    assert int(given["parallelism"]) == slots * cluster["taskManager"]["replicas"]
    name = kubernetes("flink/job.yaml")["metadata"]["name"]
    assert f"\n    kubectl logs --follow job/{name} -c {command['name']}\n" in FLINK.read_text(encoding="utf-8")
    (server,) = job["initContainers"]
    assert server["args"] == [f"--flink-master={given['flink_master']}"]
    assert server["startupProbe"]["tcpSocket"]["port"] == int(given["job_endpoint"].partition(":")[2])
    _, workers = cluster["taskManager"]["podTemplate"]["spec"]["containers"]
    assert (workers["image"], workers["args"]) == (command["image"], ["--worker_pool"])
    assert workers["volumeMounts"] == command["volumeMounts"]


def test_every_slot_has_the_memory_that_the_tests_on_flink_give_it() -> None:
    (page,) = [yaml.safe_load(block) for block in blocks(FLINK) if "numberOfTaskSlots" in block]
    for configured in (page, kubernetes("flink/cluster.yaml")["spec"]["flinkConfiguration"]):
        slots = int(configured["taskmanager.numberOfTaskSlots"])
        for end in ("min", "max"):
            assert configured[f"taskmanager.memory.network.{end}"] == f"{slots * NETWORK_MIB}m"
        assert configured["taskmanager.memory.task.off-heap.size"] == f"{slots * OFF_HEAP_MIB // 1024}g"
        assert int(configured["taskmanager.network.sort-shuffle.min-buffers"]) == SHUFFLE_BUFFERS
        assert configured["restart-strategy.type"] == "fixed-delay"
        assert configured["cluster.uncaught-exception-handling"] == "FAIL"


def test_the_template_is_run_with_its_parameters_of_which_each_is_named() -> None:
    (run,) = [block.replace("\\\n", " ") for block in blocks(DATAFLOW) if "flex-template run" in block]
    given = dict(each.split("=", 1) for each in re.findall(r"--parameters (\S+)", run))
    assert set(given) <= set(PARAMETERS)
    assert {name for name, parameter in PARAMETERS.items() if not parameter.get("isOptional")} <= set(given)
    _, _, rest = DATAFLOW.read_text().partition("The parameters correspond to the command's arguments: ")
    assert re.findall(r"`(\w+)`", rest.partition(", the image")[0]) == list(PARAMETERS)


def test_nights_run_the_command_and_try_again_only_what_may_pass() -> None:
    unit = (CONFIGS / "systemd" / "beamscore-nightly.service").read_text(encoding="utf-8")
    service = dict(re.findall(r"^(\w+)=(.*)$", unit.partition("[Service]")[2], re.MULTILINE))
    job = kubernetes("kubernetes/nightly.yaml")["spec"]["jobTemplate"]["spec"]
    shell, option, script = shlex.split(service["ExecStart"].replace("%%", "%").replace("$$", "$"))
    assert (shell, option, service["Restart"]) == ("/bin/sh", "-c", "on-failure")
    (container,), (rule,) = job["template"]["spec"]["containers"], job["podFailurePolicy"]["rules"]
    assert rule["onExitCodes"]["containerName"] == container["name"]
    assert job["template"]["spec"]["restartPolicy"] == "Never", "the policy needs this"
    of_job = container["args"][0], rule["onExitCodes"]["values"]
    for call, codes in ((script, service["RestartPreventExitStatus"].split()), of_job):
        understood("beamscore " + call.partition("beamscore ")[2])
        # Another try would end alike.
        assert set(map(int, codes)) == {messages.FAILED, messages.WRONG_USAGE, messages.INCONCLUSIVE}
    (cron,) = (block.replace("\\%", "%") for block in blocks(NIGHTLY) if "flock" in block)
    # The PATH of cron has no beamscore.
    understood("beamscore " + cron.partition(" .venv/bin/beamscore ")[2].partition(" || ")[0])


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="there is no systemd-analyze here")
def test_the_units_are_valid() -> None:
    verify = ["systemd-analyze", "verify", *map(str, (CONFIGS / "systemd").iterdir())]
    assert subprocess.check_output(verify, stderr=subprocess.STDOUT) == b""


@pytest.mark.parametrize("path", ["kubernetes/nightly.yaml", "flink/job.yaml"])
@pytest.mark.parametrize("version", ["1.29", "1.33"])
def test_jobs_follow_the_schema_of_kubernetes(path: str, version: str) -> None:
    kubernetes_validate.validate(kubernetes(path), version, strict=True)


DOCKERFILE = re.sub(r"(?m)^#.*\n", "", (CONFIGS / "dataflow" / "Dockerfile").read_text()).replace("\\\n", " ")
STAGES = re.split(r"^(?=FROM )", DOCKERFILE, flags=re.MULTILINE)[1:]


def instructions(word: str, text: str = DOCKERFILE) -> list[list[str]]:
    return [words.split() for words in re.findall(rf"^{word} (.*)$", text, re.MULTILINE)]


def test_what_is_copied_exists_and_the_distribution_is_whole() -> None:
    names = [words[-1] for words in instructions("FROM")]
    for number, stage in enumerate(STAGES):
        for *sources, target in instructions("COPY", stage):
            if sources[0].startswith("--from="):
                assert sources[0].removeprefix("--from=") in names[:number]
            else:
                assert len(sources) == 1 or target.endswith("/"), "several files go into a folder"
                assert all((ROOT / source).exists() for source in sources), sources
    copied = {Path(source).name for *sources, _ in instructions("COPY", STAGES[1]) for source in sources}
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")} - {"tests"}
    modules = {path.name for path in ROOT.glob("*.py")}
    others = {"pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "configs", "py.typed"}
    assert copied == others | packages | modules


def test_bases_are_pinned_and_versions_fit_the_ranges_of_the_package() -> None:
    bases = [words[0] for words in instructions("FROM")]
    assert all(re.search(r":(?!latest)[\w.-]+$", base) for base in bases)
    ((python, beam_version),) = set(re.findall(r"^FROM apache/beam_python(.*)_sdk:(\S*)", DOCKERFILE, re.MULTILINE))
    assert f"python{python.replace('.', '')}-template-launcher-base" in bases[0]
    pins = re.findall(r"^([^#\n]+)==(.+)$", (CONFIGS / "dataflow" / "constraints.txt").read_text(), re.MULTILINE)
    constraints = {canonicalize_name(name): version for name, version in pins}
    declared = list(map(Requirement, importlib.metadata.requires("beamscore") or []))
    requirements = {canonicalize_name(each.name): each for each in declared if "extra" not in str(each.marker)}
    assert set(constraints) == set(requirements)
    for name, version in constraints.items():
        assert requirements[name].specifier.contains(version), name
    beam = canonicalize_name("apache-beam")
    assert constraints[beam] == beam_version
    for extra in ("gcp", "aws"):
        (requirement,) = (each for each in declared if str(each.marker) == f'extra == "{extra}"')
        assert (requirement.name, requirement.extras) == ("apache-beam", {extra})
        assert requirement.specifier == requirements[beam].specifier


def test_the_image_is_tried_on_every_benchmark_without_rights_and_started_by_beam_with_tex() -> None:
    image = STAGES[-1]
    environment = dict(words[0].split("=") for words in instructions("ENV", image))
    launched = "FLEX_TEMPLATE_PYTHON_PY_FILE"
    assert ["configs/dataflow/launch.py", environment[launched]] in instructions("COPY", image)
    assert ["tests/corpora", "/opt/beamscore/corpora"] in instructions("COPY", image)
    assert {folder.name for folder in (ROOT / "tests" / "corpora").iterdir()} == set(benchmark_names()) - {"toy"}
    before, smoke, after = image.rpartition("\nRUN ")
    assert f'"${launched}" --config=' in after.partition("\n")[0]
    # Workers run as root.
    assert (instructions("USER", before), instructions("USER", smoke + after)) == ([["beamscore"]], [["root"]])
    runs = " ".join(" ".join(words) for words in instructions("RUN"))
    assert ("sh /tmp/install-tex" in runs, "texlive" in runs) == (True, False)
    assert os.access(ROOT / ".ci" / "install-tex", os.X_OK)
    assert environment["RUN_PYTHON_SDK_IN_DEFAULT_ENVIRONMENT"] == "1"
    assert instructions("ENTRYPOINT") == instructions("ENTRYPOINT", image) == [['["/opt/apache/beam/boot"]']]
    assert f'org.opencontainers.image.version="{VERSION}"' in instructions("LABEL", image)[0]
    build: Any = yaml.safe_load((CONFIGS / "dataflow" / "cloudbuild.yaml").read_text())
    (step,) = build["steps"]
    assert step["args"] == ["build", "--file", "configs/dataflow/Dockerfile", "--tag", *build["images"], "."]
