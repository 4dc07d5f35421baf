"""Puts a release together from what was compiled, byte for byte the same each time.

    FOLDER/rootfs/ARCHITECTURE     root file system of the image
    FOLDER/image                   OCI layout of the image, for all architectures
    FOLDER/chart                   OCI layout of the chart
    FOLDER/krew                    archives of the user tool and the manifest for krew
    FOLDER/digests.txt             what was made, by digest

Nothing is asked of the network or of Docker. Times are SOURCE_DATE_EPOCH, owners 0:0, names sorted.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
REPOSITORY = "https://github.com/pumice-sh/pumice"
# Names of architectures: Rust's, and that of OCI and krew.
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
# Package and program.
PROGRAMS = {"pumice-scheduler": "pumice-scheduler", "pumice-controllers-bin": "pumice-controllers"}
# Deployments made for Volcano may name its commands.
LINKS = {"vc-scheduler": "pumice-scheduler", "vc-controller-manager": "pumice-controllers"}
USER = 65532


def tar(entries):
    """An archive of {path: bytes, a link's target as str, or None for a folder}; each with its mode."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, (content, mode) in sorted(entries.items()):
            info = tarfile.TarInfo(path)
            info.mtime, info.mode = EPOCH, mode
            if content is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            elif isinstance(content, str):
                info.type, info.linkname = tarfile.SYMTYPE, content
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def compressed(content):
    return gzip.compress(content, compresslevel=9, mtime=0)


def as_json(value):
    return json.dumps(value, indent=1, sort_keys=True).encode() + b"\n"


class Layout:
    """An OCI image layout being written."""

    def __init__(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "blobs/sha256").mkdir(parents=True)
        (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}\n')
        self.folder = folder

    def add(self, content, media_type, **more):
        """Its descriptor."""
        digest = hashlib.sha256(content).hexdigest()
        (self.folder / "blobs/sha256" / digest).write_bytes(content)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content), **more}

    def end(self, descriptor, tag):
        names = {"org.opencontainers.image.ref.name": tag}
        index = {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [{**descriptor, "annotations": names}],
        }
        (self.folder / "index.json").write_bytes(as_json(index))
        return descriptor["digest"]


def metadata(target):
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", target]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)


def checksums():
    """SHA-256 of packages, by name and version, from Cargo.lock."""
    found, name, version = {}, None, None
    for line in (ROOT / "Cargo.lock").read_text().splitlines():
        key, _, value = line.partition(" = ")
        value = value.strip('"')
        if key == "name":
            name = value
        elif key == "version":
            version = value
        elif key == "checksum":
            found[name, version] = value
    return found


def bill_of_materials(package, program, target):
    """Every crate in a program, with version, licence and checksum: CycloneDX 1.5."""
    known = metadata(target)
    packages = {found["id"]: found for found in known["packages"]}
    nodes = {node["id"]: node for node in known["resolve"]["nodes"]}
    root = next(id for id, found in packages.items() if found["name"] == package)
    sums, reached, waiting = checksums(), {}, [root]
    while waiting:
        id = waiting.pop()
        if id not in reached:
            # What only builds or tests it is not in it.
            linked = [
                dependency["pkg"]
                for dependency in nodes[id]["deps"]
                if any(kind["kind"] is None for kind in dependency["dep_kinds"])
            ]
            reached[id] = sorted(linked)
            waiting.extend(linked)

    def name(id):
        found = packages[id]
        return f"pkg:cargo/{found['name']}@{found['version']}"

    def component(id):
        found = packages[id]
        told = {
            "type": "library",
            "bom-ref": name(id),
            "name": found["name"],
            "version": found["version"],
            "purl": name(id),
        }
        if found["license"]:
            told["licenses"] = [{"expression": found["license"].replace("/", " OR ")}]
        checksum = sums.get((found["name"], found["version"]))
        if checksum:
            told["hashes"] = [{"alg": "SHA-256", "content": checksum}]
        return told

    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {**component(root), "type": "application", "name": program}},
        "components": sorted(
            (component(id) for id in reached if id != root), key=lambda told: told["bom-ref"]
        ),
        "dependencies": sorted(
            (
                {"ref": name(id), "dependsOn": sorted(map(name, linked))}
                for id, linked in reached.items()
            ),
            key=lambda told: told["ref"],
        ),
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, REPOSITORY + hashlib.sha256(as_json(bill)).hexdigest())
    return as_json({**bill, "serialNumber": f"urn:uuid:{serial}"})


