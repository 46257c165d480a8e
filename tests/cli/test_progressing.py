"""What is seen of long work while it goes on, where there is no terminal that shows a bar."""

import pytest

from jsmemory.cli import progressing
from jsmemory.cli.progressing import Progressed, go_through, shown_by_parts


@pytest.fixture(autouse=True)
def _a_log_that_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progressing, "_EVERY_S", 0.0)
    for variable in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)


def test_a_log_is_told_now_and_then_what_is_being_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten minutes without a word look like a command that hangs; a line for each step would bury the log."""
    with shown_by_parts("Measuring") as report:
        report("list", 0.5)
        report("copy", 1.0)
    assert capsys.readouterr() == ("", "Measuring list: 50%\nMeasuring copy: 100%\n")
    monkeypatch.setattr(progressing, "_EVERY_S", 60.0)
    with shown_by_parts("Measuring") as report:
        report("list", 0.5)
    assert capsys.readouterr() == ("", "")


def test_a_log_is_told_how_much_is_moved(capsys: pytest.CaptureFixture[str]) -> None:
    """A copy of a large bucket is started in the evening, and looked at in the morning."""

    async def work(on_progress: Progressed) -> str:
        on_progress(1200, 5000)
        return "done"

    assert go_through("Copying", ("entry", "entries"), lambda: "", work) == "done"
    assert capsys.readouterr() == ("", "Copying: 1,200 of 5,000\n")


def test_a_terminal_has_its_bar_alone(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A line in the middle of a bar would tear it."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    with shown_by_parts("Measuring") as report:
        report("list", 0.5)
    assert "Measuring list: 50%" not in capsys.readouterr().err
