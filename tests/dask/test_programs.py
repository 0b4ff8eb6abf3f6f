"""What people run on a cluster: a survey, and a network that classifies pictures."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from distributed import Client, wait

from groundstate import dnn
from groundstate.cli.main import main
from groundstate.dask import LocalDeviceCluster
from groundstate.dask.survey import outcome_of
from groundstate.survey.trial import FAILED
from tests.survey.modules import exporting, importing, kernel, refused, shared_object

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_workers_find_what_this_machine_finds(
    cluster: LocalDeviceCluster,
    client: Client,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Modules that need others are linked with them, too."""
    modules = [kernel("good", 5), refused("odd"), exporting("one"), importing("calls", "one")]
    shared_object(tmp_path, [(each, len(each)) for each in modules])
    for image in tmp_path.glob("image*"):
        image.unlink()
    arguments = ["survey", str(tmp_path), "--width", "8", "--json"]
    found = []
    for more in (["--scheduler", cluster.scheduler_address], ["--jobs", "1"]):
        assert main([*arguments, *more]) == 0
        found.append(json.loads(capsys.readouterr().out))
    there, here = found
    for name in ("modules", "kernels", "results", "reasons", "problems", "compiled_now"):
        assert there[name] == here[name]
    assert there["results"] == {"compiled": 3, "incomplete": 0, "refused": 1, "failed": 0}


def test_a_module_that_no_worker_survives_has_failed(client: Client) -> None:
    future = client.submit(divmod, 1, 0)
    wait(future)
    outcome = outcome_of(future)
    assert (outcome.result, outcome.made) == (FAILED, {})
    assert outcome.sentence.startswith("no worker could compile it: ")


def test_a_scheduler_that_is_not_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.spv").write_bytes(kernel("one", 1))
    monkeypatch.setattr("groundstate.dask.survey.TIMEOUT", "200ms")
    assert main(["survey", str(tmp_path), "--scheduler", "tcp://127.0.0.1:1"]) == 1
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert said.startswith("groundstate survey: no workers at tcp://127.0.0.1:1: ")


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
