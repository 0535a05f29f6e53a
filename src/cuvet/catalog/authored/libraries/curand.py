"""cuRAND: generators and discrete distributions."""

from cuvet.catalog.authored.words import Reasons, Roles, creates
from cuvet.catalog.kinds import Kind

HANDLES = {"curandGenerator_t": Kind.CURAND_GENERATOR, "curandDiscreteDistribution_t": Kind.CURAND_DISTRIBUTION}
WORKSPACES: frozenset[str] = frozenset()
UNTRACKED: Reasons = {}

ROLES: Roles = {"curandCreateGeneratorHost": (creates(Kind.CURAND_GENERATOR, "generator", variant="host"),)}

_TABLE = "hands out a table of constants"
_VERSION = "reports a version"

NO_ROLE: Reasons = {
    "curandGetDirectionVectors32": _TABLE,
    "curandGetDirectionVectors64": _TABLE,
    "curandGetProperty": _VERSION,
    "curandGetScrambleConstants32": _TABLE,
    "curandGetScrambleConstants64": _TABLE,
    "curandGetVersion": _VERSION,
}
