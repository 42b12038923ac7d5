"""A stand-in for an agent's command line: answers from a script and notes every call. Knows no hook and no test.

`install` puts an executable into a directory; it gets SCENARIO NAME and the call's own arguments, where SCENARIO is a
directory: `script` writes the answers there, `calls` reads what was called. An answer is a dictionary, each key
optional:

    verdict   what the review says, "FAIL" if left out; None: no verdict
    shape     "client": as the real client prints it; "plain": the verdict in `.result.verdict`
    says      the last words of the agent, without a verdict
    outputs   exactly what to print: text as it is, anything else as JSON
    writes    False: no review file
    exit      the exit code
    delay     seconds to wait before anything is written
    runs      a program to become, once the call is noted

The variables MOCK_CLAUDE_VERDICT, _EXIT_CODE, _DELAY, _LOG, _REVIEW_DIR and _REVIEW_FILE override the answer.
"""

from __future__ import annotations

import json
import os
import re

from taskie import agent_options
from taskie.agent_values import Option, wrong_for_claude, wrong_for_codex
from taskie.scenario import Reply, calls, install, note, printed, read, read_stdin, take, unscripted, wait, write
from taskie.scenario import identifier as _identifier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

__all__ = ["AGENTS", "answer", "calls", "install", "main", "parse", "prompt", "script"]

REVIEW_FILE = re.compile(r"Write your review to (.+?-review-\d+\.md)")


def script(
    scenario_dir: str,
    answers: Sequence[Mapping[str, Any]],
    rejects: Sequence[str] = (),
    *,
    after: int = 0,
    repeats: bool = True,
    lenient: bool = False,
) -> None:
    """Say what the calls answer, one each, once `after` answers were given; if it `repeats`, the last for all others.

    Options in `rejects` are unknown to it; a lenient one knows all others.
    """
    fields = {"answers": list(answers), "rejects": list(rejects), "after": after, "repeats": repeats}
    write(scenario_dir, {**fields, "lenient": lenient})


