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

# Copilot CLI starts hooks in the project's root, wherever the agent is: only the event says where that is.
if [ -n "$markers" ] && [ -n "$CLAUDE_PROJECT_DIR" ] && [ -z "$COPILOT_PROJECT_DIR" ]; then
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

approve() {
    trap - EXIT
    echo "{\"systemMessage\": \"Taskie $1\", \"suppressOutput\": true}"
    exit 0
}
trap 'approve "could not be started: the system has no processes or files left."' EXIT # where the shell itself fails

self=$0
while [ -L "$self" ]; do
    link=$(PATH=/usr/bin:/bin:$PATH readlink "$self") # a project's settings can set PATH
    case $link in
        /*) self=$link ;;
        *) self=${self%/*}/$link ;;
    esac
done
case $self in */*) ;; *) self=./$self ;; esac

in_project() { # does this directory lie in the project, whichever way its path leads there?
    there=$(cd -P -- "$1/" 2>/dev/null && pwd -P)
    for root in "$(pwd -P)" "$(cd -P -- "${CLAUDE_PROJECT_DIR:-.}" 2>/dev/null && pwd -P)"; do
        at=$root
        while [ -n "$at" ] && [ ! -e "$at/.git" ]; do at=${at%/*}; done
        at=${at:-$root}
        [ -n "$at" ] && case $there/ in "$at"/*) return 0 ;; esac
    done
    return 1
}

brought() { # is what lies here the clone's choice: in the project, whose settings of the client say where programs are?
    in_project "$1" || return 1
    for root in . "$at" "${CLAUDE_PROJECT_DIR:-.}"; do
        for file in "$root/.claude/settings.json" "$root/.claude/settings.local.json"; do
            [ -f "$file" ] || continue
            while IFS= read -r line || [ -n "$line" ]; do # no program: it would be one of that PATH
                case $line in *PATH* | *\\u*) return 0 ;; esac # JSON can spell every letter another way
            done <"$file"
        done
    done
    return 1
}

# A version manager's shim costs ten times the interpreter. On macOS /usr/bin/python3 is a stub, which opens a dialog
# where Apple's developer tools are missing; where they are not, theirs is the interpreter behind it.
python=$TASKIE_PYTHON
unset TASKIE_PYTHON_REFUSED
if [ -n "$python" ]; then
    # A project's settings can set this too. Which program we run is not for a clone to say, so it is none of its own.
    case $python in /*) in_project "${python%/*}" && python= ;; *) python= ;; esac
    case ${python##*/} in *python* | *pypy*) ;; *) python= ;; esac
    [ -n "$python" ] || export TASKIE_PYTHON_REFUSED="$TASKIE_PYTHON"
fi
shim=
if [ -z "$python" ]; then
    IFS=:
    set -f
    for directory in $PATH; do
        case $directory in
            /*/shims) [ -x "$directory/python3" ] && ! brought "$directory" && shim=${shim:-$directory/python3} ;;
            /usr/bin) [ -x /usr/bin/python3 ] && [ ! -e /usr/bin/xcode-select ] && python=/usr/bin/python3 ;;
            /*) [ -x "$directory/python3" ] && [ ! -d "$directory/python3" ] && python=$directory/python3 ;;
        esac
        case $python in
            '' | /bin/python3 | /usr/bin/python3 | /usr/local/bin/python3 | /opt/homebrew/bin/python3) ;;
            *) brought "$directory" && python= ;;
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

no_python() { approve 'found no Python: install Python 3.9 or newer, or set TASKIE_PYTHON to one.'; }

[ -r "${self%/*}/stop_hook.py" ] || approve 'cannot read its own files: install it again.' # Python would exit 2
if [ -x "$python" ] && [ ! -d "$python" ]; then
    # What the system cannot run ends the shell: dash by way of its trap, bash only if it is not told to go on.
    trap no_python EXIT
    [ -n "$BASH_VERSION" ] && shopt -s execfail
    exec "$python" -I -S "${self%/*}/stop_hook.py" "$@"
fi
no_python
