"""``jsmemory run``: a run that is driven by lines of JSON, from a shell or from any language."""

import json
import math
import re
from contextlib import AsyncExitStack
from typing import Annotated, Any, Final

import typer

from jsmemory import (
    MAX_KEY_LENGTH,
    InvalidRecordError,
    Journal,
    Run,
    RunClaimedError,
    RunEndedError,
    RunExistsError,
    RunNotFoundError,
    Store,
)
from jsmemory.cli.choosing import check, choose, opened_store
from jsmemory.cli.exits import UsageRefused, in_words_of_the_command_line
from jsmemory.cli.input_lines import input_lines
from jsmemory.cli.journaling import DEFAULT_JOURNAL, JournalOption, chosen_journal
from jsmemory.cli.options import Choice
from jsmemory.cli.output_lines import put_line
from jsmemory.cli.waiting import wait_for

EXAMPLES: Final = (
    """echo '{"name": "memory_list", "arguments": {}}' | jsmemory run --run-id night""",
    "jsmemory run --run-id night --suspend <calls.jsonl",
    "jsmemory run --run-id night --resume --journal runs --bucket team <calls.jsonl",
)

_NAME: Final = re.compile(r"[A-Za-z0-9_=-]+(?:\.[A-Za-z0-9_=-]+)*")


def drive(
    choice: Choice,
    run_id: Annotated[str, typer.Option("--run-id", metavar="NAME", help="1 to 200 characters of A-Z a-z 0-9 . _ = -")],
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was left.")] = False,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Resume it also if its process never left it, and is known to be dead.")
    ] = False,
    journal: JournalOption = DEFAULT_JOURNAL,
    suspend: Annotated[
        bool, typer.Option("--suspend", help="Suspend the run at the end of the input, instead of completing it.")
    ] = False,
    no_index: Annotated[bool, typer.Option("--no-index", help="Begin without an index of what is stored.")] = False,
) -> None:
    """
    Drive a run: read tool calls as lines of JSON, answer each with a line of JSON.

    The first line that is written holds what a model begins with: "system_note", "index" and
    "tools"; and "warning", where a resumed run has less authority than it had. A call is one
    of the Anthropic or the OpenAI API, or {"name": ..., "arguments": {...}}, and its result is
    in the same form.

    Three lines are for the run itself: {"command": "suspend"} leaves it for any process to
    resume, and every line after it is refused; {"command": "rotate"} begins a new
    conversation, which has read nothing; {"command": "record", "name": ..., "data": ...} keeps
    a record of your own.

    At the end of the input the run is completed. Stopped or failed, it can be resumed.
    """
    if len(run_id) > MAX_KEY_LENGTH or not _NAME.fullmatch(run_id):
        raise UsageRefused(
            "The run's name cannot be one: --run-id takes 1 to 200 characters out of A-Z a-z 0-9 . _ = - "
            "with no dot at either end and no two dots in a row."
        )
    try:
        wait_for(_drive(choice, run_id, journal, resume or take_over, take_over, suspend, no_index))
    except RunExistsError as error:
        words = f"The journal holds a run {run_id} already. Go on with it: --resume. Or name another: --run-id NAME."
        raise in_words_of_the_command_line(error, words) from None
    except RunNotFoundError as error:
        words = f"The journal holds no run {run_id}. List them: jsmemory runs. Or start it: leave out --resume."
        raise in_words_of_the_command_line(error, words) from None
    except RunClaimedError as error:
        words = f"{error} Take it over with: --take-over" if error.reason == "held" else str(error)
        raise in_words_of_the_command_line(error, words) from None
    except RunEndedError as error:
        raise in_words_of_the_command_line(error, f"{error} Name it: --run-id NAME.") from None


async def _drive(
    choice: Choice, run_id: str, journal: str, resume: bool, take_over: bool, suspend: bool, no_index: bool
) -> None:
    chosen = choose(choice)
    # Before the journal, which may be a folder that is made.
    check(chosen, choice)
    async with AsyncExitStack() as stack:
        records = await stack.enter_async_context(chosen_journal(choice, journal))
        store = await stack.enter_async_context(opened_store(chosen, choice))
        run = await stack.enter_async_context(_run(store, records, run_id, resume, take_over, no_index))
        await put_line(await _beginning(run))
        is_left = False
        async for line in input_lines():
            if line is None or line.strip():
                answer = await _answer(run, line)
                await put_line(answer)
                is_left = is_left or (answer.get("command") == "suspend" and answer["done"])
        if suspend and not is_left:
            await run.suspend()


def _run(store: Store, journal: Journal, run_id: str, resume: bool, take_over: bool, no_index: bool) -> Any:
    # A flag that is left out is no wish for an index: then it is as the configuration says, and the store knows that.
    wish = True if no_index else None
    if resume:
        return Run.resume(store, journal, run_id, take_over=take_over, no_index=wish)
    return Run.start(store, journal, run_id, no_index=wish)


async def _beginning(run: Run) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "resumed": run.state is not None,
        "warning": run.warning,
        "system_note": run.system_note(),
        "index": await run.index(),
        "tools": run.tools.for_json_schema(),
    }


async def _answer(run: Run, line: bytes | None) -> dict[str, Any]:
    try:
        call = _decoded(line) if line is not None else None
    except (ValueError, RecursionError):
        call = None
    if not isinstance(call, dict) or "command" not in call:
        return await run.tools.dispatch(call)
    try:
        match call["command"]:
            case "suspend":
                await run.suspend()
            case "rotate":
                await run.rotate()
            case "record":
                name = call.get("name")
                await run.record(name if isinstance(name, str) else "", call.get("data"))
            case _:
                reason = "There is no such command. Use suspend, rotate or record."
                return {"command": None, "done": False, "code": "unknown_command", "reason": reason}
    except (InvalidRecordError, RunEndedError) as error:
        return {"command": call["command"], "done": False, "code": error.code, "reason": str(error)}
    return {"command": call["command"], "done": True}


def _decoded(line: bytes) -> Any:
    # Python takes numbers that JSON has not, and would write them into an answer that nobody else can read.
    return json.loads(line, parse_float=_finite, parse_constant=_finite)


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError
    return value
