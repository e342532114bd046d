"""The reference figures of `make bench`: they can be read, and a worse ratio is noticed."""

from pathlib import Path

import pytest

from benchmarks.__main__ import TOLERANCE, Figure, figures, measured


@pytest.mark.parametrize("figure", figures(), ids=lambda figure: figure.name[:40])
def test_every_figure_names_a_benchmark_and_a_ratio(figure: Figure) -> None:
    module = figure.command.split()[0]
    assert (Path(*module.split(".")) / "__main__.py").is_file()
    assert figure.best > 0 and figure.by


OUTPUT = "         CPU ms  ratio\nthis tree  2,000.5   1.25\nold        1,000.5\n"


@pytest.mark.parametrize(
    ("pattern", "ratio"),
    [(r"^this tree +\S+ +(\S+)", 1.25), (r"(?s)^this tree +(\S+).*^old +(\S+)", 2000.5 / 1000.5)],
    ids=["printed", "of two values"],
)
def test_a_ratio_is_found_in_the_output(pattern: str, ratio: float) -> None:
    assert Figure("a", "b", pattern, True, 1.0, "").ratio(OUTPUT) == pytest.approx(ratio)


def test_an_output_without_the_ratio_is_an_error() -> None:
    with pytest.raises(ValueError, match="has no"):
        Figure("a", "b", "^nothing (.)", True, 1.0, "").ratio(OUTPUT)


def test_only_a_ratio_that_is_worse_than_the_noise_is_worse() -> None:
    rate, time = (Figure("a", "b", "", higher, 2.0, "") for higher in (True, False))
    slightly, clearly = 1 - TOLERANCE / 2, 1 - 2 * TOLERANCE
    assert [rate.is_worse(2.0 * part) for part in (clearly, slightly, 1.5)] == [True, False, False]
    assert [time.is_worse(2.0 / part) for part in (clearly, slightly, 1.5)] == [True, False, False]


def test_figures_of_one_benchmark_are_measured_in_one_run() -> None:
    runs: list[str] = []

    def run(command: str) -> str:
        runs.append(command)
        return "1.5 2.5"

    wanted = [Figure("one", "bench", r"^(\S+)", True, 1, ""), Figure("two", "bench", r" (\S+)$", True, 1, "")]
    assert measured(wanted, run) == {"one": 1.5, "two": 2.5}
    assert runs == ["bench"]
