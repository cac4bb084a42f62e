from __future__ import annotations

import gzip
import io
import os
import pickle
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from autotune.data import cifar10, cifar10_files
from autotune.data.cifar10 import DIR_ARCHIVES, KERAS_ARCHIVES, KERAS_FOLDER, load_release
from autotune.data.cifar10_files import FILES, FOLDER
from autotune.data.dataset import LoadedData
from autotune.errors import DataError
from tests.data.peak import takes_at_most
from tests.data.sample_files import (
    ROWS,
    batch_members,
    batch_of,
    images_of,
    labels_of,
    pack,
    release,
    write_batches,
)


def read(folder: Path) -> LoadedData:
    return load_release(release(), seed=0, dir=str(folder), download=False)


def assert_whole(loaded: LoadedData) -> None:
    assert loaded.stand_in is None
    assert loaded.num_classes == 10
    for number in range(5):
        piece = slice(number * ROWS, (number + 1) * ROWS)
        np.testing.assert_array_equal(loaded.train[0][piece], images_of(number))
        assert loaded.train[1][piece].tolist() == labels_of(number)
    np.testing.assert_array_equal(loaded.test[0], images_of(5))
    assert loaded.test[1].tolist() == labels_of(5)


@pytest.mark.parametrize("below", [".", FOLDER, f"{KERAS_FOLDER}/{FOLDER}"])
def test_the_folder_itself_or_one_above(tmp_path: Path, below: str) -> None:
    folder = write_batches(tmp_path / below)
    loaded = read(tmp_path)
    assert_whole(loaded)
    assert Path(loaded.origin) == folder


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_pickle_protocols(tmp_path: Path, protocol: int) -> None:
    assert_whole(read(write_batches(tmp_path, protocol)))


@pytest.mark.parametrize("below", [f"{KERAS_FOLDER}/{FOLDER}", FOLDER])
def test_the_folders_of_kerass_cache(keras_cache: Path, below: str) -> None:
    write_batches(keras_cache / below)
    assert_whole(load_release(release(), seed=0, on_unavailable="error"))


@pytest.mark.parametrize("name", KERAS_ARCHIVES)
def test_an_archive_in_kerass_cache_is_unpacked_once(keras_cache: Path, name: str) -> None:
    content = pack(batch_members())
    keras_cache.mkdir(parents=True)
    (keras_cache / name).write_bytes(content)
    assert_whole(load_release(release(content), seed=0, on_unavailable="error"))
    kept = keras_cache / KERAS_FOLDER / FOLDER
    assert sorted(path.name for path in kept.iterdir()) == sorted(FILES)
    assert [path.name for path in kept.parent.iterdir()] == [FOLDER]
    again = load_release(release(content), seed=0, on_unavailable="error")
    assert again.origin == str(kept)


@pytest.mark.parametrize("name", DIR_ARCHIVES)
@pytest.mark.parametrize("itself", [True, False])
def test_an_archive_in_dir_is_read_and_nothing_is_written(tmp_path: Path, name: str, itself: bool) -> None:
    archive = tmp_path / name
    archive.write_bytes(pack(batch_members()))
    assert_whole(read(archive if itself else tmp_path))
    assert list(tmp_path.iterdir()) == [archive]


