"""The rank of a process among those that a launcher started together, as the launcher tells it in the environment."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cuvet.findings import Rank
from cuvet.sizes import counted


class Launcher(NamedTuple):
    """Names of variables: the rank, how many ranks there are, the rank among those of the host. "": it has none."""

    rank: str
    size: str = ""
    local: str = ""


LAUNCHERS = (
    Launcher("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    Launcher("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    Launcher("PMIX_RANK"),
    Launcher("PMI_RANK", "PMI_SIZE"),
    Launcher("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    Launcher("JOB_COMPLETION_INDEX"),
)
"""torchrun (PyTorch documentation, torchrun (Elastic Launch), Environment Variables); Open MPI (documentation, 11.1 Environment variables
set for MPI applications); PMIx; PMI-1, as MPICH's launcher (Flux RFC 13, Environment); Slurm (srun(1), OUTPUT ENVIRONMENT VARIABLES); an
indexed Job of Kubernetes (Kubernetes blog, Introducing Indexed Jobs). The launcher that can stand inside another comes first: torchrun is
started by srun, and not the other way round."""
MOST_DIGITS = 9
_MOST_HOST = 255
MOST_SPANS = 20


def rank_in(environment: Mapping[str, str], host: str) -> Rank | None:
    """The rank that an environment tells, on ``host``; None if no launcher has set one."""
    for launcher in LAUNCHERS:
        rank = _number(environment, launcher.rank)
        if rank is not None:
            size, local = (_number(environment, name) for name in (launcher.size, launcher.local))
            if size is not None and size <= rank:  # of another launcher, perhaps
                size = None
            return Rank(rank=rank, size=size, local_rank=local, host=host[:_MOST_HOST])
    return None


def _number(environment: Mapping[str, str], name: str) -> int | None:
    text = environment.get(name, "") if name else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else None


def told(rank: Rank) -> str:
    """``rank 3 of 8 on node1``."""
    size = f" of {rank.size:,}" if rank.size is not None else ""
    return f"rank {rank.rank}{size}{f' on {rank.host[:_MOST_HOST]}' if rank.host else ''}"


def told_all(ranks: Sequence[int], processes: int = 0) -> str:
    """``ranks 0-6, 8-63``, ``rank 3``; without ranks ``2 processes``."""
    if not ranks:
        return counted(processes, "process")
    spans: list[list[int]] = []
    for rank in sorted(set(ranks)):
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in spans[:MOST_SPANS]]
    more = f" and {len(spans) - MOST_SPANS:,} more spans" if len(spans) > MOST_SPANS else ""
    return f"rank{'s' if len(set(ranks)) > 1 else ''} {', '.join(shown)}{more}"
