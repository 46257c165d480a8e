"""``jsmemory provision``: what makes a bucket, or a journal's stream, to run or to commit."""

from enum import StrEnum
from typing import Annotated, Any, Final, Literal, cast

import typer
from rich.table import Table
from rich.text import Text

import jsmemory
from jsmemory import BucketRecipe, Comparison, StreamRecipe, print_recipe
from jsmemory.cli import screen
from jsmemory.cli.choosing import CONNECT_S, choose
from jsmemory.cli.exits import ExitCode, UsageRefused
from jsmemory.cli.options import Choice, takes
from jsmemory.cli.waiting import wait_for

EXAMPLES: Final = (
    "jsmemory provision --bucket team",
    "jsmemory provision --bucket team --stores 50 --format terraform >memory.tf",
    "jsmemory provision --bucket team --diff",
    "jsmemory provision --bucket team --journal runs --apply --replicas 1",
)

Recipe = BucketRecipe | StreamRecipe


class Form(StrEnum):
    """What there is to print."""

    NATS = "nats"
    NACK = "nack"
    TERRAFORM = "terraform"
    COMPOSE = "compose"


@takes("bucket", "config", "context", "server", "as_json", why="It makes what stores lie in, and opens none.")
def provision(
    choice: Choice,
    form: Annotated[
        Form, typer.Option("--format", help="Lines for the nats command line, or a file for what manages your servers.")
    ] = Form.NATS,
    diff: Annotated[bool, typer.Option("--diff", help="Compare with what is there, and print what mends it.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="Make it, if it is not there. Changes nothing else.")] = False,
    replicas: Annotated[
        int | None,
        typer.Option(metavar="1|3|5", help="Servers that hold it: 3, and 1 for compose, which runs one server."),
    ] = None,
    stores: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=1_000_000, help="Limit the size: room for so many prefixes, all full."),
    ] = None,
    history: Annotated[int, typer.Option(metavar="N", help="Values kept of a key; a store reads the newest.")] = 1,
    allow_rollup: Annotated[
        bool, typer.Option("--allow-rollup", help="Leave roll-ups on, with which any writer can wipe the bucket.")
    ] = False,
    expiring_markers: Annotated[
        bool, typer.Option("--expiring-markers", help="Let what is left of deleted keys go by itself.")
    ] = False,
    cluster: Annotated[str | None, typer.Option(metavar="NAME", help="Which servers are to hold the bucket.")] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="What they are tagged with; more than once.")
    ] = None,
    journal: Annotated[
        str | None, typer.Option("--journal", "-j", metavar="STREAM", help="The stream of a journal, as well or alone.")
    ] = None,
) -> None:
    """
    Print what makes the bucket; nothing is made, unless --apply says so.

    Its sizes follow from the limits of an entry. --diff names each setting of a live bucket
    that differs, with the command that mends it, and ends with 6 where there is one. --apply
    makes what is not there, and refuses with 1 where something else is.
    """
    if diff and apply:
        raise UsageRefused("To compare and to make are two things. Leave out --diff or --apply.")
    if replicas is None:
        replicas = 1 if form is Form.COMPOSE else 3
    recipes: list[Recipe] = []
    bucket = choice.bucket or _configured_bucket(choice, journal)
    try:
        if bucket is not None:
            room = None if stores is None else BucketRecipe.room_for(stores, history=history)
            recipes.append(
                BucketRecipe(
                    bucket=bucket,
                    replicas=cast(Literal[1, 3, 5], replicas),
                    history=history,
                    max_bucket_size=room,
                    allow_rollup=allow_rollup,
                    expiring_markers=expiring_markers,
                    cluster=cluster,
                    tags=tuple(tag or ()),
                )
            )
        if journal is not None:
            recipes.append(StreamRecipe(stream=journal, replicas=cast(Literal[1, 3, 5], replicas)))
    except ValueError as fault:
        raise UsageRefused(f"{fault} See: jsmemory provision --help") from None
    if not (diff or apply):
        _print(recipes, form, as_json=choice.as_json)
        return
    compared = wait_for(_ask(choice, recipes, apply=apply))
    _tell(recipes, compared, as_json=choice.as_json)
    if any(each.deviations for each in compared):
        raise typer.Exit(ExitCode.REFUSED if apply else ExitCode.FINDINGS)


def _configured_bucket(choice: Choice, journal: str | None) -> str | None:
    """The bucket of the configuration; None where a journal alone is asked for."""
    if journal is not None:
        return None
    bucket = choose(choice).bucket
    if bucket is None:
        raise UsageRefused("No bucket is named. Name one: --bucket NAME, or a journal's stream: --journal STREAM.")
    return bucket


def _print(recipes: list[Recipe], form: Form, *, as_json: bool) -> None:
    texts = [print_recipe(recipe, form.value) for recipe in recipes]
    if as_json:
        printed = [{"stream": recipe.stream, "text": text} for recipe, text in zip(recipes, texts, strict=True)]
        screen.put_json({"format": form.value, "printed": printed})
        return
    if form is Form.COMPOSE:
        # One file has one list of services.
        texts = [texts[0], *(text.removeprefix("services:\n") for text in texts[1:])]
    screen.put({Form.NACK: "---\n", Form.TERRAFORM: "\n"}.get(form, "").join(texts))


async def _ask(choice: Choice, recipes: list[Recipe], *, apply: bool) -> list[Comparison]:
    ask = jsmemory.apply_recipe if apply else jsmemory.compare_recipe
    async with jsmemory.connect(
        choice.context, choice.server, name="jsmemory provision", first_connect_timeout=CONNECT_S
    ) as nats:
        return [await ask(nats, recipe) for recipe in recipes]


def _tell(recipes: list[Recipe], compared: list[Comparison], *, as_json: bool) -> None:
    if as_json:
        screen.put_json({"compared": [_plain(*each) for each in zip(recipes, compared, strict=True)]})
        return
    for recipe, comparison in zip(recipes, compared, strict=True):
        if comparison.is_made:
            screen.talk(f"Made {recipe.stream}.")
        elif not comparison.deviations:
            screen.talk(f"{recipe.stream} is as asked.")
        else:
            screen.talk(f"{recipe.stream} is there, and differs. Nothing was changed.")
            _draw(comparison)


def _draw(comparison: Comparison) -> None:
    rows = [
        (deviation.setting, deviation.wanted, deviation.found, deviation.cure) for deviation in comparison.deviations
    ]
    if screen.is_terminal():
        table = Table("setting", "wanted", "found", "cure", box=None, pad_edge=False)
        for row in rows:
            table.add_row(*(Text(screen.one_line(cell), overflow="fold") for cell in row))
        screen.draw(table)
    else:
        screen.put("".join("\t".join(map(screen.one_line, row)) + "\n" for row in rows))
    if len(rows) > 1:
        screen.talk(f"All at once: {comparison.cure}")


def _plain(recipe: Recipe, comparison: Comparison) -> dict[str, Any]:
    return {
        "stream": recipe.stream,
        "made": comparison.is_made,
        "deviations": [
            {"setting": each.setting, "wanted": each.wanted, "found": each.found, "cure": each.cure}
            for each in comparison.deviations
        ],
        "cure": comparison.cure,
    }