def root_file_system(programs, target, certificates, third_party):
    files = {"tmp": (None, 0o1777), "licenses": (None, 0o755)}
    # A container runtime mounts something on the last three.
    for folder in ["etc", "etc/ssl", "etc/ssl/certs", "dev", "proc", "sys"]:
        files[folder] = (None, 0o755)
    for package, program in PROGRAMS.items():
        files[program] = ((programs / program).read_bytes(), 0o755)
        files[f"{program}.cdx.json"] = (bill_of_materials(package, program, target), 0o644)
    for link, program in LINKS.items():
        files[link] = (f"/{program}", 0o777)
    users = f"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/:/sbin/nologin\n"
    groups = f"root:x:0:\nnonroot:x:{USER}:\n"
    files["etc/passwd"] = (users.encode(), 0o644)
    files["etc/group"] = (groups.encode(), 0o644)
    files["etc/ssl/certs/ca-certificates.crt"] = (certificates.read_bytes(), 0o644)
    terms = next(certificates.parents[1].glob("certifi-*.dist-info/**/LICENSE"))
    files["licenses/certificates.txt"] = (terms.read_bytes(), 0o644)
    files["licenses/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    if third_party:
        text = subprocess.run(third_party, shell=True, cwd=ROOT, check=True, capture_output=True)
        files["licenses/THIRD-PARTY.txt"] = (text.stdout, 0o644)
    return files


def unpack(files, folder):
    """The root file system as a folder, for Dockerfile and for trying it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path, (content, mode) in sorted(files.items()):
        place = folder / path
        if isinstance(content, str):
            place.symlink_to(content)
            continue
        if content is None:
            place.mkdir()
        else:
            place.write_bytes(content)
        place.chmod(mode)


def image(layout, files, architecture, version):
    layer = tar(files)
    labels = {
        "org.opencontainers.image.title": "pumice",
        "org.opencontainers.image.source": REPOSITORY,
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "Apache-2.0",
    }
    config = {
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "Entrypoint": ["/pumice-scheduler"],
            "ExposedPorts": {"8080/tcp": {}, "8081/tcp": {}, "11251/tcp": {}},
            "Env": ["SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"],
            "WorkingDir": "/",
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": layout.add(as_json(config), "application/vnd.oci.image.config.v1+json"),
        "layers": [layout.add(compressed(layer), "application/vnd.oci.image.layer.v1.tar+gzip")],
        "annotations": labels,
    }
    platform = {"architecture": architecture, "os": "linux"}
    return layout.add(as_json(manifest), manifest["mediaType"], platform=platform)


def chart(out, version):
    """The chart as `helm push` makes it of a package."""
    source = ROOT / "deploy/helm/pumice"
    files = {}
    # The definitions of resources are a link to where they are generated.
    for folder, _, names in os.walk(source, followlinks=True):
        for name in names:
            path = Path(folder) / name
            files[f"pumice/{path.relative_to(source)}"] = (path.read_bytes(), 0o644)
    package = compressed(tar(files))
    (out / f"pumice-{version}.tgz").write_bytes(package)
    layout = Layout(out / "chart")
    about = {"apiVersion": "v2", "name": "pumice", "type": "application"}
    for line in (source / "Chart.yaml").read_text().splitlines():
        key, _, value = line.partition(": ")
        if key in ["name", "description", "version", "appVersion", "kubeVersion", "home"]:
            about[key] = value.strip('"')
    content = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": layout.add(as_json(about), "application/vnd.cncf.helm.config.v1+json"),
        "layers": [layout.add(package, content)],
        "annotations": {"org.opencontainers.image.title": "pumice", "org.opencontainers.image.version": version},
    }
    return layout.end(layout.add(as_json(manifest), manifest["mediaType"]), version)


def krew(out, programs, version):
    """Archives of the user tool, and the manifest that krew's index takes."""
    folder = out / "krew"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    template = (ROOT / "deploy/release/krew.yaml").read_text()
    head, platform = template.split("# each platform\n")
    text = head.replace("VERSION", version)
    for name, built in sorted(programs.items()):
        architecture = ARCHITECTURES[name]
        files = {
            "kubectl-pumice": ((built / "pumice").read_bytes(), 0o755),
            "LICENSE": ((ROOT / "LICENSE").read_bytes(), 0o644),
        }
        archive = compressed(tar(files))
        (folder / f"pumice-linux-{architecture}.tar.gz").write_bytes(archive)
        told = {"VERSION": version, "ARCHITECTURE": architecture, "SHA256": hashlib.sha256(archive).hexdigest()}
        part = platform
        for key, value in told.items():
            part = part.replace(key, value)
        text += part
    (folder / "pumice.yaml").write_text(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--certificates", type=Path, required=True)
    parser.add_argument("--third-party-licenses", default="")
    parser.add_argument("programs", nargs="+", help="ARCHITECTURE=FOLDER of compiled programs")
    arguments = parser.parse_args()
    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    programs = {name: Path(folder) for name, folder in (pair.split("=") for pair in arguments.programs)}
    packages = metadata("x86_64-unknown-linux-musl")["packages"]
    version = next(found["version"] for found in packages if found["name"] == "pumice-scheduler")

    layout, manifests = Layout(out / "image"), []
    for name, built in sorted(programs.items()):
        target = f"{name}-unknown-linux-musl"
        files = root_file_system(built, target, arguments.certificates, arguments.third_party_licenses)
        unpack(files, out / "rootfs" / ARCHITECTURES[name])
        manifests.append(image(layout, files, ARCHITECTURES[name], version))
    index = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": manifests,
    }
    digests = {
        "image": layout.end(layout.add(as_json(index), index["mediaType"]), version),
        "chart": chart(out, version),
    }
    krew(out, programs, version)
    (out / "digests.txt").write_text("".join(f"{name} {digest}\n" for name, digest in digests.items()))
    print((out / "digests.txt").read_text(), end="")


if __name__ == "__main__":
    main()
