"""A stand-in for an agent's command line: answers from a script and notes every call. Knows no hook and no test.

`install` puts an executable into a directory; it runs this file as `python -I -S stand_in.py SCENARIO NAME …`,
where SCENARIO is a directory: `script` writes the answers there, `calls` reads what was called. An answer is a
dictionary, each key optional:

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
import shlex
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

REVIEW_FILE = re.compile(r"Write your review to (.+?-review-\d+\.md)")
# The real client waits so long for something on stdin, then goes on without it.
PATIENCE = 3.0


def install(bin_dir: str, scenario_dir: str, name: str = "claude", python: str = sys.executable) -> str:
    """Put the executable NAME into a directory; what it does is read from the scenario at each call."""
    os.makedirs(bin_dir, exist_ok=True)
    os.makedirs(scenario_dir, exist_ok=True)
    program = os.path.join(bin_dir, name)
    command = shlex.join([python, "-I", "-S", os.path.abspath(__file__), os.path.abspath(scenario_dir), name])
    with open(program, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {command} "$@"\n')
    os.chmod(program, 0o755)
    return program


def script(scenario_dir: str, answers: Sequence[Mapping[str, Any]], rejects: Sequence[str] = ()) -> None:
    """Say what the calls answer, one each; the last answer repeats. Options in `rejects` are unknown to it."""
    _replace(os.path.join(scenario_dir, "scenario.json"), {"answers": list(answers), "rejects": list(rejects)})


def calls(scenario_dir: str) -> list[dict[str, Any]]:
    """What was called so far: argv, cwd, env, stdin and pid of each call, in order."""
    noted: list[dict[str, Any]] = []
    while True:
        try:
            with open(os.path.join(scenario_dir, f"call-{len(noted)}.json"), encoding="utf-8") as file:
                noted.append(json.load(file))
        except FileNotFoundError:
            return noted


def parse(name: str, argv: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Options and other words of a command line, as the real program would take them apart."""
    agent = AGENTS[name]
    options: dict[str, Any] = {}
    words = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        option, equals, value = word.partition("=")
        option = agent.long.get(option, option)
        if equals:
            options[option] = value
        elif option in agent.values and rest:
            options[option] = rest.pop(0)
        elif option in agent.lists:
            options[option] = []
            while rest and not rest[0].startswith("-"):
                options[option].append(rest.pop(0))
        else:
            options[option] = True
    return options, words


def prompt(name: str, argv: Sequence[str], stdin: str) -> str:
    """The prompt of a call: a word of the command line, and whatever came on stdin."""
    words = [word for word in parse(name, argv)[1] if word != "-"]
    if words and words[0] == AGENTS[name].verb:
        words = words[1:]
    return "\n".join(part for part in (*words[:1], stdin) if part)


def answer(scenario_dir: str, name: str, argv: Sequence[str], stdin: str, env: Mapping[str, str], cwd: str) -> Reply:
    """Note a call, wait as scripted, write the review, and say how the program ends."""
    _note(scenario_dir, {"argv": list(argv), "cwd": cwd, "env": dict(env), "stdin": stdin, "pid": os.getpid()})
    mock = f"MOCK_{name.upper()}_"
    if env.get(mock + "LOG"):
        with open(os.path.join(cwd, env[mock + "LOG"]), "a", encoding="utf-8") as log:
            log.write(" ".join(argv) + "\n")
    options = parse(name, argv)[0]
    asked = prompt(name, argv, stdin)
    scenario = _scenario(scenario_dir)
    for option in scenario["rejects"]:
        if option in options:
            return Reply("", AGENTS[name].refusal.format(option) + "\n", AGENTS[name].refused)
    if not asked:
        return Reply("", "Error: Input must be provided either through stdin or as a prompt argument\n", 1)

    answers = scenario["answers"] or [{}]
    chosen = dict(answers[min(_turn(scenario_dir), len(answers) - 1)])
    for key, variable, kind in (("verdict", "VERDICT", str), ("exit", "EXIT_CODE", int), ("delay", "DELAY", float)):
        if env.get(mock + variable):
            chosen[key] = kind(env[mock + variable])
    _wait(scenario_dir, chosen.get("delay", 0))
    if chosen.get("runs"):
        return Reply("", "", 0, chosen["runs"])
    if chosen.get("writes", True):
        _write_review(name, asked, chosen.get("verdict", "FAIL"), env, cwd)
    code = chosen.get("exit", 0)
    complaint = f"{name}: ends with {code}, as scripted\n" if code else ""
    return Reply(AGENTS[name].prints(chosen, options, code, cwd), complaint, code)


class Reply:
    """What the program prints and how it ends; or what it becomes."""

    def __init__(self, stdout: str, stderr: str, exit_code: int, becomes: str | None = None) -> None:
        self.stdout = stdout
        self.stderr = stderr
        self.exit_code = exit_code
        self.becomes = becomes


def _claude(chosen: Mapping[str, Any], options: Mapping[str, Any], code: int, cwd: str) -> str:
    if "outputs" in chosen:
        return _printed(chosen["outputs"])
    verdict = chosen.get("verdict", "FAIL")
    usage = {"input_tokens": 1, "output_tokens": 1}
    if chosen.get("shape") == "plain":
        return _printed({"result": {"verdict": verdict}, "session_id": _identifier(), "cost": 0, "usage": usage})
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
    return _printed(document)


