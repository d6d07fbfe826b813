"""Puts a result into its place as a whole: the step of a run that nobody may see half done."""

from __future__ import annotations

import contextlib
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..records import InputProblem
from . import links
from .claim import Claim, acquire, beat, held_claim
from .published import (
    ENDINGS,
    Layout,
    Manifest,
    Published,
    TakenOver,
    encode_manifest,
    find_published,
    manifest_names,
    next_manifest,
)
from .staging import mark_abandoned, remove_staging, staging_folder
from .storage import (
    PART,
    STORAGE_ERRORS,
    delete_files,
    delete_folder,
    list_folder,
    make_folder,
    new_run_id,
    output_problem,
    rename_files,
    write_file,
)

FILES_PER_MOVE = 200

MayPublish = Callable[[], None]


def own_output(output: str, claim: Claim, layout: Layout) -> None:
    """Makes a run the owner of an output, and clears away what dead runs have left there.

    Raises InputProblem where another run owns the output, or it cannot be written.
    """

    def published() -> str | None:
        found = find_published(output, layout)
        return found.run_id if found else None

    dead = acquire(output, claim, published)
    try:
        for run_id in dead:
            mark_abandoned(output, run_id)
        if dead:
            settle(output, layout)
    except BaseException as error:
        with contextlib.suppress(*STORAGE_ERRORS):
            mark_abandoned(output, claim.run_id)
        if isinstance(error, STORAGE_ERRORS):
            raise output_problem(output, error) from error
        raise


@contextlib.contextmanager
def owned_output(output: str, claim: Claim, layout: Layout) -> Iterator[None]:
    """Makes a run the owner of an output for the time of this block; of one that fails, nothing stays there.

    A job that goes on after an interrupt, until its runner has cancelled it, publishes nothing.
    Raises InputProblem where another run owns the output, or it cannot be written.
    """
    own_output(output, claim, layout)
    try:
        yield
    except BaseException as error:
        with contextlib.suppress(*STORAGE_ERRORS):
            if claim.is_job and isinstance(error, KeyboardInterrupt):
                mark_abandoned(output, claim.run_id)
            else:
                clean_up(output, claim.run_id, layout)
        raise
    with contextlib.suppress(*STORAGE_ERRORS):
        mark_abandoned(output, claim.run_id)


def publish(
    output: str, run_id: str, layout: Layout, files: Mapping[str, bytes], staged: Mapping[str, Sequence[str]]
) -> None:
    """Publishes the result of a run: the content of `files`, and the staged files of each folder.

    Everything is written before anything that a reader sees changes. Then one step makes it the result. Whatever
    goes wrong before it leaves the earlier result. A second attempt goes on where the first one stopped.

    Raises TakenOver where the run has lost its claim, InputProblem where the output cannot be written, and
    FileNotFoundError where a staged file is gone.
    """

    def may_publish() -> None:
        if held_claim(output, run_id) is None:
            raise TakenOver(output)

    may_publish()
    beat(output, run_id)
    try:
        if links.can_link(output, run_id):
            links.publish(output, run_id, layout, files, staged, may_publish)
        else:
            _publish_by_manifest(output, run_id, layout, files, staged, may_publish)
    except STORAGE_ERRORS as error:
        may_publish()
        raise output_problem(output, error) from error
    # The result is in place; what is left over does no harm, and the next run removes it.
    with contextlib.suppress(*STORAGE_ERRORS):
        claim = held_claim(output, run_id)
        remove_staging(output, run_id)
        if claim and claim.detached:
            mark_abandoned(output, run_id)


def clean_up(output: str, run_id: str, layout: Layout) -> None:
    """Removes what a run has written that failed; the earlier result is in place afterwards, also by plain names.

    A run that has lost its claim leaves the result to the run that has it now.
    """
    owned = held_claim(output, run_id)
    mark_abandoned(output, run_id)
    if owned:
        settle(output, layout)


def settle(output: str, layout: Layout) -> None:
    """Removes what runs that broke off have left of a result, and puts the one that counts under the plain names."""
    if links.is_linked(output, layout):
        links.settle(output, layout, links.unused(output, layout))
        return
    manifests = manifest_names(output, layout)
    if manifests:
        found = find_published(output, layout)
        if found:
            _copy_to_plain_names(output, layout, _documents(found, layout))
            _delete(output, layout, _others(output, layout), found, manifests[-1])
    elif list_folder(posixpath.join(output, layout.hidden)):
        found = find_published(output, layout)
        _delete(output, layout, _others(output, layout), found, "")
        if not found:
            delete_files([posixpath.join(output, name) for name in layout.files])


def _documents(found: Published, layout: Layout) -> dict[str, bytes]:
    """Returns the files of a result by name; one of an earlier version may lack some that are written today."""
    return {name: found.read(name) for name in layout.files if name in found.files}


