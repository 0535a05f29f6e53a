"""From recordings to a report: each call is judged by the model as it was when the call was made."""

from cuvet.analysis.process import Analysis, Meta, ProcessAnalysis, analyze, read_meta

__all__ = ["Analysis", "Meta", "ProcessAnalysis", "analyze", "read_meta"]
