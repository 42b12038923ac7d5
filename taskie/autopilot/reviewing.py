"""The two reviews: what an agent of the plugin answered, recorded for the step and the tree at hand.

A result that is reported must agree with the record; one without a record counts as given by hand.
"""

from __future__ import annotations

import time

from taskie.autopilot import REVIEWERS, loop
from taskie.autopilot import state as states
from taskie.autopilot.loop import Done
from taskie.autopilot.table import Refused, results
from taskie.project import working_tree
from taskie.protocol import APPROVE, Decision, parse_json, shown
from taskie.store import StoreError
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from taskie.autopilot.state import State
    from taskie.project import Context
    from taskie.protocol import Event

APPROVED = "approved"
MAX_ANSWER = 1024 * 1024
MAX_FINDINGS = 20
LONGEST = 300  # characters of a finding
GIT_SECONDS = 60.0
_FENCE = "```"
_FENCES = 10  # of an answer that are tried, from its end: a finding may quote one


class SubagentAnswer(Value):
    """A reviewer's answer: its status, as the table knows it, and what was found. `agent`: under which id the client
    keeps its transcript."""

    status: str
    findings: tuple[str, ...] = ()
    agent: str = "unknown"


def on_subagent(event: Event, context: Context) -> Decision:
    """Record the answer of a reviewer whose step is at hand. Asks once for one that a program can read."""
    agent = event.fields.get("agent_type")
    step = next((step for step, name in REVIEWERS.items() if name == agent), None)
    here = working_tree(context.cwd)
    if step is None or (here is not None and here != working_tree(context.root)):
        return APPROVE
    try:
        state = states.load(context.root)
        if state is None or not state["plan_exists"]:
            return APPROVE
        found = answer(event.fields.get("last_assistant_message"), step)
        if isinstance(found, SubagentAnswer):
            found = found.replace(agent=shown(str(event.fields.get("agent_id")), 40))
        due = state["step"] == step
        if due and not isinstance(found, SubagentAnswer) and not event.stop_hook_active and not event.bare:
            return Decision(_request(step, found), f"Autopilot: {agent} is asked for its answer again: {found}")
        seen = (
            fingerprint(context.root, context.env, context.deadline)
            if due and isinstance(found, SubagentAnswer)
            else None
        )
        said = states.edit(context.root, lambda now: _record(now, step, found, seen))
    except StoreError as error:
        said = f"the answer of {agent} could not be recorded: {error}"
    return Decision(message=f"Autopilot: {said}")


def _record(state: State, step: str, found: SubagentAnswer | str, tree: str | None) -> str:
    """Put the answer into the state, or only into its log; what became of it, for a person."""
    kept = state["loop"]["review"]
    if state["step"] != step:
        said = f"{REVIEWERS[step]} answered, but the step at hand is {state['step']}: not recorded"
    elif not isinstance(found, SubagentAnswer):
        said = f"{REVIEWERS[step]} gave no answer that counts ({found}): not recorded"
    elif kept is not None and kept["step"] == step and kept["status"] != APPROVED:
        said = f"{REVIEWERS[step]} answered again, but {kept['status']} stands until the coder has been at work"
    else:
        findings = list(found.findings)
        state["loop"]["review"] = {"step": step, "status": found.status, "findings": findings, "tree": tree}
        counted = f", findings: {len(findings)}" if findings else ""
        said = f"{REVIEWERS[step]} answered {found.status}{counted} (agent {found.agent})"
    loop.log(state, said)
    return said


def answer(text: object, step: str) -> SubagentAnswer | str:
    """The answer at the end of a message, or what is wrong with it."""
    if not isinstance(text, str) or not text.strip():
        return "its last message is empty"
    if len(text) > MAX_ANSWER:
        return f"its last message is longer than {MAX_ANSWER >> 10} KB"
    given = _last_object(text.strip())
    if given is None:
        return "its last message does not end in a JSON object"
    status, findings = given.get("status"), given.get("findings", [])
    if status not in results(step):
        return f"its status is {shown(str(status), 40)!r}, not one of {', '.join(results(step))}"
    if not isinstance(findings, list) or not all(isinstance(each, str) for each in findings):
        return "its findings are not a list of texts"
    return SubagentAnswer(str(status), shortened(findings))


def shortened(findings: list[str]) -> tuple[str, ...]:
    """As many as a message can hold, each in one line."""
    lines = [shown(" ".join(each.split()), LONGEST) for each in findings if each.strip()]
    more = len(lines) - MAX_FINDINGS
    return (*lines[:MAX_FINDINGS], *([f"… and {more} more"] if more > 0 else []))


def _last_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text is, or whose fenced block it ends in."""
    starts = [0]
    if text.endswith(_FENCE):
        end = len(text) - len(_FENCE)
        text, at, starts = text[:end], end, []
        while len(starts) < _FENCES and (at := text.rfind(_FENCE, 0, at)) >= 0:
            starts.append(at + len(_FENCE))
    for start in starts:
        block = text[start:].strip()
        try:
            given = parse_json(block[len("json") :] if block.startswith("json") else block)
        except ValueError:
            continue
        if isinstance(given, dict):
            return given
    return None


def _request(step: str, problem: str) -> str:
    words = ", ".join(results(step))
    return (
        f"Your answer cannot be recorded: {problem}. Give it once more, and end your message with this block and "
        f"nothing after it, where status is one of {words}:\n\n"
        f'```json\n{{"status": "…", "findings": ["file:line: what is wrong"]}}\n```'
    )


def fingerprint(root: str, env: Mapping[str, str], deadline: float) -> str | None:
    """Of the working tree, the spec included: what it asks for was reviewed, too. None where git cannot say."""
    from taskie.git import GitError
    from taskie.tree import Repository

    try:
        return str(Repository(root, env, deadline).snapshot(leave_out=left_out()).tree)
    except GitError:
        return None


def left_out() -> tuple[str, ...]:
    """What nobody changes on purpose: the engines' own files, and Python's bytecode."""
    from taskie import engines

    return (*engines.files(), "__pycache__")


def judged(root: str, state: State, event: Mapping[str, Any], env: Mapping[str, str]) -> Done:
    """The result as it was reported, held against the record."""
    step, result = event["step"], event["result"]
    agent = REVIEWERS[step]
    record = state["loop"]["review"]
    why = f"no answer of {agent} was recorded for it"
    if record is not None and record["step"] == step:
        present = fingerprint(root, env, time.monotonic() + GIT_SECONDS)
        if record["status"] != APPROVED or record["tree"] == present:
            if result != record["status"]:
                listed = "".join(f"\n  {each}" for each in record["findings"])
                raise Refused(f"{agent} answered {record['status']}, not {result}: report that{listed}")
            return Done(step, result, because=tuple(record["findings"]), inspected=result == APPROVED)
        why = f"the files have changed since {agent} approved them"
    given = event.get("findings")
    because = shortened([each for each in given if isinstance(each, str)]) if isinstance(given, list) else ()
    warnings = (f"{step} was approved by hand: {why}",) if result == APPROVED else ()
    return Done(step, result, because=because, warnings=warnings)
