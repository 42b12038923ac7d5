"""Settings: defaults < the user's TOML < the project's, which can only tighten < the environment. Never blocks."""

from __future__ import annotations

import os
import sys

from taskie.protocol import BUDGET, parse_json
from taskie.store import StoreError, mode_of, read_regular
from taskie.values import Value
from taskie.variables import config_home, is_in_project, set_by_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeVar

    T = TypeVar("T")


# Sets rather than patterns: the hook would compile each at every stop.
LETTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_OF_A_MODEL = LETTERS | set("._:/[]-")
MOST = 10**9 - 1
SEVERITIES = ("note", "minor", "major", "blocker")  # of a finding, the least one first


def is_model(name: str) -> bool:
    """Whether this can be a model's name, and never an option of the reviewer's command line, behind a provider's
    colon neither."""
    return 0 < len(name) <= 200 and name[0] in LETTERS and ":-" not in name and _OF_A_MODEL.issuperset(name)


def _number(convert: Callable[[Any], Any], fits: Callable[[Any], bool], expected: str) -> Callable[[Any], Any]:
    """A number from a file, or the text of one from a variable. A fraction is not a whole number, nor is 1.0."""

    def check(value: Any) -> Any:
        try:
            if not isinstance(value, bool) and (convert is float or not isinstance(value, float)):
                number = convert(value)
                if fits(number):
                    return number
        except (TypeError, ValueError, OverflowError):
            pass
        raise ValueError(expected)

    return check


def _whole(least: int) -> Callable[[Any], Any]:
    return _number(int, lambda number: least <= number <= MOST, f"a whole number, {least} or more")


_dollars = _number(float, lambda number: 0 <= number <= MOST, "a number of US dollars, 0 or more")
_seconds = _number(float, lambda number: 0 < number <= MOST, "a number of seconds, more than 0")


def _models(value: Any) -> Any:
    names = _words(",")(value)
    if not all(is_model(name) for name in names):
        raise ValueError("a list of model names")
    return names


def _severities(value: Any) -> Any:
    names = _words(",")(value)
    if not set(names) <= set(SEVERITIES):
        raise ValueError(f"a severity ({', '.join(SEVERITIES)}), or a list with one for each review")
    return names


