"""Has what is known about CUDA's errors: their causes, what each error means, and the facts that hardware showed.

A cause has one id and one text, whoever names it: a finding of ``cuvet run``, a verdict of ``inspect`` or ``doctor``, or ``explain``.
The id of a cause that a rule finds is the rule's name; its text is the rule's.
"""

from cuvet.catalog.apis import LIBRARIES

_FIRST = ("driver", "runtime", "cudnn", "cublas", "nvrtc", "nvjitlink", "nccl")
APIS = tuple(dict.fromkeys((*_FIRST, *(api for api, library in LIBRARIES.items() if not library.status_of))))
"""Whose errors are known. Of one number, or one word, that several have, those of the first are told first."""
