"""From recordings to a report: each call is judged by the model as it was when the call was made."""

from cuvet.analysis.meta import Meta, read_meta
from cuvet.analysis.process import ProcessAnalysis
from cuvet.analysis.recordings import Analysis, analyze

__all__ = ["Analysis", "Meta", "ProcessAnalysis", "analyze", "read_meta"]
