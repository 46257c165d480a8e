"""``jsmemory bench --plot FILE``: a picture of what was measured."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jsmemory.cli.exits import SetupRefused, UsageRefused
from jsmemory.cli.numbers import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ENDINGS: Final = (".svg", ".png", ".pdf")
_INCHES: Final = (9.0, 5.0)
# Of one drawing; they stand one below the other.


@dataclass(frozen=True, slots=True)
class Drawing:
    """
    A file that a picture is drawn to.

    Attributes:
        file: Its ending says what kind it is.
    """

    file: Path

    def draw(self, document: Mapping[str, Any]) -> None:
        """
        Draw whatever of a measurement is there.

        Args:
            document: As ``jsmemory bench --json`` writes it.

        Raises:
            SetupRefused: the file cannot be written.
        """
        from matplotlib.figure import Figure

        parts = [draw for name, draw in _PARTS.items() if name in document]
        figure = Figure(figsize=(_INCHES[0], _INCHES[1] * len(parts)), layout="constrained")
        for axes, draw in zip(figure.subplots(len(parts), squeeze=False)[:, 0], parts, strict=True):
            draw(axes, document)
        try:
            figure.savefig(self.file, metadata=None)
        except OSError:
            raise SetupRefused(f"The file {self.file} cannot be written. Name another: --plot FILE.") from None


def drawn_to(file: Path) -> Drawing:
    """
    Look whether a picture can be drawn, before anything is measured for it.

    Raises:
        UsageRefused: by its ending, the file is no picture.
        SetupRefused: matplotlib is missing, or the folder is.
    """
    if file.suffix.lower() not in _ENDINGS:
        raise UsageRefused(f"The file {file} is drawn by its ending. Name one that ends in {', '.join(_ENDINGS)}.")
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise SetupRefused("Drawing needs matplotlib. Install it: pip install 'jsmemory[plot]'") from None
    if not file.absolute().parent.is_dir():
        raise SetupRefused(f"There is no folder for {file}. Make it, or name another file: --plot FILE.")
    if file.is_dir():
        raise SetupRefused(f"A folder {file} is there. Name another file: --plot FILE.")
    return Drawing(file)


def _draw_ratios(axes: "Axes", document: Mapping[str, Any]) -> None:
    ratios = {name: each["ratio"] for name, each in {**document["operations"], **document["tools"]}.items()}
    names = list(ratios)
    axes.barh(names, [ratios[name] for name in names])
    axes.axvline(1.0, color="black", linewidth=1)
    axes.invert_yaxis()
    axes.set_xlabel("times what it is held against (1: costs nothing)")
    axes.set_title("Each operation against the plain request, each tool against its operation")


def _draw_loads(axes: "Axes", document: Mapping[str, Any]) -> None:
    mixed = [each for each in document["throughput"] if each["mix"] == "mixed"]
    places = range(len(mixed))
    axes.bar([place - 0.2 for place in places], [each["per_second"] for each in mixed], 0.4, label="jsmemory")
    axes.bar([place + 0.2 for place in places], [each["raw_per_second"] for each in mixed], 0.4, label="nats-py alone")
    axes.set_xticks(list(places), [_load(each) for each in mixed])
    axes.set_ylabel("operations a second")
    axes.set_title("Throughput")
    axes.legend()


def _load(each: Mapping[str, Any]) -> str:
    processes = each["processes"]
    runs = counted(each["runs"], "run")
    return runs if processes == 1 else f"{processes} processes\nof {runs}"


def _draw_growth(axes: "Axes", document: Mapping[str, Any]) -> None:
    for operation, by_size in document["scale"]["operations"].items():
        entries: Sequence[int] = [int(each) for each in by_size]
        axes.plot(entries, [each["median_ms"] for each in by_size.values()], marker="o", label=operation)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("entries of the bucket")
    axes.set_ylabel("median ms")
    axes.set_title("Each operation in buckets of several sizes")
    axes.legend()


_PARTS: Final[Mapping[str, "Callable[[Axes, Mapping[str, Any]], None]"]] = {
    "operations": _draw_ratios,
    "throughput": _draw_loads,
    "scale": _draw_growth,
}
