"""How a run ended: one set of names for the run, the hook and the record of it. Knows nothing of how it came."""

from __future__ import annotations

from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    GauntletStatus = Literal[
        "passed",
        "passed_with_warnings",
        "no_applicable_gates",
        "no_changes",
        "failed",
        "retry_limit_exceeded",
        "lock_exists",
        "error",
        "infrastructure_error",
        "no_config",
        "stop_hook_active",
        "stop_hook_disabled",
        "interval_not_elapsed",
        "invalid_input",
    ]
    GateStatus = Literal["passed", "failed", "unable", "not_run"]

SPOKEN = {
    "passed": "Passed",
    "passed_with_warnings": "Passed with warnings",
    "failed": "Failed",
    "retry_limit_exceeded": "Retry limit exceeded",
    "infrastructure_error": "Infrastructure error",
    "no_applicable_gates": "No applicable gates",
    "no_changes": "No changes",
}
PASSES = ("passed", "passed_with_warnings")
FAILURES = ("failed", "retry_limit_exceeded")


def is_blocking(status: str) -> bool:
    """Whether the agent must go on; whoever decides about a stop asks here."""
    return status == "failed"


class GateResult(Value):
    """What came of one gate in one run. `unable`: it could not be asked, so nothing is known."""

    key: str
    status: GateStatus
    summary: str
    log: str | None = None
    tail: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    advice: str | None = None
    seconds: float = 0.0
    violations: tuple[dict[str, Any], ...] = ()
    carried: tuple[dict[str, Any], ...] = ()
    reused: bool = False


class RunResult(Value):
    """One run. `console_log_path` is where everything can be read, wherever the logs are by now."""

    status: GauntletStatus
    message: str
    console_log_path: str | None = None
    error_message: str | None = None
    gates: tuple[GateResult, ...] = ()
    warnings: tuple[str, ...] = ()
    progress: bool = False


class Unable(Exception):
    """Something that the gates need is missing or does not work; it says nothing about the agent's work."""
