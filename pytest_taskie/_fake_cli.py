"""The fake `claude` and `codex`: a test scripts their reviews, one answer for each call.

What they do when called is in `taskie.stand_in`; what they have in common with other fakes in `_fake_program`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from pytest_taskie._fake_program import Call, Fake
from taskie import scenario, stand_in

VERDICTS = ("PASS", "FAIL", None)


class AgentCall(Call):
    """One call of a fake agent, with its command line taken apart."""

    @property
    def flags(self) -> dict[str, Any]:
        """The options by their long names: the value, a list of values, or True."""
        return stand_in.parse(self.name, self.argv)[0]

    @property
    def model(self) -> str | None:
        """What `--model` says."""
        return self.flags.get("--model")

    @property
    def prompt(self) -> str:
        """The prompt as the program would take it: with what was on its stdin, and empty if a list option took it."""
        return stand_in.prompt(self.name, self.argv, self.stdin)


class FakeCli(Fake[AgentCall]):
    """A fake agent on PATH. Each scripting method takes one value per call; of the shorter lists the last one repeats.

    A review writes the file that the prompt names (`Write your review to …`) and prints the verdict as the real client
    does. Like the client it refuses options that it does not know. A call without an answer fails the test at its end,
    and so does an answer without a call: end with `repeats()` where the number does not matter.
    """

    _call = AgentCall
    _module = "taskie.stand_in"

    def __init__(
        self,
        name: str,
        directory: Path,
        env: MutableMapping[str, str],
        pytest_subprocess: Callable[[], Any] | None = None,
        *,
        lenient: bool = False,
    ) -> None:
        super().__init__(name, directory, env, pytest_subprocess, lenient=lenient)
        self._answers: dict[str, tuple[Any, ...]] = {}
        self._rejects: tuple[str, ...] = ()
        self._repeats = False
        self._after = 0
        self._write()

    def reviews(self, *verdicts: str | None, shape: str = "client") -> FakeCli:
        """Review with these verdicts. None: a review without one. `shape="plain"`: in `.result.verdict`."""
        wrong = [verdict for verdict in verdicts if verdict not in VERDICTS]
        if wrong and not self.lenient:
            raise ValueError(
                f"{self.name}: {wrong[0]!r} is not a verdict: PASS, FAIL, or None for a review without one. "
                "The client lets no other through; with `lenient = True` the fake does."
            )
        self._forget("says", "outputs", "runs")
        return self._set(verdict=verdicts, shape=(shape,))

    def says(self, *texts: str) -> FakeCli:
        """End with these words and no structured verdict."""
        self._forget("outputs", "runs")
        return self._set(says=texts)

    def outputs(self, *documents: object) -> FakeCli:
        """Print exactly this: text as it is, anything else as JSON."""
        self._forget("runs")
        return self._set(outputs=documents)

    def exits(self, *codes: int) -> FakeCli:
        """End with this exit code; all else stays as scripted."""
        return self._set(exit=codes)

    def delays(self, *seconds: float) -> FakeCli:
        """Take so long before writing or printing anything."""
        return self._set(delay=seconds)

    def writes_nothing(self) -> FakeCli:
        """Write no review file."""
        return self._set(writes=(False,))

    def rejects(self, *options: str) -> FakeCli:
        """Fail like a client that does not know these options; such a call uses up no answer."""
        self._rejects = options
        self._write()
        return self

    def runs(self, program: str) -> FakeCli:
        """Become this program once the call is noted: the text of a script, for `/bin/sh` unless it says `#!`."""
        return self._set(runs=(self._program(program),))

    def repeats(self) -> FakeCli:
        """Give the last answer to every later call too; nobody needs to fetch it."""
        self._repeats = True
        return self._set()

    def _forget(self, *keys: str) -> None:
        for key in keys:
            self._answers.pop(key, None)

    def _set(self, **fields: tuple[Any, ...]) -> FakeCli:
        for key, values in fields.items():
            if not values:
                raise TypeError(f"{self.name}: say at least one {key}.")
        fetched = scenario.taken(str(self._scenario)) - self._after
        self._after += fetched
        # What was scripted before goes on where it stands, beside what is new.
        self._answers = {key: values[min(fetched, len(values) - 1) :] for key, values in self._answers.items()}
        self._answers.update(fields)
        self._write()
        return self

    def _scripted(self) -> list[dict[str, Any]]:
        """One answer for each call that is scripted: none as long as nothing was."""
        count = max([len(values) for values in self._answers.values()], default=int(self._repeats))
        return [
            {key: values[min(turn, len(values) - 1)] for key, values in self._answers.items()} for turn in range(count)
        ]

    def _write(self) -> None:
        stand_in.script(
            str(self._scenario),
            self._scripted(),
            self._rejects,
            after=self._after,
            repeats=self._repeats or self._lenient,
            lenient=self._lenient,
        )

    def _left(self) -> list[str]:
        fetched = scenario.taken(str(self._scenario)) - self._after
        answers = self._scripted()
        left = answers[fetched:-1] if self._repeats else answers[fetched:]
        return [_described(answer) for answer in left]

    def _answer(self, argv: Sequence[str], env: Mapping[str, str], cwd: str) -> scenario.Reply:
        return stand_in.answer(str(self._scenario), self.name, argv, "", env, cwd)


def _described(answer: Mapping[str, Any]) -> str:
    said = {key: value for key, value in answer.items() if key != "shape"}
    return ", ".join(f"{key} {value!r}" for key, value in said.items())
