"""Publishing on a disk: the plain names are links through one link, and replacing that one replaces them all.

OUTPUT/summary.json       -> .evaluation/current/summary.json
OUTPUT/samples            -> .evaluation/current/samples
OUTPUT/.evaluation/current -> RUN-ATTEMPT
OUTPUT/.evaluation/RUN-ATTEMPT/ summary.json, samples/, ...
"""

from __future__ import annotations

import contextlib
import errno
import os
import posixpath
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from .published import CURRENT, Layout, find_published, manifest_names
from .staging import staging_folder
from .storage import atomic_write, delete_files, delete_folder, is_on_disk, list_folder, new_run_id

WHOLE = "whole"


def can_link(output: str, run_id: str) -> bool:
    """Returns whether an output is on a disk that knows links; raises OSError where that cannot be tried."""
    if not is_on_disk(output):
        return False
    folder = staging_folder(output, run_id)
    os.makedirs(folder, exist_ok=True)
    trial = posixpath.join(folder, f"{new_run_id()}.trial")
    try:
        os.symlink(WHOLE, trial)
    except (OSError, NotImplementedError) as error:
        if isinstance(error, (PermissionError, NotImplementedError)) or _is_unsupported(error):
            return False
        raise
    os.unlink(trial)
    return True


def _is_unsupported(error: OSError) -> bool:
    return error.errno in (errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


def is_linked(output: str, layout: Layout) -> bool:
    """Returns whether an output is on a disk and holds a result behind links, or the beginning of one."""
    if not is_on_disk(output):
        return False
    current = posixpath.join(output, layout.hidden, CURRENT)
    return os.path.islink(current) or not manifest_names(output, layout)


def publish(
    output: str,
    run_id: str,
    layout: Layout,
    files: Mapping[str, bytes],
    staged: Mapping[str, Sequence[str]],
    may_publish: Callable[[], None],
) -> None:
    """Publishes by replacing one link. Everything is complete in a folder of the run before.

    The folder and the new link come from the staging folder of the run: where another run has taken it away,
    because this one seemed dead, the step fails.
    """
    staging = staging_folder(output, run_id)
    hidden = posixpath.join(output, layout.hidden)
    whole = posixpath.join(staging, WHOLE)
    for name in unused(output, layout):
        if name.startswith(f"{run_id}-") and not os.path.exists(whole):
            # An earlier attempt of this run did not come to its last step.
            os.rename(posixpath.join(hidden, name), whole)
    _complete(output, staging, whole, layout, files, staged)
    os.makedirs(hidden, exist_ok=True)
    _adopt(output, staging, layout)
    target = f"{run_id}-{new_run_id()}"
    link = posixpath.join(staging, CURRENT)
    _symlink(target, link)
    may_publish()
    os.rename(whole, posixpath.join(hidden, target))
    try:
        _link_plain_names(output, staging, layout)
        old = {*unused(output, layout), *_current(hidden)} - {target}
        os.rename(link, posixpath.join(hidden, CURRENT))
    except BaseException:
        if target not in _current(hidden):
            with contextlib.suppress(OSError):
                os.rename(posixpath.join(hidden, target), whole)
        raise
    with contextlib.suppress(OSError):
        settle(output, layout, sorted(old))


def _complete(
    output: str,
    staging: str,
    whole: str,
    layout: Layout,
    files: Mapping[str, bytes],
    staged: Mapping[str, Sequence[str]],
) -> None:
    """Gathers all files of a result in the folder `whole`, and those that somebody else keeps beside them."""
    current = find_published(output, layout)
    published = current.files if current and current.run_id == posixpath.basename(staging) else {}
    for folder, names in staged.items():
        target = posixpath.join(whole, folder)
        os.makedirs(target, exist_ok=True)
        ready, placed = list_folder(posixpath.join(staging, folder)), list_folder(target)
        for name in placed:
            if layout.owns(folder, name) and name not in names:
                os.unlink(posixpath.join(target, name))
        for name in sorted(names):
            if name in ready:
                os.rename(posixpath.join(staging, folder, name), posixpath.join(target, name))
            elif name not in placed and f"{folder}/{name}" in published:
                _link_or_copy(published[f"{folder}/{name}"], posixpath.join(target, name))
            elif name not in placed:
                raise FileNotFoundError(f"{posixpath.join(staging, folder, name)}: written by this run, but gone")
        _carry(posixpath.join(output, folder), target, partial(layout.owns, folder))
    for name, content in files.items():
        os.makedirs(posixpath.dirname(posixpath.join(whole, name)), exist_ok=True)
        with atomic_write(posixpath.join(whole, name), new_run_id()) as stream:
            stream.write(content)


def _carry(source: str, target: str, is_ours: Callable[[str], bool]) -> None:
    """Links what is in a folder, but for our own files, into another folder."""
    try:
        entries = sorted(os.scandir(source), key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        path = posixpath.join(target, entry.name)
        if is_ours(entry.name) or os.path.lexists(path):
            continue
        if entry.is_dir(follow_symlinks=False):
            os.makedirs(path, exist_ok=True)
            _carry(entry.path, path, lambda _: False)
        else:
            _link_or_copy(entry.path, path)


def _link_or_copy(source: str, target: str) -> None:
    """Makes a second name of a file, or a copy where the disk knows no second names."""
    try:
        os.link(source, target, follow_symlinks=False)
    except (PermissionError, NotImplementedError):
        shutil.copy2(source, target, follow_symlinks=False)
    except OSError as error:
        if not _is_unsupported(error):
            raise
        shutil.copy2(source, target, follow_symlinks=False)


def _adopt(output: str, staging: str, layout: Layout) -> None:
    """Puts what is there under plain names without links behind the link `current`.

    That is a result which was copied from an object store, or what somebody else keeps in folders of these names.
    """
    hidden = posixpath.join(output, layout.hidden)
    current = posixpath.join(hidden, CURRENT)
    found = find_published(output, layout)
    plain = [name for name in layout.files if os.path.isfile(posixpath.join(output, name))]
    folders = [name for name in layout.folders if os.path.isdir(posixpath.join(output, name))]
    if os.path.islink(current) or not (found or plain or folders):
        return
    folder = posixpath.join(staging, "adopted")
    delete_folder(folder)
    for name in layout.folders:
        os.makedirs(posixpath.join(folder, name))
        _carry(posixpath.join(output, name), posixpath.join(folder, name), partial(layout.owns, name))
    files = found.files if found else {name: posixpath.join(output, name) for name in plain}
    for name, path in files.items():
        _link_or_copy(os.path.realpath(path), posixpath.join(folder, name))
    target = f"{new_run_id()}-{new_run_id()}"
    os.rename(folder, posixpath.join(hidden, target))
    link = posixpath.join(staging, CURRENT)
    _symlink(target, link)
    if os.path.isdir(current):
        # Somebody has copied the folder, and with it what a link pointed to in the place of the link.
        os.rename(current, posixpath.join(hidden, new_run_id()))
    os.rename(link, current)


def _link_plain_names(output: str, staging: str, layout: Layout) -> None:
    """Makes each plain name a link through `current`; what was there under it is reached by the same name."""
    for name in (*layout.files, *layout.folders):
        path, target = posixpath.join(output, name), posixpath.join(layout.hidden, CURRENT, name)
        if os.path.islink(path) and os.readlink(path) == target:
            continue
        link = posixpath.join(staging, "link")
        _symlink(target, link)
        if os.path.isdir(path) and not os.path.islink(path):
            os.rename(path, posixpath.join(staging, f"{name}-{new_run_id()}"))
        os.rename(link, path)


def _symlink(target: str, path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    os.symlink(target, path)


def _current(hidden: str) -> list[str]:
    """Returns the name of the folder that `current` points to, if any."""
    current = posixpath.join(hidden, CURRENT)
    return [posixpath.basename(os.readlink(current))] if os.path.islink(current) else []


def unused(output: str, layout: Layout) -> list[str]:
    """Returns the names in the hidden folder but for `current` and the folder that it points to."""
    hidden = posixpath.join(output, layout.hidden)
    return sorted(set(list_folder(hidden)) - {CURRENT, *_current(hidden)})


def settle(output: str, layout: Layout, names: Sequence[str]) -> None:
    """Removes `names` from the hidden folder, and plain names that are links to nowhere; makes those that are missing.

    Only what was there before a step of this run is removed after it: what came later is another run's.
    """
    hidden = posixpath.join(output, layout.hidden)
    for name in names:
        path = posixpath.join(hidden, name)
        if os.path.isdir(path) and not os.path.islink(path):
            delete_folder(path)
        else:
            delete_files([path])
    if not os.path.lexists(posixpath.join(hidden, CURRENT)):
        with contextlib.suppress(OSError):
            os.rmdir(hidden)
    for name in (*layout.files, *layout.folders):
        path, target = posixpath.join(output, name), posixpath.join(layout.hidden, CURRENT, name)
        if os.path.islink(path) and not os.path.exists(path) and os.readlink(path).startswith(f"{layout.hidden}/"):
            os.unlink(path)
        if os.path.exists(posixpath.join(output, target)):
            # A run was killed while it put a link into the place of a folder.
            with contextlib.suppress(FileExistsError):
                os.symlink(target, path)
