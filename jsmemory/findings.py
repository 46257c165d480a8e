"""What a check of a bucket has to say: a finding, and the cure that mends it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """
    One result of a check.

    Attributes:
        code: A stable word for programs, e.g. ``bucket_ttl``.
        problem: What is wrong and who would suffer, in one sentence.
        cure: The exact command that mends it, or the words where no command can.
    """

    code: str
    problem: str
    cure: str

    def __str__(self) -> str:
        return f"{self.problem} Cure: {self.cure}"
