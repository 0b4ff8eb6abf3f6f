"""Classifies many pictures with a network of ResNet-18's shape, on all devices at once, with Dask.

Each device or sub-device has a worker, which makes its network when the first pictures come. The
weights are made up, as in `resnet18.py`.

    python examples/dask_pictures.py --topology 2
    python examples/dask_pictures.py --scheduler tcp://10.0.0.1:8786
"""

import argparse
import json
import time
from collections import Counter
from pathlib import Path

try:
    import numpy as np
    from distributed import Client, get_worker
    from numpy.typing import NDArray
    from resnet18 import ResNet, Shape, make_pictures

    import groundstate.dnn as dnn
    from groundstate.dask import LocalDeviceCluster
except ImportError as problem:
    raise SystemExit(f"{problem}: pip install 'groundstate[dask,dnn]'") from None

SEED = 0


def network_of(worker, shape: Shape) -> ResNet:
    """The network of a worker on its device: made once, with the same weights everywhere."""
    if getattr(worker, "network", None) is None or worker.network.shape != shape:
        worker.network = ResNet(dnn.Engine.create(), shape, SEED)
    return worker.network


def classify(shape: Shape, batch: int) -> tuple[str, NDArray[np.int64]]:
    """The classes of one batch of pictures, and the name of the worker that found them."""
    worker = get_worker()
    pictures = make_pictures(shape, SEED + batch)
    return str(worker.name), network_of(worker, shape).classify(pictures).argmax(1)


def classify_all(client: Client, shape: Shape, batches: int) -> tuple[Counter[str], list[int]]:
    """How many batches each worker had, and the classes of all pictures in order."""
    futures = client.map(classify, [shape] * batches, range(batches), pure=False)
    found = client.gather(futures)
    return Counter(name for name, _ in found), np.concatenate([each for _, each in found]).tolist()


def main() -> None:
    """Starts a cluster or joins one, and gives its workers the batches."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scheduler", help="a running cluster instead of this machine alone")
    parser.add_argument("--topology", help="divide this machine into devices, such as 2 or 2x4")
    parser.add_argument("--batches", type=int, default=16, help="(default: 16)")
    parser.add_argument("--batch", type=int, default=4, help="pictures in each (default: 4)")
    parser.add_argument("--image", type=int, default=224, help="pixels of a side (default: 224)")
    parser.add_argument("--width", type=int, default=64, help="channels at first (default: 64)")
    parser.add_argument("--json", action="store_true", help="print the classes for programs")
    options = parser.parse_args()
    shape = Shape(options.batch, options.image, options.width)
    cluster = options.scheduler or LocalDeviceCluster(
        topology=options.topology, dashboard_address=None
    )
    with Client(cluster) as client:
        client.wait_for_workers(1)
        for name in ("report.py", "resnet18.py"):  # other machines do not have them
            client.upload_file(str(Path(__file__).with_name(name)))
        begin = time.perf_counter()
        workers, classes = classify_all(client, shape, options.batches)
        seconds = time.perf_counter() - begin
    if options.scheduler is None:
        cluster.close()
    if options.json:
        print(json.dumps({"seconds": seconds, "workers": workers, "classes": classes}))
        return
    for name, batches in sorted(workers.items()):
        print(f"worker {name}: {batches} batches")
    print(f"{len(classes)} pictures in {seconds:.1f} s, of {len(set(classes))} classes")


if __name__ == "__main__":
    main()