def test_dir_without_the_files_is_an_error_and_no_stand_in(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data_batch_1 .* they are not there"):
        read(tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        read(tmp_path / "absent")


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(keras_cache: Path, name: str) -> None:
    folder = write_batches(keras_cache / KERAS_FOLDER / FOLDER)
    (folder / name).unlink()
    with pytest.raises(DataError, match=f"lacks {name} ") as caught:
        load_release(release(), seed=0)
    assert str(folder) in str(caught.value)


def shortened(batch: dict[bytes, object]) -> object:
    data, labels = batch[b"data"], batch[b"labels"]
    assert isinstance(data, np.ndarray)
    assert isinstance(labels, list)
    return {b"data": data[:-1], b"labels": labels[:-1]}


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (shortened, r"data must be of shape \(20, 3072\), but got \(19, 3072\)"),
        (lambda batch: {**batch, b"labels": [1] * 19}, "labels must be 20 integers"),
        (lambda batch: {**batch, b"labels": [0.5] * 20}, "labels must be 20 integers"),
        (
            lambda batch: {**batch, b"labels": [0, 10] * 10},
            "labels must be 0 to 9, but got 0 to 10",
        ),
        (
            lambda batch: {**batch, b"labels": [0, -1] * 10},
            "labels must be 0 to 9, but got -1 to 0",
        ),
        (
            lambda batch: {**batch, b"labels": [[1], [1, 2]] * 10},
            "labels must be 20 integers, but got list",
        ),
        (lambda batch: {**batch, b"data": [1, 2]}, "data must be a uint8 array, but got list"),
        (lambda batch: {**batch, b"data": np.zeros((20, 3072))}, "but got float64"),
        (lambda batch: {b"data": batch[b"data"], b"fine_labels": []}, "CIFAR-100"),
        (lambda batch: [1, 2, 3], "must hold a dict, but got list"),
    ],
)
def test_a_wrong_file_is_named_and_kept(
    tmp_path: Path, spoil: Callable[[dict[bytes, object]], object], complaint: str
) -> None:
    path = write_batches(tmp_path) / "data_batch_4"
    path.write_bytes(pickle.dumps(spoil(batch_of(3)), 2))
    with pytest.raises(DataError, match=complaint) as caught:
        read(tmp_path)
    assert str(path) in str(caught.value)
    assert path.exists()


def test_keys_as_text(tmp_path: Path) -> None:
    write_batches(tmp_path)
    batch = {key.decode(): value for key, value in batch_of(5).items()}
    (tmp_path / "test_batch").write_bytes(pickle.dumps(batch))
    assert_whole(read(tmp_path))


def test_a_half_downloaded_archive_is_named_and_kept(keras_cache: Path) -> None:
    content = pack(batch_members())
    archive = keras_cache / KERAS_ARCHIVES[0]
    keras_cache.mkdir(parents=True)
    archive.write_bytes(content[: len(content) // 2])
    with pytest.raises(DataError, match="half-downloaded") as caught:
        load_release(release(content), seed=0)
    assert str(archive) in str(caught.value)
    assert list(keras_cache.iterdir()) == [archive]


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.99])
def test_a_truncated_archive_in_dir_is_named(tmp_path: Path, share: float) -> None:
    content = pack(batch_members())
    archive = tmp_path / DIR_ARCHIVES[0]
    archive.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(DataError, match="move it away") as caught:
        read(tmp_path)
    assert str(archive) in str(caught.value)


def test_an_archive_cannot_place_files_elsewhere(keras_cache: Path, tmp_path: Path) -> None:
    evil = {
        "../evil": b"x",
        f"{tmp_path}/evil": b"x",
        f"{FOLDER}/../../evil": b"x",
        f"{FOLDER}/../{FOLDER}/data_batch_1": b"x",
    }
    content = pack({**evil, **batch_members()}, links={f"{FOLDER}/link": str(tmp_path)})
    keras_cache.mkdir(parents=True)
    (keras_cache / KERAS_ARCHIVES[1]).write_bytes(content)
    assert_whole(load_release(release(content), seed=0))
    assert not list(tmp_path.rglob("evil"))
    assert not list(tmp_path.rglob("link"))


def test_a_link_in_place_of_a_batch_is_refused(tmp_path: Path) -> None:
    secret = write_batches(tmp_path / "elsewhere") / "data_batch_1"
    members = batch_members()
    del members[f"{FOLDER}/data_batch_1"]
    archive = tmp_path / DIR_ARCHIVES[0]
    archive.write_bytes(pack(members, links={f"{FOLDER}/data_batch_1": str(secret)}))
    with pytest.raises(DataError, match="no plain file"):
        read(archive)


