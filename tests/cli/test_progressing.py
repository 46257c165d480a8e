"""What is seen of long work while it goes on, where there is no terminal that shows a bar."""

import pytest

from jsmemory.cli.progressing import NowAndThen, Progressed, go_through, shown_by_parts


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)


def test_a_log_is_told_now_and_then_what_is_being_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Ten minutes without a word look like a command that hangs; a line for each step would bury the log."""
    with shown_by_parts("Measuring", every_s=0) as report:
        report("list", 0.5)
        report("copy", 1.0)
    assert capsys.readouterr() == ("", "Measuring list: 50%\nMeasuring copy: 100%\n")
    with shown_by_parts("Measuring", every_s=60) as report:
        report("list", 0.5)
    assert capsys.readouterr() == ("", "")


def test_a_log_is_told_how_much_is_moved(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of a large bucket is started in the evening, and looked at in the morning."""
    monkeypatch.setattr(NowAndThen.__init__, "__defaults__", (0.0,))

    async def work(on_progress: Progressed) -> str:
        on_progress(1200, 5000)
        return "done"

    assert go_through("Copying", ("entry", "entries"), lambda: "", work) == "done"
    assert capsys.readouterr() == ("", "Copying: 1,200 of 5,000\n")


def test_a_terminal_has_its_bar_alone(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A line in the middle of a bar would tear it."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    with shown_by_parts("Measuring", every_s=0) as report:
        report("list", 0.5)
    assert "Measuring list: 50%" not in capsys.readouterr().err
