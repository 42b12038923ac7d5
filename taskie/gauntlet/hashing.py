"""One fast hash for fingerprints and digests. `hashlib` loads OpenSSL, which takes longer than all hashing here."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Hash(Protocol):
        def update(self, data: bytes, /) -> None: ...

        def hexdigest(self) -> str: ...


def new(data: bytes = b"") -> Hash:
    """BLAKE2b, 20 bytes."""
    try:
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b
    return blake2b(data, digest_size=20)


def digest(data: bytes) -> str:
    return new(data).hexdigest()