def test_an_archive_without_a_batch_is_refused(tmp_path: Path) -> None:
    members = batch_members()
    del members[f"{FOLDER}/test_batch"]
    (tmp_path / DIR_ARCHIVES[1]).write_bytes(pack(members))
    with pytest.raises(DataError, match="lacks cifar-10-batches-py/test_batch"):
        read(tmp_path)


def test_unavailable_is_a_stand_in_that_says_so(keras_cache: Path) -> None:
    loaded = load_release(release(), seed=0, download_timeout_s=1.0)
    assert loaded.stand_in is not None
    assert loaded.stand_in.startswith("NOT CIFAR-10")
    assert str(keras_cache) in loaded.stand_in
    assert "refused" in loaded.stand_in
    assert loaded.train[0].shape == (5 * ROWS, 32, 32, 3)
    assert loaded.test[0].shape == (ROWS, 32, 32, 3)


def test_unavailable_is_an_error_on_request(keras_cache: Path) -> None:
    with pytest.raises(DataError, match=r"data\.download is false.*set data\.dir"):
        load_release(release(), seed=0, download=False, on_unavailable="error")
    assert not keras_cache.exists()


def test_the_missing_data_is_told_without_importing_what_is_slow(keras_cache: Path) -> None:
    code = (
        "import sys; from autotune.data import cifar10\n"
        "from autotune.errors import DataError\n"
        "try: cifar10.load(seed=0, download=False, on_unavailable='error')\n"
        "except DataError: print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "numpy" in loaded
    assert not loaded & {"tensorflow", "keras", "sklearn", "scipy", "mlflow"}


def test_load_offers_what_the_configuration_passes(keras_cache: Path) -> None:
    with pytest.raises(DataError, match="CIFAR-10 is not in"):
        cifar10.load(seed=3, download=False, download_timeout_s=1.0, on_unavailable="error")


def long_named(name_bytes: int) -> bytes:
    """A .tar.gz that begins with a name of so many bytes, as GNU tar writes long ones."""
    name = tarfile.TarInfo("././@LongLink")
    name.type, name.size = tarfile.GNUTYPE_LONGNAME, name_bytes
    buffer = io.BytesIO()
    with gzip.open(buffer, "wb", 1) as stream:
        stream.write(name.tobuf(tarfile.GNU_FORMAT))
        for _ in range(name_bytes >> 20):
            stream.write(b"x" * (1 << 20))
    return buffer.getvalue()


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cifar10_files, "MAX_UNPACKED_BYTES", 8 << 20)
    archive = tmp_path / DIR_ARCHIVES[0]
    archive.write_bytes(long_named(64 << 20))
    with takes_at_most(20), pytest.raises(DataError, match="it unpacks to more than 8 MiB"):
        read(archive)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_what_is_no_plain_file_is_not_made(tmp_path: Path, kind: bytes) -> None:
    member = tarfile.TarInfo(f"{FOLDER}/data_batch_1")
    member.type, member.linkname = kind, "/etc/passwd"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        tar.addfile(member)
    archive = tmp_path / DIR_ARCHIVES[0]
    archive.write_bytes(buffer.getvalue())
    with pytest.raises(DataError, match="no plain file"):
        read(archive)
    assert list(tmp_path.iterdir()) == [archive]


def test_a_member_that_claims_to_be_huge_is_refused(tmp_path: Path) -> None:
    member = tarfile.TarInfo(f"{FOLDER}/data_batch_1")
    member.size = 1 << 33
    archive = tmp_path / DIR_ARCHIVES[0]
    archive.write_bytes(gzip.compress(member.tobuf() + bytes(1024)))
    with pytest.raises(DataError, match="no plain file of at most 100 MiB"):
        read(archive)
