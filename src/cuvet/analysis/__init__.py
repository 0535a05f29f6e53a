"""Turns recordings into a report. The model judges each call by the state that objects had when the call was made."""

from cuvet.analysis.merge import analyze
from cuvet.analysis.process import ProcessAnalysis
from cuvet.analysis.recordings import Analysis
from cuvet.meta import Meta, read_meta

__all__ = ["Analysis", "Meta", "ProcessAnalysis", "analyze", "read_meta"]