def _codex(chosen: Mapping[str, Any], options: Mapping[str, Any], code: int, cwd: str) -> str:
    verdict = chosen.get("verdict", "FAIL")
    structured = "--output-schema" in options and "says" not in chosen and verdict is not None
    words = json.dumps({"verdict": verdict}) if structured else _words(chosen)
    text = _printed(chosen["outputs"]) if "outputs" in chosen else words + "\n"
    last = options.get("--output-last-message")
    if last:
        with open(os.path.join(cwd, last), "w", encoding="utf-8") as file:
            file.write(text)
    if "--json" in options and "outputs" not in chosen:
        return "".join(_printed(event) for event in _codex_events(words, code))
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


def _printed(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value) + "\n"


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
    """One agent's command line: how it takes words apart, how it answers, which variables are its own.

    `values` are options with a value, `lists` those that swallow every word up to the next option, the prompt included.
    `verb` is the command before the prompt. `refusal` is what it says of an option that it does not know, `refused` the
    exit code then. `spares`: its Write tool refuses to overwrite a file that it has not read.
    """

    def __init__(
        self,
        prints: Callable[[Mapping[str, Any], Mapping[str, Any], int, str], str],
        *,
        values: str,
        lists: str = "",
        long: Mapping[str, str],
        verb: str | None = None,
        refusal: str = "error: unknown option '{}'",
        refused: int = 1,
        spares: bool = False,
        variables: tuple[str, ...],
    ) -> None:
        self.prints, self.values, self.lists, self.long = prints, values.split(), lists.split(), long
        self.verb, self.spares, self.variables = verb, spares, variables
        self.refusal, self.refused = refusal, refused


AGENTS = {
    "claude": Agent(
        _claude,
        values="""--agent --agents --append-system-prompt --debug-file --effort --fallback-model --input-format
            --json-schema --max-budget-usd --max-turns --model --name -n --output-format --permission-mode --plugin-dir
            --plugin-url --session-id --setting-sources --settings --system-prompt""",
        lists="""--add-dir --allowedTools --allowed-tools --betas --disallowedTools --disallowed-tools --file
            --mcp-config --tools""",
        long={"-p": "--print", "-c": "--continue", "-n": "--name", "-r": "--resume"},
        spares=True,
        variables=("ANTHROPIC", "CLAUDE"),
    ),
    "codex": Agent(
        _codex,
        values="""--ask-for-approval -a --cd -C --color --config -c --disable --enable --image -i --local-provider
            --model -m --output-last-message -o --output-schema --profile -p --sandbox -s""",
        long={"-m": "--model", "-o": "--output-last-message", "-C": "--cd", "-c": "--config", "-s": "--sandbox"},
        verb="exec",
        refusal="error: unexpected argument '{}' found",
        refused=2,
        variables=("CODEX", "OPENAI"),
    ),
}


def _scenario(scenario_dir: str) -> dict[str, Any]:
    try:
        with open(os.path.join(scenario_dir, "scenario.json"), encoding="utf-8") as file:
            scenario: dict[str, Any] = json.load(file)
            return scenario
    except FileNotFoundError:
        return {"answers": [], "rejects": []}


def _note(scenario_dir: str, call: Mapping[str, Any]) -> None:
    """Under the next free number, complete from the first moment, whoever else is noting: a link is atomic."""
    draft = os.path.join(scenario_dir, f".call-{os.getpid()}-{_identifier()}")
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(call, file)
    _first_free(lambda number: os.link(draft, os.path.join(scenario_dir, f"call-{number}.json")))
    os.unlink(draft)


def _turn(scenario_dir: str) -> int:
    """How many answers were given before this one. A rejected call takes none."""
    return _first_free(lambda number: os.mkdir(os.path.join(scenario_dir, f"answer-{number}")))


def _first_free(make: Callable[[int], None]) -> int:
    """The first number that nobody has taken, which is ours now."""
    number = 0
    while True:
        try:
            make(number)
            return number
        except FileExistsError:
            number += 1


def _wait(scenario_dir: str, seconds: float) -> None:
    """Wait as scripted, and while the file `hold` is there; the file `ended` ends both, so that nobody stays."""
    until = time.monotonic() + seconds
    while time.monotonic() < until or os.path.exists(os.path.join(scenario_dir, "hold")):
        if os.path.exists(os.path.join(scenario_dir, "ended")):
            raise SystemExit(1)
        time.sleep(min(0.01, max(until - time.monotonic(), 0.002)))


def _replace(path: str, value: Any) -> None:
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(value, file)
    os.replace(path + ".new", path)


def _identifier() -> str:
    # Looks like the client's; the module uuid costs more than all the rest.
    digits = os.urandom(16).hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _read_stdin() -> str:
    import select

    read = b""
    try:
        while select.select([0], [], [], PATIENCE)[0]:
            chunk = os.read(0, 65536)
            if not chunk:
                break
            read += chunk
    except (OSError, ValueError):
        pass  # closed: nothing to read
    return read.decode("utf-8", "replace")


def main(argv: Sequence[str]) -> int:
    scenario_dir, name, *rest = argv
    reply = answer(scenario_dir, name, rest, _read_stdin(), os.environ, os.getcwd())
    if reply.becomes:
        os.execv(reply.becomes, [reply.becomes, *rest])
    sys.stderr.write(reply.stderr)
    sys.stdout.write(reply.stdout)
    sys.stdout.flush()
    return reply.exit_code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
