"""The reviews that need no prompt of the project's: name, and what the reviewer is asked."""

from __future__ import annotations

_FORM = """
Judge only what the changes bring in or make worse; what was there before is not up for review. Read the surrounding
code before you report anything, and report only what you can point to: a file, a line, and what goes wrong in which
case. If you are not sure that it is a defect, leave it out. Style, naming and taste are none of your business here.

Priorities: "critical" if data is lost, corrupted or exposed; "high" if something gives a wrong result or fails in
ordinary use; "medium" if it takes an unusual case; "low" for anything less. "fail" it only for what is medium or above.
"""

BUILT_IN = {
    "correctness": """\
Review the changes for correctness: does the code do what it is evidently meant to do?

Trace each changed function with ordinary values, with the smallest and the largest, with none at all, and with values
of the wrong kind. Look for conditions that are inverted or incomplete, off-by-one errors, wrong operators and units,
results that are computed and not used, state that is shared or left behind, resources that are not released, and
operations that race with each other. Follow each changed name to its other uses: a caller that still relies on the old
behavior, a second place that needed the same change, a default that no longer fits.
"""
    + _FORM,
    "security": """\
Review the changes for security, as somebody who would like to misuse them.

Follow whatever comes from outside (requests, files, environment, arguments, other programs, models) to where it is
used. Look for injection into shells, queries, paths, templates and markup; for missing or misplaced checks of identity
and permission; for secrets in code, logs, messages or URLs; for files, links and temporary names that another user can
replace; for unsafe deserialization; for weak or home-made cryptography; for input without bounds; and for defaults
that are open. Say for each finding who can do it, with what input, and what they gain.
"""
    + _FORM,
    "error-handling": """\
Review how the changes deal with failure.

For each operation that can fail (files, network, processes, parsing, allocation, other people's code), ask what happens
when it does. Look for errors that are swallowed, caught too broadly or turned into an ordinary value; for fallbacks
that hide a fault or carry on with half a result; for work that is left half done, locks that stay held and files that
stay open; for retries without an end and waits without a limit; and for messages that do not say what happened, to
what, and what to do next. An error that is passed on unchanged to somebody who can handle it is handled well.
"""
    + _FORM,
    "tests": """\
Review whether the tests test what has changed.

For each behavior that the changes add or alter, find the test that would fail if it were broken, and say which one is
missing. Then look at the tests themselves: could each fail at all? Look for assertions that repeat what the test itself
set up, that check a mock instead of the code, or that hold whatever the code does; for tests without assertions; for
exceptions that are caught and ignored; for only the easy case being tested where the code has others; and for sleeps,
order, clocks or networks that make a result a matter of luck. Code that cannot break needs no test.
"""
    + _FORM,
    "test-integrity": """\
Review whether the changes make the tests weaker than they were. You are looking for tests that were bent to let the
code pass.

Look at everything that tests or checks: test files, fixtures, expected output and snapshots, configuration of test
runners, linters and type checkers, scripts of continuous integration. Report each test that was deleted, skipped,
marked as an expected failure, renamed so that it is no longer collected, or emptied; each assertion that was removed,
loosened (equality to containment, an exact value to a range, a wider tolerance, a longer timeout) or changed to expect
what the code happens to do now; each case taken out of a table; each new mock in place of what was tested; each rule
switched off, each error suppressed, each threshold lowered; and code that recognizes that it is being tested. It is no
violation if the behavior itself was meant to change and the test follows it, or if the test moved and is still run: say
what you found it replaced by before you let it pass.

Weakened tests are "high"; so is a deleted one whose behavior is still there.
"""
    + _FORM,
}
