"""Turn: may this stop be blocked? Knows `stop_hook_active` and evidence of progress, nothing of engines."""

from __future__ import annotations

from taskie.values import Value


class Turn(Value):
    """One agent turn.

    `active` says only that some hook blocked earlier in this turn. Honoured blindly it ends every loop after
    one round, ignored it loops for ever: so an engine blocks again only with evidence that something has
    changed since it last blocked. `progress` is such evidence found by another engine in this very run.
    `preceded`: another engine is asked before this one here, and may have blocked the earlier stops of this turn, so
    that this one was not asked at all.
    """

    active: bool
    strict: bool = False
    progress: bool = False
    preceded: bool = False

    def may_block(self, evidence: bool = False) -> bool:
        if not self.active:
            return True
        return not self.strict and (evidence or self.progress)
