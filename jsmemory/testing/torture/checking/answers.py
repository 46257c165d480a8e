"""The guarantees that one answer can break: the words of the contract, whole values, and what was refused."""

from collections.abc import Iterator

from jsmemory.testing.torture.calls import History
from jsmemory.testing.torture.checking.codes import DENIED, REFUSALS
from jsmemory.testing.torture.checking.guarantees import Guarantee, Violation, violation
from jsmemory.testing.torture.checking.listings import final_listing
from jsmemory.testing.torture.values import TORN


def check_answers(history: History) -> Iterator[Violation]:
    """Look at each answer by itself, and at each value that was shown."""
    writes = {
        (call.space, call.key, call.value): call for call in history.calls if call.operation in ("create", "update")
    }
    for call in [*history.calls, *map(final_listing, history.rests)]:
        if call.outcome == "foreign" and call.code == TORN:
            yield violation(Guarantee.WHOLE, f"{call.value} was read with a content that is not its own", [call])
        elif call.outcome == "foreign":
            yield violation(Guarantee.CONTRACT, f"a call ended with {call.code}", [call])
        elif (call.outcome == "refused" and call.code not in REFUSALS[call.operation]) or call.code == DENIED:
            # Workers write what is legal, and may do all that they do.
            what = f"{call.operation} ended with {call.code or 'a refusal of no name'}, for which there is no ground"
            yield violation(Guarantee.CONTRACT, what, [call])
        elif call.operation in ("read", "list") and call.outcome == "ok":
            shown = ((call.key, call.value),) if call.key else call.listed
            for key, value in shown:
                write = writes.get((call.space, key, value))
                if write is not None and write.is_refused:
                    what = f"{value} was shown, whose write was refused with {write.code}"
                    yield violation(Guarantee.REFUSED, what, [write, call], key=key)
                elif call.key and (write is None or write.start >= call.end):
                    what = f"{value} was read, which nobody had written under this key"
                    yield violation(Guarantee.WHOLE, what, [*([write] if write else []), call])
