"""Starts the hook. Must parse on every Python 3, so that one that is too old can look for another."""

import gc
import os
import sys

root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
# In the wheel the plugin's files lie inside the package.
home = root if os.path.isdir(os.path.join(root, "taskie")) else os.path.dirname(os.path.dirname(root))


def start() -> int:
    if sys.version_info < (3, 9):
        for minor in range(20, 8, -1):
            for directory in os.environ.get("PATH", "").split(os.pathsep):
                python = os.path.join(directory, "python3.%d" % minor)
                if os.path.isabs(python) and not directory.endswith("/shims") and os.access(python, os.X_OK):
                    os.execv(python, [python, "-I", "-S", os.path.abspath(__file__)] + sys.argv[1:])
        print('{"systemMessage": "Taskie needs Python 3.9 or newer; set TASKIE_PYTHON.", "suppressOutput": true}')
        return 0
    package = os.path.join(home, "taskie")
    compiled = os.path.join(package, "__pycache__", "hook.%s.pyc" % sys.implementation.cache_tag)
    if not os.path.exists(compiled) and not os.access(package, os.W_OK):
        # Compiling everything again at each stop would cost more than all the rest.
        cache = os.environ.get("CLAUDE_PLUGIN_DATA") or os.path.join(os.path.expanduser("~"), ".cache", "taskie")
        # Without a home it would be in the project, and what lies there is whatever was cloned.
        if os.path.isabs(cache) and not is_in_project(cache):
            sys.pycache_prefix = os.path.join(cache, "pycache")
    sys.path.insert(0, home)
    from taskie.hook import main

    return main(sys.argv[1:])


def unable(error: Exception) -> int:
    """The package itself cannot be read, so nothing of it can answer; for scripts that is an error as any other."""
    if not sys.argv[1:]:
        raise error
    about = "%s: %s" % (type(error).__name__, error)
    plain = "".join(c for c in about if " " <= c <= "~" and c not in '"\\')[:300]
    message = "Taskie could not start (%s) and blocks nothing. Reinstall it, or look at the disk." % plain
    try:
        os.write(1, ('{"systemMessage": "%s", "suppressOutput": true}\n' % message).encode())
    except OSError:
        pass  # nobody reads it
    return 0


def is_in_project(path: str) -> bool:
    at = start = os.path.realpath(os.environ.get("CLAUDE_PROJECT_DIR") or os.sep)
    while at != os.sep and not os.path.lexists(os.path.join(at, ".git")):
        at = os.path.dirname(at)
    at = start if at == os.sep else at
    return at != os.sep and (os.path.realpath(path) + os.sep).startswith(at + os.sep)


if __name__ == "__main__":
    # There is little garbage in so short a life, and nothing to tidy up at its end: together a fifth of a stop's time.
    gc.disable()
    try:
        code = start()
    except Exception as error:
        code = unable(error)
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            pass  # nobody reads it
    os._exit(code)
