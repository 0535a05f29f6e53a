"""How hypothesis runs, for all tests: by no clock, so that no test fails because a machine is slow. Examples may share a folder."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "cuvet", deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
settings.load_profile("cuvet")
