#!/bin/sh
# Taskie's hooks start here. Answers by itself where no engine can apply; everything else is Python's.
#
#   stop-hook.sh                  errors in the input exit 2, for scripts and tests
#   stop-hook.sh --fail-open      as the client runs it: exit 0 and JSON, since exit 2 would block the stop
#   stop-hook.sh --pre-tool-use   the hook for another event; silence allows what it is about
#
# That holds also where no Python can be started, or where it cannot read our package. It does not where Python starts
# and fails before our first line, its own library being gone: it exits 1 then, which allows the stop, but without JSON.
# And where a disk fails just as it opens stop_hook.py, or the shell this script, the exit is 2. This shell does not stay
# beside Python to answer.
#
# No `set -e` or `-u`: the shell's own errors exit 2. stdin is left alone: the shell reads byte by byte.

marked() { # does this directory hold a marker of an engine?
    for marker in $markers; do
        [ -e "$1/$marker" ] || [ -L "$1/$marker" ] && return 0
    done
    return 1
}

marked_upwards() { # does this directory, or one above it?
    at=$1
    while [ -n "$at" ]; do
        marked "$at" && return 0
        at=${at%/*}
    done
    marked ''
}

markers=
# <markers> of the engines that take an event, written by `make generate`
case $1 in
    --pre-tool-use) markers='autopilot-state.json .git/taskie/autopilot/autopilot-state.json' ;;
    --fail-open) markers='autopilot-state.json .git/taskie/autopilot/autopilot-state.json .gauntlet/config.yml .git/taskie/gauntlet gauntlet_logs/.execution_state .claude/claudex .taskie/plans' ;;
    --subagent-stop) markers='autopilot-state.json .git/taskie/autopilot/autopilot-state.json' ;;
esac

if [ -n "$markers" ] && [ -n "$CLAUDE_PROJECT_DIR" ]; then
    if [ -n "$TASKIE_HOOK_SKIP" ]; then
        applies=
    elif marked_upwards "$PWD" || { [ "$CLAUDE_PROJECT_DIR" != "$PWD" ] && marked "$CLAUDE_PROJECT_DIR"; }; then
        applies=yes
    else
        # The path may lead here through a link; its physical form has other parents.
        logical=$PWD
        cd -P . 2>/dev/null
        if [ "$PWD" != "$logical" ] && marked_upwards "$PWD"; then applies=yes; else applies=; fi
    fi
    if [ -z "$applies" ]; then
        [ "$1" = --fail-open ] && echo '{"suppressOutput": true}'
        exit 0
    fi
fi

self=$0
while [ -L "$self" ]; do
    link=$(readlink "$self")
    case $link in
        /*) self=$link ;;
        *) self=${self%/*}/$link ;;
    esac
done
case $self in */*) ;; *) self=./$self ;; esac

# A version manager's shim costs ten times the interpreter. On macOS /usr/bin/python3 is a stub, which opens a dialog
# where Apple's developer tools are missing; where they are not, theirs is the interpreter behind it.
python=$TASKIE_PYTHON
unset TASKIE_PYTHON_REFUSED
if [ -n "$python" ]; then
    # A project's settings can set this too. Which program we run is not for a clone to say, so it is none of its own.
    case $python in /*) there=$(cd -P -- "${python%/*}/" 2>/dev/null && pwd -P) ;; *) python= ;; esac
    case ${python##*/} in *python* | *pypy*) ;; *) python= ;; esac
    for root in "$(pwd -P)" "$(cd -P -- "${CLAUDE_PROJECT_DIR:-.}" 2>/dev/null && pwd -P)"; do
        at=$root
        while [ -n "$at" ] && [ ! -e "$at/.git" ]; do at=${at%/*}; done
        at=${at:-$root}
        [ -n "$at" ] && case $there/ in "$at"/*) python= ;; esac
    done
    [ -n "$python" ] || export TASKIE_PYTHON_REFUSED="$TASKIE_PYTHON"
fi
shim=
if [ -z "$python" ]; then
    IFS=:
    set -f
    for directory in $PATH; do
        case $directory in
            */shims) [ -x "$directory/python3" ] && shim=${shim:-$directory/python3} ;;
            /usr/bin) [ -x /usr/bin/python3 ] && [ ! -e /usr/bin/xcode-select ] && python=/usr/bin/python3 ;;
            /*) [ -x "$directory/python3" ] && [ ! -d "$directory/python3" ] && python=$directory/python3 ;;
        esac
        [ -n "$python" ] && break
    done
    set +f
    unset IFS
    python=${python:-$shim}
    if [ -z "$python" ] && [ -x /usr/bin/xcode-select ]; then
        tools=/Library/Developer/CommandLineTools
        [ -x $tools/usr/bin/python3 ] || tools=$(/usr/bin/xcode-select -p 2>/dev/null)
        case $tools in /?*) python=$tools/usr/bin/python3 ;; esac
    fi
fi

approve() {
    trap - EXIT
    echo "{\"systemMessage\": \"Taskie $1\", \"suppressOutput\": true}"
    exit 0
}
no_python() { approve 'found no Python: install Python 3.9 or newer, or set TASKIE_PYTHON to one.'; }

[ -r "${self%/*}/stop_hook.py" ] || approve 'cannot read its own files: install it again.' # Python would exit 2
if [ -x "$python" ] && [ ! -d "$python" ]; then
    # What the system cannot run ends the shell: dash by way of its trap, bash only if it is not told to go on.
    trap no_python EXIT
    [ -n "$BASH_VERSION" ] && shopt -s execfail
    exec "$python" -I -S "${self%/*}/stop_hook.py" "$@"
fi
no_python
