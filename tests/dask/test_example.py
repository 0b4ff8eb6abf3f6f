"""The example: pictures that a network classifies on all devices."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from distributed import Client

from groundstate import dnn

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_workers_find_the_classes_that_one_device_finds(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    example = importlib.import_module("dask_pictures")
    for name in ("report.py", "resnet18.py", "dask_pictures.py"):
        client.upload_file(str(EXAMPLES / name))
    shape = example.Shape(batch=2, image=32, width=16, classes=10, blocks=(1,))
    workers, classes = example.classify_all(client, shape, batches=6)
    assert set(workers) <= {"0.1", "1.3"}
    assert sum(workers.values()) == 6
    network = example.ResNet(dnn.Engine.create(), shape, example.SEED)
    assert classes == [
        number
        for batch in range(6)
        for number in network.classify(example.make_pictures(shape, example.SEED + batch))
        .argmax(1)
        .tolist()
    ]
