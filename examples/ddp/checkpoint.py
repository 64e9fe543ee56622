"""Checkpoints in the layout of train_lm: ROOT/step-00000040/ with its files and a manifest.json that says
what they must be. Written under another name, flushed and renamed, so what has the final name was whole once."""

import hashlib
import json
import os
import shutil

import torch

FORMAT = "train_ddp checkpoint 1"
UNFINISHED = ".unfinished-"


class Rejected(Exception):
    pass


def _sha256(data):
    return hashlib.sha256(data).hexdigest()


def _self_checksum(manifest):
    rest = {key: value for key, value in manifest.items() if key != "manifest_sha256"}
    return _sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode())


def _write_flushed(path, data):
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(path):
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _names(root, prefix):
    """Newest first; steps are padded with zeros, so names sort as numbers do."""
    try:
        return sorted((name for name in os.listdir(root) if name.startswith(prefix)), reverse=True)
    except FileNotFoundError:
        return []


def save(root, step, world_size, digest, state, keep=3):
    """Called by one rank; all hold the same state."""
    name = f"step-{step:08d}"
    folder = os.path.join(root, UNFINISHED + name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    path = os.path.join(folder, "state.pt")
    torch.save(state, path)
    with open(path, "rb") as file:
        data = file.read()
        os.fsync(file.fileno())
    manifest = {
        "format": FORMAT,
        "step": step,
        "world_size": world_size,
        "model_digest": digest,
        "files": [{"name": "state.pt", "size": len(data), "sha256": _sha256(data)}],
    }
    manifest["manifest_sha256"] = _self_checksum(manifest)
    _write_flushed(os.path.join(folder, "manifest.json"), json.dumps(manifest, indent=2).encode() + b"\n")
    _flush_folder(folder)
    published = os.path.join(root, name)
    shutil.rmtree(published, ignore_errors=True)  # a damaged one of the same step, passed over at the start
    os.rename(folder, published)
    _flush_folder(root)
    for old in _names(root, "step-")[keep:] + _names(root, UNFINISHED):
        shutil.rmtree(os.path.join(root, old))


def _read(folder, name):
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise Rejected(f"no {name}") from None


def _verify(folder):
    try:
        manifest = json.loads(_read(folder, "manifest.json"))
        if manifest["manifest_sha256"] != _self_checksum(manifest):
            raise Rejected("manifest.json does not have its own checksum")
        if manifest["format"] != FORMAT:
            raise Rejected("manifest.json is of another format")
        if os.path.basename(folder) != f"step-{manifest['step']:08d}":
            raise Rejected("manifest.json is of another step")
    except (ValueError, KeyError, TypeError):
        raise Rejected("manifest.json is not complete") from None
    for entry in manifest["files"]:
        data = _read(folder, entry["name"])
        if len(data) != entry["size"]:
            raise Rejected(f"{entry['name']} has {len(data)} bytes instead of {entry['size']}")
        if _sha256(data) != entry["sha256"]:
            raise Rejected(f"{entry['name']} does not have the checksum in manifest.json")


def load_newest_valid(root, rejected):
    """The state, or None; `rejected(name, reason)` hears of each checkpoint that was passed over."""
    for name in _names(root, UNFINISHED):
        rejected(name, "it was never finished")
    for name in _names(root, "step-"):
        folder = os.path.join(root, name)
        try:
            _verify(folder)
        except Rejected as error:
            rejected(name, str(error))
            continue
        return torch.load(os.path.join(folder, "state.pt"), map_location="cpu")
    return None
