"""Numbers, as an option takes them with commas between, and as they are told."""

from jsmemory.cli.exits import UsageRefused


def numbers_in(text: str, flag: str, *, highest: int) -> tuple[int, ...]:
    """
    The numbers of an option, each once, the smallest first.

    Args:
        text: As it was given: ``1,8,64``.
        flag: The option.
        highest: The largest number that it takes; the smallest is 1.

    Raises:
        UsageRefused: it is something else.
    """
    try:
        numbers = sorted({int(number) for number in text.split(",")})
    except ValueError:
        numbers = []
    if not numbers or numbers[0] < 1 or numbers[-1] > highest:
        raise UsageRefused(f"{flag} takes whole numbers of 1 to {highest:,} with commas between, and not {text}.")
    return tuple(numbers)


def counted(number: int, one: str, many: str | None = None) -> str:
    """
    A number of things in words: ``1 run``, ``1,024 runs``.

    Args:
        number: How many.
        one: The word for one of them.
        many: The word for more; left out, that for one with an s.
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