def _publish_by_manifest(
    output: str,
    run_id: str,
    layout: Layout,
    files: Mapping[str, bytes],
    staged: Mapping[str, Sequence[str]],
    may_publish: MayPublish,
) -> None:
    """Publishes where there are no links: a manifest, written last, names the files that belong together.

    The plain names are replaced after it, one by one; whoever reads them meanwhile may see files of two runs.
    """
    _adopt(output, layout)
    others = _others(output, layout)
    attempt = f"{run_id}-{new_run_id()}"
    # The files inside folders have names of their own in any run.
    paths = {name: name if "/" in name else posixpath.join(layout.hidden, attempt, name) for name in files}
    for name, path in paths.items():
        write_file(posixpath.join(output, path), files[name])
    for folder, names in staged.items():
        _move(output, run_id, folder, names)
        paths |= {f"{folder}/{name}": f"{folder}/{name}" for name in names}
    earlier = manifest_names(output, layout)
    manifest = next_manifest(earlier, attempt)
    beat(output, run_id)
    may_publish()
    try:
        write_file(posixpath.join(output, layout.hidden, manifest), encode_manifest(Manifest(run_id, paths)))
        _copy_to_plain_names(output, layout, {name: files[name] for name in layout.files if name in files})
        delete_files([posixpath.join(output, name) for name in layout.files if name not in files])
    except STORAGE_ERRORS:
        # A write that was reported as failed may have come about all the same.
        with _new_result_counts(output, layout, manifest):
            if not earlier:
                # Without a manifest, what is there under the plain names would count.
                delete_files([posixpath.join(output, name) for name in layout.files])
            delete_files([posixpath.join(output, layout.hidden, manifest)])
        raise
    # The folders must not hold files of two runs, for those who read them by their plain names.
    found = find_published(output, layout)
    try:
        _delete(output, layout, others, found, manifest)
    except STORAGE_ERRORS:
        with _new_result_counts(output, layout, manifest):
            _delete(output, layout, others, found, manifest)


@contextlib.contextmanager
def _new_result_counts(output: str, layout: Layout, manifest: str) -> Iterator[None]:
    """Says so where a new result counts, but cannot be taken back, nor the files of the earlier one be removed."""
    try:
        yield
    except STORAGE_ERRORS as error:
        problem = output_problem(output, error).message
        try:
            if manifest not in manifest_names(output, layout):
                raise InputProblem(problem) from error
        except STORAGE_ERRORS:
            raise InputProblem(f"{problem}; it is not known whether the new result is in place") from error
        raise InputProblem(f"{problem}; the new result is in place, but files of the earlier one are left") from error


def _adopt(output: str, layout: Layout) -> None:
    """Gives a result that is there under plain names alone a manifest, so that it is never without one."""
    found = find_published(output, layout)
    if found is None or manifest_names(output, layout):
        return
    attempt = f"{new_run_id()}-{new_run_id()}"
    paths = {name: path.removeprefix(output.rstrip("/") + "/") for name, path in found.files.items()}
    for name in layout.files:
        if name in found.files:
            paths[name] = posixpath.join(layout.hidden, attempt, name)
            write_file(posixpath.join(output, paths[name]), found.read(name))
    document = encode_manifest(Manifest(attempt.partition("-")[0], paths))
    write_file(posixpath.join(output, layout.hidden, next_manifest([], attempt)), document)


def _move(output: str, run_id: str, folder: str, names: Sequence[str]) -> None:
    """Moves staged files into a folder of the output, but for those that an earlier attempt has moved."""
    source, target = posixpath.join(staging_folder(output, run_id), folder), posixpath.join(output, folder)
    staged, placed = set(list_folder(source)), set(list_folder(target))
    lost = sorted(set(names) - staged - placed)
    if lost:
        raise FileNotFoundError(f"{posixpath.join(source, lost[0])}: written by this run, but gone")
    make_folder(target)
    # A move that broke off between its copy and the removal of the source is done again.
    moved = sorted(staged & set(names))
    for start in range(0, len(moved), FILES_PER_MOVE):
        some = moved[start : start + FILES_PER_MOVE]
        rename_files([(posixpath.join(source, name), posixpath.join(target, name)) for name in some])
        beat(output, run_id)


def _copy_to_plain_names(output: str, layout: Layout, files: Mapping[str, bytes]) -> None:
    for name in sorted(files, key=layout.files.index):
        write_file(posixpath.join(output, name), files[name])


def _others(output: str, layout: Layout) -> list[str]:
    """Returns the paths of the files and folders in an output that are named as a run names them."""
    hidden = posixpath.join(output, layout.hidden)
    paths = [posixpath.join(hidden, name) for name in list_folder(hidden)]
    unfinished = tuple(f"{name}." for name in layout.files)
    names = [name for name in list_folder(output) if name.startswith(unfinished) and name.endswith(PART)]
    paths += [posixpath.join(output, name) for name in names]
    for folder in layout.folders:
        names = [*list_folder(posixpath.join(output, folder))]
        paths += [posixpath.join(output, folder, name) for name in names if layout.owns(folder, name)]
    return sorted(paths)


def _delete(output: str, layout: Layout, paths: Sequence[str], found: Published | None, manifest: str) -> None:
    """Deletes those of the paths that do not belong to the published result `found`, which `manifest` describes.

    The manifests go before the files that they name.
    """
    hidden = posixpath.join(output, layout.hidden)
    kept = {posixpath.join(hidden, manifest), *(found.files.values() if found else ())}
    kept |= {posixpath.dirname(path) for path in kept}
    gone = [path for path in paths if path not in kept]
    delete_files([path for path in gone if path.endswith(".json")])
    delete_files([path for path in gone if path.endswith((*ENDINGS, PART))])
    for path in gone:
        if not path.endswith((".json", *ENDINGS, PART)):
            delete_folder(path)
