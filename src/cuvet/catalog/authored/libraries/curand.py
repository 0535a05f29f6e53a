"""cuRAND: generators and discrete distributions."""

from cuvet.catalog.authored.words import *
from cuvet.catalog.kinds import Kind

HANDLES = {"curandGenerator_t": Kind.CURAND_GENERATOR, "curandDiscreteDistribution_t": Kind.CURAND_DISTRIBUTION}
WORKSPACES: frozenset[str] = frozenset()
UNTRACKED: Reasons = {}

ROLES: Roles = {"curandCreateGeneratorHost": (creates(Kind.CURAND_GENERATOR, "generator", variant="host"),)}


NO_ROLE: ByReason = {
    "hands out a table of constants": """
        curandGetDirectionVectors32 curandGetDirectionVectors64 curandGetScrambleConstants32
        curandGetScrambleConstants64
    """,
    "reports a version": "curandGetProperty curandGetVersion",
}