def _one_of(*allowed: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value not in allowed:
            raise ValueError(" or ".join(repr(choice) for choice in allowed))
        return value

    return check


def _words(separator: str | None) -> Callable[[Any], Any]:
    """A list of words; one string holds words apart by the separator, or is a single word without one."""

    def check(value: Any) -> Any:
        if isinstance(value, str):
            value = [part.strip() for part in value.split(separator)] if separator else [value]
        if not isinstance(value, list) or not value or not all(isinstance(v, str) and v for v in value):
            raise ValueError("a list of one or more words")
        return tuple(value)

    return check


def _flag(value: Any) -> Any:
    found = {"true": True, "false": False, "1": True, "0": False}.get(value) if isinstance(value, str) else value
    if not isinstance(found, bool):
        raise ValueError("true or false")
    return found


# Which of two values is tighter: each says whether a project may put `theirs` in the place of what you have.


def _never(yours: Any, theirs: Any) -> bool:
    return bool(theirs == yours)


def _lower(yours: Any, theirs: Any) -> bool:
    """None means that there is no bound."""
    return theirs is not None and (yours is None or theirs <= yours)


def _lower_but_some(yours: Any, theirs: Any) -> bool:
    """0 is not a tighter bound: it switches off what is bounded."""
    return bool(min(yours, 1) <= theirs <= yours)


def _higher(yours: Any, theirs: Any) -> bool:
    return bool(theirs >= yours)


def _among(yours: Any, theirs: Any) -> bool:
    return set(theirs) <= set(yours)


def _towards(*order: object) -> Callable[[Any, Any], bool]:
    """From the loosest to the tightest."""
    return lambda yours, theirs: order.index(theirs) >= order.index(yours)


def _as_severe(yours: Any, theirs: Any) -> bool:
    """For every review of a cycle; the last entry holds for all that follow."""
    for at in range(max(len(yours), len(theirs))):
        least, asked = (names[min(at, len(names) - 1)] for names in (yours, theirs))
        if SEVERITIES.index(asked) > SEVERITIES.index(least):
            return False
    return True


_rows: list[tuple[Callable[[Any], Any], Callable[[Any, Any], bool]]] = []


def _setting(default: T, check: Callable[[Any], Any], tightens: Callable[[Any, Any], bool]) -> T:
    """A setting's default, once its check is noted, and what a project may make of it: one row says all."""
    _rows.append((check, tightens))
    return default


class Config(Value):
    """Every setting, flat: `review_models` is `models` in `[review]`, and `TASKIE_REVIEW_MODELS`."""

    review_command: tuple[str, ...] = _setting(("claude",), _words(None), _never)
    review_models: tuple[str, ...] = _setting(("opus", "sonnet"), _models, _among)
    review_clean_required: int = _setting(2, _whole(1), _higher)
    review_max_reviews: int = _setting(8, _whole(0), _lower_but_some)
    review_timeout: float = _setting(BUDGET, _seconds, _lower)
    review_permissions: str = _setting("auto", _one_of("auto", "skip", "scoped"), _towards("skip", "auto", "scoped"))
    review_max_turns: int | None = _setting(None, _whole(1), _lower)
    review_max_budget_usd: float | None = _setting(None, _dollars, _lower)
    review_plan_budget_usd: float | None = _setting(None, _dollars, _lower)
    review_hooks: str = _setting("off", _one_of("off", "keep"), _towards("off", "keep"))
    review_findings: bool = _setting(False, _flag, _higher)
    review_remember: bool = _setting(False, _flag, _lower)
    review_fail_on: tuple[str, ...] = _setting(("minor",), _severities, _as_severe)
    review_push: bool = _setting(False, _flag, _lower)
    loop_guard: str = _setting("progress", _one_of("progress", "strict"), _towards("progress", "strict"))
    gauntlet_insist: int = _setting(2, _whole(0), _lower)
    gauntlet_rules_from: str = _setting("worktree", _one_of("worktree", "base"), _towards("worktree", "base"))
    claudex_sandbox: str = _setting(
        "bypass", _one_of("bypass", "workspace-write"), _towards("bypass", "workspace-write")
    )
    warnings: tuple[str, ...] = ()

    def allows_model(self, name: str) -> bool:
        """Whether a review may be billed to this model: any may, as long as nobody has set `review.models`."""
        return self.review_models is Config.review_models or name in self.review_models


# One that nobody understands is 0: a slip must not lift a bound.
BUDGETS = ("review_max_budget_usd", "review_plan_budget_usd")
# The check of each setting, which raises ValueError with what it expects.
SETTINGS: dict[str, Callable[[Any], Any]] = {key: check for key, (check, _) in zip(Config.__annotations__, _rows)}
# Whether what a project asks for is as tight as what the user has, for each setting.
TIGHTENS: dict[str, Callable[[Any, Any], bool]] = {key: rule for key, (_, rule) in zip(Config.__annotations__, _rows)}


def load(root: str, env: Mapping[str, str]) -> Config:
    """The settings that hold in this project, with a warning for each that could not be used.

    A client puts variables of the project's own settings into our environment: those are the project's word.
    """
    theirs = set_by_project(env, root)
    own: dict[str, Any] = {}
    warnings: list[str] = []
    base = config_home(env, theirs)
    if os.path.isabs(base):  # without a home, yours would be a file of the clone
        _take_own(own, _file(os.path.join(base, "taskie", "config.toml"), False, warnings), root, env, warnings)
    settings = dict(own)
    variables = [(key, f"TASKIE_{key.upper()}") for key in SETTINGS]
    given = [(key, name, _from_text(env[name])) for key, name in variables if env.get(name)]
    for key, value, where in [
        *_file(os.path.join(root, "pyproject.toml"), True, warnings),
        *_file(os.path.join(root, ".taskie", "config.toml"), False, warnings),
        *((key, value, f"{theirs[name]}: {name}") for key, name, value in given if name in theirs),
    ]:
        _tighten(settings, own, key, value, where, warnings)
    _take_own(settings, [(key, value, name) for key, name, value in given if name not in theirs], root, env, warnings)
    return Config(warnings=tuple(warnings), **settings)


def _file(path: str, is_pyproject: bool, warnings: list[str]) -> list[tuple[str, Any, str]]:
    """What one file sets: the setting, its value, and what to call it in a warning."""
    try:
        if not mode_of(path):
            return []
        tables = read_toml(path, is_pyproject)
    except StoreError as error:
        warnings.append(f"{path}: {error}; its settings are not used")
        return []
    return [(key, value, f"{path}: {key.replace('_', '.', 1)}") for key, value in _flat(tables, path, warnings)]


def _tighten(
    settings: dict[str, Any], own: dict[str, Any], key: str, value: Any, where: str, warnings: list[str]
) -> None:
    """Take from a project what binds more tightly than the user's own, and nothing else."""
    asked: dict[str, Any] = {}
    _take(asked, key, value, where, warnings)
    if key not in asked:
        return
    yours = own.get(key, getattr(Config, key))
    if TIGHTENS[key](yours, asked[key]):
        settings[key] = asked[key]
    else:
        warnings.append(f"{where} is only taken from your own configuration, since it would loosen yours; ignored")


def _take_own(
    settings: dict[str, Any], given: list[tuple[str, Any, str]], root: str, env: Mapping[str, str], warnings: list[str]
) -> None:
    """What the user says. Only a program in the project is nobody's choice: it is whatever was cloned."""
    for key, value, where in given:
        program = value[0] if isinstance(value, list) and value else value
        placed = key == "review_command" and isinstance(program, str) and os.sep in program
        if placed and (not os.path.isabs(program) or is_in_project(program, root, env)):
            warnings.append(f"{where} must be a name on PATH or an absolute path outside the project; ignored")
        else:
            _take(settings, key, value, where, warnings)


def _from_text(text: str) -> Any:
    """A variable's value: a JSON list, or the text itself."""
    if text.startswith("["):
        try:
            return parse_json(text)
        except ValueError:
            pass  # the setting's own check says what is expected
    return text


def _take(settings: dict[str, Any], key: str, value: Any, where: str, warnings: list[str]) -> None:
    try:
        settings[key] = SETTINGS[key](value)
    except ValueError as expected:
        if key in BUDGETS:
            settings[key] = 0.0
        warnings.append(f"{where} must be {expected}; {'taken for 0: no review' if key in BUDGETS else 'ignored'}")


def _flat(tables: dict[str, Any], path: str, warnings: list[str]) -> list[tuple[str, Any]]:
    found = []
    for section, table in tables.items():
        names = [key.partition("_")[2] for key in SETTINGS if key.partition("_")[0] == section]
        if not names:
            continue  # another engine's section
        if not isinstance(table, dict):
            warnings.append(f"{path}: {section} must be a table; ignored")
            continue
        for name, value in table.items():
            if name in names:
                found.append((f"{section}_{name}", value))
            else:
                warnings.append(f"{path}: [{section}] has no setting {name!r} (it has {', '.join(names)})")
    return found


def read_toml(path: str, is_pyproject: bool) -> dict[str, Any]:
    try:
        path = os.path.realpath(path)  # people keep their configuration behind links
        data = read_regular(path)
    except OSError as error:
        raise StoreError(f"cannot be read ({error.strerror})") from None
    if data is None or (is_pyproject and b"tool.taskie" not in data):
        return {}
    parser = _toml_parser()
    if parser is None:
        raise StoreError("reading TOML needs Python 3.11, or `pip install tomli`")
    try:
        parsed = parser(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise StoreError(f"is not valid TOML ({error})") from None
    if is_pyproject:
        tool = parsed.get("tool")
        parsed = tool.get("taskie", {}) if isinstance(tool, dict) else {}
    if not isinstance(parsed, dict):
        raise StoreError("tool.taskie must be a table")
    return parsed


def _toml_parser() -> Callable[[str], dict[str, Any]] | None:
    name = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    try:
        return __import__(name).loads  # type: ignore[no-any-return]  # mypy cannot see through the name
    except ImportError:
        import site

        site.main()  # the hook runs with -S, so what pip installed is not importable yet
    try:
        return __import__(name).loads  # type: ignore[no-any-return]
    except ImportError:
        return None
