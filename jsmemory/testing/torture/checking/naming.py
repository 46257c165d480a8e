"""Which guarantee is broken by an answer that no order explains, and the shortest history that shows it."""

from collections.abc import Mapping, Sequence

from jsmemory.testing.torture.calls import Call
from jsmemory.testing.torture.checking.guarantees import Guarantee, Violation, violation
from jsmemory.testing.torture.checking.ordering import Contradiction, holding
from jsmemory.testing.torture.checking.steps import Step
from jsmemory.testing.torture.records import Wiped


def named(
    contradiction: Contradiction, calls: Sequence[Call], seen: Mapping[Call, Call], wipes: Sequence[Wiped]
) -> Violation:
    """
    Name what is broken.

    Args:
        contradiction: The answer, and what the key could have held.
        calls: All calls about the key.
        seen: What the runs had seen, by their updates.
        wipes: When the keyspace was made anew.
    """
    step, call = contradiction.step, contradiction.step.call
    assert call is not None, "what the operator did needs no explanation"
    held = holding(contradiction.possible)
    history = [*_since(contradiction, calls, call), call]
    if call.operation in ("list", "read"):
        return _of_look(step, call, calls, held, history)
    if step.changes and call.operation == "update":
        return _of_update(call, seen[call], calls, wipes, held, history)
    if step.changes and call.operation == "create":
        return violation(Guarantee.KEPT, f"{call.value} was created while the key held {held}", history)
    if step.changes:
        what = f"a delete said that it removed a value while the key held {held}"
        return violation(Guarantee.EXISTED, what, [*_deletes(calls, call), *history])
    said = call.code or "that there was nothing to delete"
    return violation(Guarantee.HONEST, f"{said} was said while the key held {held}", history)


def _of_update(
    call: Call, before: Call, calls: Sequence[Call], wipes: Sequence[Wiped], held: str, history: list[Call]
) -> Violation:
    if any(before.end < wipe.began and wipe.ended < call.start for wipe in wipes):
        what = f"{call.value} replaced {held} on the authority of {before.value}, which the operator had removed"
        return violation(Guarantee.ERA, what, [before, *history])
    what = f"{call.value} replaced {before.value} while the key held {held}"
    # What was acknowledged, and nobody ever saw, was rather lost than overwritten.
    written = {each.value for each in history if each.is_write and each.outcome == "ok"}
    was_seen = any(each.value in written and not each.is_write for each in calls)
    is_lost = call.outcome == "ok" and not was_seen
    return violation(Guarantee.KEPT if is_lost else Guarantee.UNSEEN, what, [before, *history])


def _of_look(step: Step, call: Call, calls: Sequence[Call], held: str, history: list[Call]) -> Violation:
    key = calls[0].key
    shown = "nothing" if step.needs == "nothing" else step.which
    writers = [each for each in calls if each.value and each.value == step.which and each.is_write]
    if any(each.is_refused for each in writers):
        guarantee = Guarantee.REFUSED
    elif call.operation == "list":
        guarantee = Guarantee.LISTED
    else:
        guarantee = Guarantee.KEPT if shown == "nothing" else Guarantee.ONCE
    how = "a listing showed" if call.operation == "list" else "in the end there was"
    return violation(guarantee, f"{how} {shown} under {key}, which held {held}", [*writers, *history], key=key)


def _since(contradiction: Contradiction, calls: Sequence[Call], last: Call) -> list[Call]:
    """The calls that wrote what is there, and the writes since then that had a say."""
    writers = [writer.call for writer in contradiction.writers if writer.call is not None]
    since = min((writer.start for writer in writers), default=last.start)
    return writers + [
        call for call in calls if call.is_write and since <= call.start < last.end and _may_have_changed(call)
    ]


def _deletes(calls: Sequence[Call], last: Call) -> list[Call]:
    """The delete before, which may have removed the same value."""
    return [call for call in calls if call.operation == "delete" and call.existed and call.start < last.start][-1:]


def _may_have_changed(call: Call) -> bool:
    return call.is_unknown or (call.outcome == "ok" and (call.operation != "delete" or call.existed))
