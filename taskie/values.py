"""Frozen values for the hook's path; knows nothing else.

`dataclasses` costs more to import than the interpreter takes to start, and the hook runs at every stop.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from typing_extensions import dataclass_transform

    V = TypeVar("V", bound="Value")
else:

    def dataclass_transform(**_):
        return lambda cls: cls


@dataclass_transform(frozen_default=True)
class Value:
    """Fields are the annotations, defaults the class attributes; compared and shown by their fields."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = type(self).__annotations__
        given = dict(zip(names, args))
        given.update(kwargs)
        cls = type(self)
        for name in names:
            if name not in given and not hasattr(cls, name):
                raise TypeError(f"{cls.__name__} needs {name}")
        if len(args) > len(names) or not given.keys() <= names.keys():
            raise TypeError(f"{cls.__name__} has the fields {', '.join(names)}")
        self.__dict__.update(given)

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in type(self).__annotations__}

    def replace(self: V, **changes: Any) -> V:
        """The same value with some fields changed."""
        return type(self)(**{**self.__dict__, **changes})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        return hash(tuple(self.as_dict().values()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.as_dict().items())
        return f"{type(self).__name__}({shown})"
