"""Layers: owners, modes and times are ours, whatever the checkout has."""

import io
import tarfile
from pathlib import Path

from chaoskafka.images.layers import EPOCH_S, OWNER, Layer


def tree(directory: Path) -> bytes:
    (directory / "bin").mkdir()
    (directory / "bin" / "start").write_text("#!/bin/sh\n")
    (directory / "plain.txt").write_text("text")
    file = io.BytesIO()
    layer = Layer(file)
    layer.tree("opt/x", directory, owner=OWNER)
    layer.text("etc/y", "content")
    layer.close()
    return file.getvalue()


def test_entries_have_fixed_owner_mode_and_time(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(tree(tmp_path))) as tar:
        seen = {member.name: (member.uid, member.mode) for member in tar.getmembers()}
        assert {member.mtime for member in tar.getmembers()} == {EPOCH_S}
    assert seen == {
        "opt/x/bin": (OWNER, 0o755),
        "opt/x/bin/start": (OWNER, 0o755),
        "opt/x/plain.txt": (OWNER, 0o644),
        "etc/y": (0, 0o644),
    }


def test_equal_content_makes_equal_layers(tmp_path: Path) -> None:
    layers = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        layers.append(tree(tmp_path / name))
    assert layers[0] == layers[1]
