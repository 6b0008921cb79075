"""Writes log files with the real TensorBoard and W&B packages, and prints what these packages read from them.

Called by the tests of rlxp-store with a folder to write to. Prints {file: {"format", "series": {name: [[step, value]]}}}
with file relative to that folder. Values are printed as the bits of their f64, so that the comparison is exact. Nothing
here uses a network: W&B runs offline, and TensorBoard's writer is used without a server.
"""

import contextlib
import csv
import json
import math
import os
import random
import struct
import sys
from pathlib import Path

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.plugins.scalar import metadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util

VALUES = [0.0, -1.5, 0.1, 1e-30, 1e30, math.nan, math.inf, 3.0]


def bits(number):
    return struct.unpack("<Q", struct.pack("<d", float(number)))[0]


def simple(tag, value):
    return summary_pb2.Summary.Value(tag=tag, simple_value=value)


def tensor(tag, value):
    proto = tensor_util.make_tensor_proto(value)
    about = metadata.create_summary_metadata(display_name="", description="")
    return summary_pb2.Summary.Value(tag=tag, tensor=proto, metadata=about)


def add(writer, step, values):
    writer.add_event(event_pb2.Event(step=step, wall_time=1.0 + step, summary=summary_pb2.Summary(value=values)))


def tensorboard(folder):
    """Scalars as PyTorch and as TensorFlow 2 write them, and ten thousand steps out of order."""
    writer = EventFileWriter(str(folder))
    for step, value in enumerate(VALUES):
        values = [
            simple("simple", value),
            tensor("float32", np.float32(value)),
            tensor("float64", np.float64(value)),
            tensor("int64", np.int64(step - 3)),
            tensor("int32", np.int32(step - 3)),
        ]
        add(writer, step * 1000, values)
    steps = list(range(10_000))
    random.Random(1).shuffle(steps)
    for step in steps:
        add(writer, step, [simple("shuffled", step / 7)])
    writer.close()
    return read_events(folder)


def restarted(folder):
    """A session that was restarted at step 20, as `purge_step` of PyTorch's SummaryWriter does."""
    writer = EventFileWriter(str(folder))
    for step in range(5):
        add(writer, step * 10, [simple("a", step), simple("b", -step)])
    start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
    writer.add_event(event_pb2.Event(step=20, wall_time=99.0, session_log=start))
    for step in range(2, 6):
        add(writer, step * 10, [simple("a", step / 3)])
    writer.close()
    return read_events(folder)


def read_events(folder):
    (path,) = folder.iterdir()
    read = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0})
    read.Reload()
    series = {}
    for tag in read.Tags()["scalars"]:
        series[tag] = [[event.step, bits(event.value)] for event in read.Scalars(tag)]
    for tag in read.Tags()["tensors"]:
        events = read.Tensors(tag)
        series[tag] = [[event.step, bits(tensor_util.make_ndarray(event.tensor_proto).item())] for event in events]
    return path, series


def wandb(folder):
    """An offline run with nested, late, rare and summary keys."""
    os.environ |= {
        "WANDB_MODE": "offline",
        "WANDB_SILENT": "true",
        "WANDB_DIR": str(folder),
        "WANDB_ERROR_REPORTING": "false",
        "WANDB_CONSOLE": "off",
        "WANDB_X_DISABLE_STATS": "true",
        "WANDB_CONFIG_DIR": str(folder / "config"),
        "WANDB_CACHE_DIR": str(folder / "cache"),
    }
    import wandb as package
    from wandb.proto import wandb_internal_pb2
    from wandb.sdk.internal.datastore import DataStore

    run = package.init(project="oracle")
    for step in range(800):
        row = {"loss": step / 3, "eval": {"return": -step}, "note": "x" * (step % 50)}
        if step % 100 == 0:
            row["rare"] = VALUES[step // 100 % len(VALUES)]
        run.log(row, step=step * 10)
    run.summary["best"] = 7.25
    run.finish()

    (path,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    store = DataStore()
    store.open_for_scan(str(path))
    series, summary = {}, {}
    while (data := store.scan_data()) is not None:
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        name = lambda item: ".".join(item.nested_key) or item.key
        for item in record.history.item:
            value = json.loads(item.value_json)
            value = float(value) if value in ("NaN", "Infinity", "-Infinity") else value
            if isinstance(value, (int, float)):
                series.setdefault(name(item), []).append([record.history.step.num, bits(value)])
        for item in record.summary.update:
            summary[name(item)] = json.loads(item.value_json)
    series["best"] = [[None, bits(summary["best"])]]
    return path, series


def progress(folder):
    """progress.csv as Stable-Baselines3's CSVOutputFormat writes it: new keys extend the header and pad old rows."""
    path = folder / "progress.csv"
    keys, rows = [], []
    for step in range(200):
        row = {"time/total_timesteps": step * 2048, "rollout/ep_rew_mean": step / 3}
        if step >= 5:
            row["train/loss"] = math.nan if step == 100 else -step / 9
        if step % 10 == 9:
            row["eval/mean_reward"] = step * 1e-9
        keys += sorted(set(row) - set(keys))
        rows.append(row)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(keys)
        writer.writerows([[row.get(key, "") for key in keys] for row in rows])
    series = {key: [] for key in keys}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            step = float(row["time/total_timesteps"])
            for key in keys:
                if row[key]:
                    series[key].append([step, bits(float(row[key]))])
    return path, series


def main():
    folder = Path(sys.argv[1])
    found = {}
    with contextlib.redirect_stdout(sys.stderr):
        for write in [tensorboard, restarted, wandb, progress]:
            own = folder / write.__name__
            own.mkdir()
            path, series = write(own)
            found[str(path.relative_to(folder))] = {"format": write.__name__, "series": series}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
