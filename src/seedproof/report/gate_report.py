"""The result of a gate, and the files that a CI system reads."""

from dataclasses import dataclass

from seedproof.comparison.gate.judge import GateResult
from seedproof.report import gate as formats


@dataclass(frozen=True, eq=False)
class GateReport:
    """What a gate decided: `print` it, or ask it for the file that a CI system reads.

    Args:
        result: The verdicts.
    """

    result: GateResult

    @property
    def outcome(self) -> str:
        """`pass`, `fail` or `investigate`."""
        return self.result.outcome

    @property
    def exit_code(self) -> int:
        """0, 1 or 3."""
        return self.result.exit_code

    def to_json(self) -> str:
        """The verdicts as JSON text."""
        return formats.as_json(self.result)

    def to_junit(self) -> str:
        """The verdicts as JUnit XML, one test case for each rule."""
        return formats.as_junit(self.result)

    def to_markdown(self, *, command: str | None = None) -> str:
        """The verdicts as a comment for a pull request.

        Args:
            command: The command that made it, for the end of the comment.

        Returns:
            GitHub's Markdown.
        """
        return formats.as_markdown(self.result, command=command)

    def __str__(self) -> str:
        return formats.as_text(self.result)
