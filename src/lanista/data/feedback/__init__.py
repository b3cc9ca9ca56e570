"""Feedback: matches of other programs' bots, as JSON lines (docs/reference/feedback.md).

An import format: `gathering` turns it into `Demonstrations`, and nothing behind that knows it. The
games that a policy of ours plays live are game files (`live.files.game_file`).
"""

from lanista.data.feedback.sessions import FeedbackSummary, StreamTally, read_feedback
from lanista.data.feedback.streams import (
    MANIFEST,
    STREAM,
    FeedbackError,
    FeedbackWriter,
    append_outcome,
    header_line,
    read_manifest,
    read_stream,
    refusing,
)

__all__ = [
    "MANIFEST",
    "STREAM",
    "FeedbackError",
    "FeedbackSummary",
    "FeedbackWriter",
    "StreamTally",
    "append_outcome",
    "header_line",
    "read_feedback",
    "read_manifest",
    "read_stream",
    "refusing",
]
