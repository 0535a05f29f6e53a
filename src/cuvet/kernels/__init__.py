"""Kernels are not run, but a few of their threads are followed through the PTX, far enough to see a fault that is certain."""

from cuvet.kernels.follow import MOST_STEPS, PAGE_BITS, Dimensions, Way, follow
from cuvet.kernels.text import Program

__all__ = ["MOST_STEPS", "PAGE_BITS", "Dimensions", "Program", "Way", "follow"]
