"""Package metadata: the one place for it. Dataflow takes this file as its --setup_file."""

from pathlib import Path

from setuptools import find_packages, setup

# Read, not imported: the metadata must be known before anything is installed.
VERSION = Path(__file__).with_name("metrics").joinpath("version.py").read_text(encoding="utf-8").split('"')[-2]

LAYERS = ["metrics", "metrics.*", "transforms", "transforms.*", "pipelines", "pipelines.*"]

REQUIREMENTS = [
    "apache-beam>=2.72,<3",
    "backports.zstd>=1.0,<2; python_version<'3.14'",
    "jinja2>=3.1.4,<4",
    "markupsafe>=2.1,<4",
    "msgspec>=0.23,<1",
    "numpy>=1.26,<3",
    "pillow>=12.1.1,<14",
    "pyarrow>=20,<27",
    "pyyaml>=6,<7",
    "rapidfuzz>=3.9,<4",
    "rich>=13.8,<17",
    "scipy>=1.13,<2",
    "shapely>=2.0.4,<3",
    "shtab>=1.7,<2",
    "threadpoolctl>=3.2,<4",
    "unicodeit>=0.7.5,<1",
]

GOOGLE_CLOUD = ["apache-beam[gcp]>=2.72,<3"]
AMAZON = ["apache-beam[aws]>=2.72,<3"]
MLFLOW = ["mlflow>=2.16,<4"]
WANDB = ["wandb>=0.19,<1"]

DEVELOPMENT = [
    "apache-beam[yaml]>=2.72,<3",
    "hypothesis>=6.136,<7",
    "jsonschema>=4.23,<5",
    "kubernetes-validate>=1.33",
    "markdown-it-py>=3,<5",
    "mypy>=1.13,<3",
    "pytest>=8,<10",
    "pytest-cov>=6,<8",
    "pytest-timeout>=2.3.1,<3",
    "pytest-xdist>=3.5,<4",
    "ruff>=0.9,<1",
    "sacrebleu>=2.4,<3",
    "scipy-stubs>=1.14",
    "selenium>=4.20,<5",
    "tabulate>=0.9,<1",
    "types-PyYAML>=6",
    "types-tabulate>=0.9",
    "uv>=0.5,<1",
]

setup(
    name="beamscore",
    version=VERSION,
    description="Scores machine predictions against ground truth on Apache Beam, as published benchmarks define it",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.10",
    # The folder of the repository is the package.
    package_dir={"beamscore": "."},
    packages=["beamscore", *(f"beamscore.{name}" for name in find_packages(include=LAYERS))],
    package_data={
        "beamscore": ["py.typed"],
        "beamscore.pipelines.reports": ["scripts/*", "templates/*"],
    },
    install_requires=REQUIREMENTS,
    extras_require={"gcp": GOOGLE_CLOUD, "aws": AMAZON, "mlflow": MLFLOW, "wandb": WANDB, "dev": DEVELOPMENT},
    entry_points={"console_scripts": ["beamscore = beamscore.pipelines.commands.__main__:main"]},
)
