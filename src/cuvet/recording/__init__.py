"""Recordings: what the shim stored, and its reader. ``FORMAT.md`` is the contract between the two."""

from cuvet.recording.reader import Problem, Recording, RecordingError

__all__ = ["Problem", "Recording", "RecordingError"]
