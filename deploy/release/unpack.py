"""Unpacks an image of an OCI layout as a container runtime does: every digest is proved.

    unpack.py LAYOUT ARCHITECTURE FOLDER
"""

import gzip
import hashlib
import io
import json
import shutil
import sys
import tarfile
from pathlib import Path


def blob(layout, descriptor):
    digest = descriptor["digest"].removeprefix("sha256:")
    content = (layout / "blobs/sha256" / digest).read_bytes()
    if hashlib.sha256(content).hexdigest() != digest or len(content) != descriptor["size"]:
        sys.exit(f"{layout}: what is kept as {descriptor['digest']} is something else")
    return content


def main():
    layout, architecture, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    outer = json.loads((layout / "index.json").read_bytes())
    index = json.loads(blob(layout, outer["manifests"][0]))
    found = [told for told in index["manifests"] if told["platform"]["architecture"] == architecture]
    if not found:
        sys.exit(f"{layout} has no image for {architecture}: build it with deploy/release/build")
    manifest = json.loads(blob(layout, found[0]))
    config = json.loads(blob(layout, manifest["config"]))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for descriptor, diff_id in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        layer = gzip.decompress(blob(layout, descriptor))
        if f"sha256:{hashlib.sha256(layer).hexdigest()}" != diff_id:
            sys.exit(f"{layout}: layer {diff_id} is something else")
        with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
            archive.extractall(folder, filter="fully_trusted")
    print(config["config"]["User"])


if __name__ == "__main__":
    main()
