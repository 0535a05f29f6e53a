"""What is known about CUDA's errors: their causes, what each error means, and the facts that hardware showed.

A cause has one id and one text, whoever names it: a finding of ``cuvet run``, a verdict of ``inspect`` or ``doctor``, or ``explain``.
The id of a cause that a rule finds is the rule's name; its text is the rule's.
"""

APIS = ("driver", "runtime", "cudnn", "cublas", "nvrtc", "nvjitlink", "nccl", "cufft", "cusparse", "cusolver", "curand")
"""Whose errors are known."""
