"""Builds configs/dataflow/Dockerfile on a stand-in for Beam's base images, and runs the command in it.

    python -m tests.image FOLDER

The base images of the Dockerfile are on registries that a build machine may not reach. Their stand-ins have what it
needs of them: Debian with Python 3.11 and the version of Beam that is pinned, the worker of `tests.flink.boot`
as `/opt/apache/beam/boot`, and an empty launcher. The Dockerfile itself evaluates the sample corpora of all
benchmarks; two of them are evaluated once more, by workers that Beam's runner starts from the image.
Needs root, mmdebstrap and buildah, and takes some ten minutes; FOLDER holds some 10 GB afterwards.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from tests.test_image import found

ROOT = Path(__file__).parents[2]
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
TAG = "beamscore:test"

BASE = """
FROM scratch
ADD root.tar /
COPY certificates.crt /etc/ssl/certs/ca-certificates.crt
ENV PIP_CERT=/etc/ssl/certs/ca-certificates.crt SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
RUN rm -f /usr/lib/python3*/EXTERNALLY-MANAGED && ln -s python3 /usr/bin/python && pip install -q apache-beam=={version}
COPY boot.py /opt/apache/beam/boot
"""
LAUNCHER = """
FROM scratch
COPY boot.py /opt/google/dataflow/python_template_launcher
"""
WORKER_BENCHMARKS = ("traffic_rules", "formula")
CHECKS = {
    "the command is there": ["beamscore", "--version"],
    "the packages fit together": ["pip", "check"],
    "TeX is there": ["latex", "--version"],
    "the user without rights exists": ["id", "beamscore"],
}


def main(folder: Path) -> None:
    """Builds, and checks what came out."""
    folder.mkdir(parents=True, exist_ok=True)
    base, launcher = base_images()
    version = base.rpartition(":")[2]
    if not (folder / "root.tar").exists():
        packages = "python3,python3-pip,python3-venv,ca-certificates"
        run("mmdebstrap", "--variant=minbase", f"--include={packages}", "bookworm", str(folder / "root.tar"))
    shutil.copy(CERTIFICATES, folder / "certificates.crt")
    shutil.copy(ROOT / "tests" / "flink" / "boot.py", folder / "boot.py")
    for name, text in ((base, BASE.format(version=version)), (launcher, LAUNCHER)):
        (folder / "Containerfile").write_text(text)
        build(folder, name, folder / "Containerfile", folder)
    build(folder, TAG, ROOT / "configs" / "dataflow" / "Dockerfile", ROOT)
    container = run(*buildah(folder), "from", "--pull-never", TAG, captured=True).strip()
    for what, command in CHECKS.items():
        run(*buildah(folder), "run", "--isolation", "chroot", container, "--", *command)
        print(f"image: {what}", flush=True)
    for benchmark in WORKER_BENCHMARKS:
        run_by_worker(folder, container, benchmark)
        print(f"image: a worker of it scores {benchmark} as this machine does", flush=True)


def run_by_worker(folder: Path, container: str, benchmark: str) -> None:
    """Evaluates a corpus by a worker that the runner starts from the image, as it starts one of Docker's.

    `tests/image/docker` stands in for Docker: it starts the entry point of the image. Raises AssertionError where the
    sums are not those of an evaluation on this machine.
    """
    here, there = folder / "here" / benchmark, folder / "there"
    shutil.rmtree(there / benchmark, ignore_errors=True)
    there.mkdir(exist_ok=True)
    script = f"""
        set -e
        export PATH=/shim:$PATH
        rm -f /tmp/*.pid
        corpus=/opt/beamscore/corpora/{benchmark}
        beamscore evaluate {benchmark} --ground-truth $corpus/ground_truth.jsonl \\
            --predictions $corpus/predictions.jsonl --output /there/{benchmark} --quiet \\
            --runner=PortableRunner --job_endpoint=embed --environment_type=DOCKER --environment_config={TAG}
        ls /tmp/*.pid
    """
    volumes = ["--volume", f"{Path(__file__).parent}:/shim", "--volume", f"{there}:/there"]
    run(*buildah(folder), "run", "--isolation", "chroot", *volumes, container, "--", "sh", "-c", script)
    corpus = ROOT / "tests" / "corpora" / benchmark
    sides = [f"--ground-truth={corpus}/ground_truth.jsonl", f"--predictions={corpus}/predictions.jsonl"]
    run(
        sys.executable,
        "-m",
        "beamscore.pipelines.commands",
        "evaluate",
        benchmark,
        *sides,
        f"--output={here}",
        "--quiet",
    )
    found, expected = (json.loads((each / "sums.json").read_bytes()) for each in (there / benchmark, here))
    assert found["systems"] == expected["systems"], f"{there / benchmark} and {here} differ"


def base_images() -> tuple[str, str]:
    """Returns the images that the Dockerfile starts from: Beam's, and the launcher's."""
    images = list(dict.fromkeys(each.arguments[0] for each in found("FROM")))
    (base,) = [image for image in images if "beam_python" in image]
    (launcher,) = [image for image in images if image != base]
    return f"docker.io/{base}", launcher


def buildah(folder: Path) -> list[str]:
    return ["buildah", "--storage-driver", "vfs", "--root", str(folder / "images"), "--runroot", str(folder / "run")]


def build(folder: Path, tag: str, file: Path, context: Path) -> None:
    options = ["--isolation", "chroot", "--network", "host", "--pull-never", "--layers=false", "--file", str(file)]
    run(*buildah(folder), "build", *options, "--tag", tag, str(context))


def run(*command: str, captured: bool = False) -> str:
    finished = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE if captured else None)
    return finished.stdout or ""


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
