"""The texts that the original design fixes, as templates, and how a test fills them in. Knows nothing of the product.

`NAME.txt` holds the text byte for byte, and one line feed at its end that does not belong to it. `{word}` stands for
what varies. The product's own formatting is never used to fill one in: a text is compared with something that the code
which makes it cannot change.
"""

from __future__ import annotations

import re
from pathlib import Path

TEMPLATES = Path(__file__).parent
PLUGIN = TEMPLATES.parents[1]
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")  # `{"step": …}` in a command is none


def golden(name: str, **values: object) -> str:
    """The text with these values. One that is missing or not used is a mistake in the test."""
    template = (TEMPLATES / f"{name}.txt").read_bytes().decode("utf-8")
    assert template.endswith("\n"), f"{name}.txt must end with a line feed"
    wanted = set(_PLACEHOLDER.findall(template))
    assert wanted == values.keys(), f"{name}.txt has {sorted(wanted)}, the test gave {sorted(values)}"
    return _PLACEHOLDER.sub(lambda found: str(values[found[1]]), template[:-1])
