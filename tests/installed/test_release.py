"""What keeps a commit from being released."""

import subprocess
from pathlib import Path

import pytest

from tests.installed.release import unready


@pytest.mark.parametrize(
    ("changelog", "tagged", "problems"),
    [
        ("## [Unreleased]\n\n## [1.2.0] - 2026-01-01\n\n- A\n", "HEAD", []),
        ("## [1.2.0]\n\n- A\n", None, []),
        ("## [Unreleased]\n\n- A\n\n## [1.2.0]\n", "HEAD~1", ["## [1.2.0]", "[Unreleased] is not empty", "tag v1.2.0"]),
        ("## [Unreleased]\n\n## [1.1.0]\n", None, ["## [1.2.0]"]),
    ],
)
def test_a_release_needs_its_changelog_and_its_tag(
    changelog: str, tagged: str | None, problems: list[str], tmp_path: Path
) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "version.py").write_text('VERSION = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{changelog}")
    commit = ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "A"]
    for command in (["init", "-q"], commit, commit, *([["tag", "v1.2.0", tagged]] if tagged else [])):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    found = [*unready(tmp_path)]
    assert [text in problem for text, problem in zip(problems, found, strict=True)] == [True] * len(problems)
