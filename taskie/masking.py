"""What a token looks like, and how a log names it instead. Knows no file."""

from __future__ import annotations

MASK = "[masked]"
# One of these is in everything that is masked: looking for them is cheap, compiling the patterns is not.
_HINTS = (
    *("sk-", "gh", "glpat-", "akia", "asia", "xox", "aiza", "npm_", "pypi-", "hf_", "eyj", "bearer", "basic"),
    *("private key", "passw", "secret", "token", "key", "://"),
)
_TOKENS = (
    r"\bsk-[\w-]{16,}",
    r"\bgh[pousr]_\w{16,}",
    r"\bgithub_pat_\w{16,}",
    r"\bglpat-[\w-]{16,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bxox[abeoprs]-[\w-]{10,}",
    r"\bAIza[\w-]{30,}",
    r"\bnpm_\w{30,}",
    r"\bpypi-[\w-]{16,}",
    r"\bhf_\w{20,}",
    r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"(?:[^\0]{0,10000}?-----END [A-Z ]*PRIVATE KEY-----|(?:(?:\s|\\n)*[\w+/=]{16,})*)",
)
# What stands before the value stays, so that a log still says what it is about. A number is a count of tokens.
_NAMED = (
    r"(?i:\bbearer\s+)",
    r"(?i:\bauthorization[\"']?\s*[:=]\s*[\"']?basic\s+)",
    r"(?i:(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|auth[_-]?key)(?:[_-]\w+)?"
    r"[\"']?\s?[:=]\s?[\"']?)(?!\d+\b)",
)
_VALUE = r"[^\s\"',;&<>(){}\[\]]{6,}"
_IN_A_URL = r"(?<=://)[^\s/:@]*:[^\s/@]+(?=@)"


def masked(text: str) -> str:
    """The text with every value that looks like a secret taken out."""
    low = text.lower()
    if not any(hint in low for hint in _HINTS):
        return text
    import re

    pattern = f"({'|'.join(_NAMED)}){_VALUE}|{'|'.join(_TOKENS)}|{_IN_A_URL}"
    return re.sub(pattern, lambda found: f"{found[1] or ''}{MASK}", text)


def masked_bytes(data: bytes) -> bytes:
    """The same of a file's bytes, whatever they are."""
    return masked(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
