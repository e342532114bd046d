"""The programs that check the chart and are built from source: helm, an API server, schemas, the operator's types."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.conformance.tools import Missing, Tools
from tests.support.shared import ROOT

HERE: Final = Path(__file__).parent
BUILD_SECONDS: Final = 7_200
"""For one program. An API server took 21 minutes on two busy cores."""

_VERSION: Final = "-ldflags=-X=k8s.io/component-base/version.gitVersion=v1.34.4"
"""helm asks the server for it, and compares it with what the chart allows. The same as in apiserver/go.mod."""


class ChartTools(Tools):
    """Tools below `.tools/chart`. `may_build`: build them where they are not; otherwise raise Missing."""

    def __init__(self, *, may_build: bool) -> None:
        super().__init__(ROOT / ".tools" / "chart", BUILD_SECONDS)
        self._may_build = may_build

    @property
    def builders(self) -> Mapping[str, Callable[[], Path]]:
        return {
            "helm": lambda: self.go_install("helm.sh/helm/v3/cmd/helm", "v3.22.0"),
            "kubernetes-validate": lambda: self.python("kubernetes-validate==1.37.0"),
            "operator": lambda: self.go_build(HERE / "operator"),
            "apiserver": lambda: self.go_build(HERE / "apiserver", _VERSION),
        }

    def _install(
        self,
        command: Sequence[str | Path],
        what: str,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        if not self._may_build:
            raise Missing(f"{what}: `make chart` builds it")
        super()._install(command, what, environment, folder)