def parse(name: str, argv: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Options and other words of a command line, as the real program would take them apart."""
    return _take_apart(AGENTS[name], argv)[:2]


def _take_apart(agent: Agent, argv: Sequence[str]) -> tuple[dict[str, Any], list[str], str]:
    """Options, other words, and how the real program would refuse them: the first fault of those it sees first."""
    known = agent.options()
    options: dict[str, Any] = {}
    words: list[str] = []
    faults: list[str] = []
    late: list[str] = []
    # What it does not know is told at once by the one, and after everything else by the other.
    strange = late if agent.patient else faults
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if not word.startswith("-") or word == "-":
            words.append(word)
            if len(words) == 1 and word in agent.verbs:
                known = agent.options(verb=True)
            continue
        option, equals, value = word.partition("=")
        if option not in known and word[1] != "-" and word[:2] in known:
            # A short option, and its value or further short options in the same word.
            option, value = word[:2], word[2:]
            equals = known[option].takes
            if not equals:
                rest.insert(0, f"-{value}")
        if option not in known:
            strange.append(agent.unknown.format(word=word, option=option))
            options[option] = value if equals else True
            continue
        of = known[option]
        if equals:
            options[of.name] = [value] if of.many else value
            if not of.takes:
                strange.append(agent.needless.format(word=word, option=option, value=value))
        elif not of.takes or (of.optional and (not rest or rest[0].startswith("-"))):
            options[of.name] = True
        elif not rest or (agent.shy and rest[0].startswith("-")):
            options[of.name] = True
            if not rest or rest[0] in known:  # else it is the next word that is refused
                faults.append(agent.missing.format(shown=of.shown, name=of.name, takes=of.takes))
        elif of.many:
            options[of.name] = [*options.get(of.name, ()), rest.pop(0)]
            while rest and not rest[0].startswith("-"):
                options[of.name].append(rest.pop(0))
        else:
            options[of.name] = rest.pop(0)
        if options[of.name] is not True and not (equals and not of.takes):
            wrong = agent.wrong(of, options[of.name])
            (faults if agent.patient else late).extend([wrong] if wrong else [])
    if agent.shy and len(words) > 2 and words[0] in agent.verbs and words[1] not in agent.below:
        faults.append(agent.unknown.format(option=words[2]))
    return options, words, next(iter([*faults, *late]), "")


def prompt(name: str, argv: Sequence[str], stdin: str) -> str:
    """The prompt of a call: a word of the command line, and whatever came on stdin."""
    words = [word for word in parse(name, argv)[1] if word != "-"]
    if words and words[0] in AGENTS[name].verbs:
        words = words[1:]
    return "\n".join(part for part in (*words[:1], stdin) if part)


def answer(scenario_dir: str, name: str, argv: Sequence[str], stdin: str, env: Mapping[str, str], cwd: str) -> Reply:
    """Note a call, wait as scripted, write the review, and say how the program ends."""
    agent = AGENTS[name]
    scenario = {"answers": [], "rejects": [], "after": 0, "repeats": True, "lenient": False, **read(scenario_dir)}
    options, _, fault = _take_apart(agent, argv)
    asked = prompt(name, argv, stdin)
    faults = [agent.unknown.format(word=option, option=option) for option in scenario["rejects"] if option in options]
    if fault and not scenario["lenient"]:
        faults.append(fault)
    # Taken before the call is noted: whoever has seen the call knows that its answer is fetched.
    chosen = _chosen(scenario, take(scenario_dir)) if asked and not faults else None
    number = note(scenario_dir, argv, stdin, env, cwd)
    mock = f"MOCK_{name.upper()}_"
    if env.get(mock + "LOG"):
        with open(os.path.join(cwd, env[mock + "LOG"]), "a", encoding="utf-8") as log:
            log.write(" ".join(argv) + "\n")
    if faults:
        return Reply("", faults[0] + "\n", agent.refused)
    if not asked:
        return Reply("", agent.promptless + "\n", 1)
    if chosen is None:
        if not any(variable.startswith(mock) for variable in env):
            return unscripted(scenario_dir, name, number)
        chosen = {}
    for key, variable, kind in (("verdict", "VERDICT", str), ("exit", "EXIT_CODE", int), ("delay", "DELAY", float)):
        if env.get(mock + variable):
            chosen[key] = kind(env[mock + variable])
    wait(scenario_dir, chosen.get("delay", 0))
    if chosen.get("runs"):
        return Reply("", "", 0, chosen["runs"])
    if chosen.get("writes", True):
        _write_review(name, asked, chosen.get("verdict", "FAIL"), env, cwd)
    code = chosen.get("exit", 0)
    complaint = f"{name}: ends with {code}, as scripted\n" if code else ""
    return Reply(agent.prints(chosen, options, code, cwd), complaint, code)


def _chosen(scenario: Mapping[str, Any], turn: int) -> dict[str, Any] | None:
    """The answer whose turn it is, or None if nobody has scripted one."""
    answers = scenario["answers"]
    turn -= scenario["after"]
    if turn < len(answers):
        return dict(answers[turn])
    if scenario["repeats"]:
        return dict(answers[-1]) if answers else {}
    return None


def _claude(chosen: Mapping[str, Any], options: Mapping[str, Any], code: int, cwd: str) -> str:
    if "outputs" in chosen:
        return printed(chosen["outputs"])
    verdict = chosen.get("verdict", "FAIL")
    usage = {"input_tokens": 1, "output_tokens": 1}
    if chosen.get("shape") == "plain":
        return printed({"result": {"verdict": verdict}, "session_id": _identifier(), "cost": 0, "usage": usage})
    structured = "--json-schema" in options and "says" not in chosen and verdict is not None
    words = json.dumps({"verdict": verdict}) if structured else _words(chosen)
    if options.get("--output-format", "text") == "text":
        return words + "\n"
    document = {
        "type": "result",
        # Also the real client calls an API error a success, and says is_error beside it.
        "subtype": "success",
        "is_error": code != 0,
        "duration_ms": 1,
        "duration_api_ms": 1,
        "num_turns": 2,
        "result": words,
        "session_id": _identifier(),
        "total_cost_usd": 0,
        "usage": usage,
        "permission_denials": [],
        "uuid": _identifier(),
    }
    if structured:
        document["structured_output"] = {"verdict": verdict}
    return printed(document)


def _codex(chosen: Mapping[str, Any], options: Mapping[str, Any], code: int, cwd: str) -> str:
    verdict = chosen.get("verdict", "FAIL")
    structured = "--output-schema" in options and "says" not in chosen and verdict is not None
    words = json.dumps({"verdict": verdict}) if structured else _words(chosen)
    text = printed(chosen["outputs"]) if "outputs" in chosen else words + "\n"
    last = options.get("--output-last-message")
    if last:
        with open(os.path.join(cwd, last), "w", encoding="utf-8") as file:
            file.write(text)
    if "--json" in options and "outputs" not in chosen:
        return "".join(printed(event) for event in _codex_events(words, code))
    return text


def _codex_events(words: str, code: int) -> list[dict[str, Any]]:
    begun: list[dict[str, Any]] = [{"type": "thread.started", "thread_id": _identifier()}, {"type": "turn.started"}]
    if code:
        return [*begun, {"type": "turn.failed", "error": {"message": f"ends with {code}, as scripted"}}]
    usage = {"input_tokens": 3, "cached_input_tokens": 2, "cache_write_input_tokens": 0, "output_tokens": 1}
    message = {"id": "item_0", "type": "agent_message", "text": words}
    return [*begun, {"type": "item.completed", "item": message}, {"type": "turn.completed", "usage": usage}]


def _words(chosen: Mapping[str, Any]) -> str:
    verdict = chosen.get("verdict", "FAIL")
    return str(chosen.get("says", "The review is written." if verdict is None else f"VERDICT: {verdict}"))


def _write_review(name: str, asked: str, verdict: str | None, env: Mapping[str, str], cwd: str) -> None:
    named = REVIEW_FILE.search(asked)
    folder, file = os.path.split(named.group(1)) if named else ("", "")
    mock = f"MOCK_{name.upper()}_REVIEW_"
    folder = env.get(mock + "DIR", folder)
    file = env.get(mock + "FILE", file)
    if not folder or not file:
        return
    path = os.path.join(cwd, folder, file)
    mocked = mock + "DIR" in env or mock + "FILE" in env
    if AGENTS[name].spares and not mocked and os.path.lexists(path):
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    findings = "Nothing to object to." if verdict == "PASS" else "1. A name says what a thing is made of."
    with open(path, "w", encoding="utf-8") as review:
        review.write(f"# Review\n\n{findings}\n\nVERDICT: {verdict}\n")


class Agent:
    """One agent's command line: which options it knows, how it answers, which variables are its own.

    `verbs` are the names of the command before the prompt, which has options of its own, and `below` its own commands.
    `unknown`, `needless` and `missing` are what it says of an option that it does not know, that takes no value, that
    has none, and `wrong` of a value that it does not take; `refused` is the exit code then. `patient`: what it does not
    know it tells last, else wrong values. `promptless` is what it says without a prompt, and ends with 1.
    `shy`: no value begins with a dash, and there is one prompt.
    `spares`: its Write tool refuses to overwrite a file that it has not read.
    """

    def __init__(
        self,
        prints: Callable[[Mapping[str, Any], Mapping[str, Any], int, str], str],
        *,
        options: str,
        verbs: tuple[str, ...] = (),
        verb_options: str = "",
        below: tuple[str, ...] = (),
        unknown: str,
        needless: str,
        missing: str,
        wrong: Callable[[Option, object], str],
        refused: int,
        promptless: str,
        patient: bool = False,
        shy: bool = False,
        spares: bool = False,
        variables: tuple[str, ...],
    ) -> None:
        self.prints, self._options, self._verb_options = prints, options, verb_options
        self.verbs, self.below, self.shy, self.spares, self.variables = verbs, below, shy, spares, variables
        self.unknown, self.needless, self.missing, self.refused = unknown, needless, missing, refused
        self.promptless, self.wrong, self.patient = promptless, wrong, patient

    def options(self, *, verb: bool = False) -> dict[str, Option]:
        """What it knows, by each of its names; after the verb with `verb`."""
        shown = self._verb_options if verb else self._options
        listed = [Option(line) for line in shown.split("\n") if line]
        return {name: option for option in listed for name in option.names}


AGENTS = {
    "claude": Agent(
        _claude,
        options=agent_options.CLAUDE + agent_options.CLAUDE_HIDDEN,
        unknown="error: unknown option '{word}'",
        needless="error: unknown option '{word}'",
        missing="error: option '{shown}' argument missing",
        wrong=wrong_for_claude,
        patient=True,
        refused=1,
        promptless="Error: Input must be provided either through stdin or as a prompt argument when using --print",
        spares=True,
        variables=("ANTHROPIC", "CLAUDE"),
    ),
    "codex": Agent(
        _codex,
        options=agent_options.CODEX,
        verbs=("exec", "e"),
        verb_options=agent_options.CODEX_EXEC,
        below=("resume", "fork", "review", "help"),
        unknown="error: unexpected argument '{option}' found",
        needless="error: unexpected value '{value}' for '{option}' found; no more were expected",
        missing="error: a value is required for '{name} {takes}' but none was supplied",
        wrong=wrong_for_codex,
        refused=2,
        promptless="Reading prompt from stdin...\nNo prompt provided via stdin.",
        shy=True,
        variables=("CODEX", "OPENAI"),
    ),
}


def main(argv: Sequence[str]) -> int:
    scenario_dir, name, *rest = argv
    return answer(scenario_dir, name, rest, read_stdin(), os.environ, os.getcwd()).finish(rest)
