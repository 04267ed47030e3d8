# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# tests/run sources this first, and so does tests/net/lib/lib.sh for a script that runs alone. A test inherits the same
# from every caller: no open file above standard error, the usual umask, the C locale, and known limits. A shell cannot
# undo ignored signals: a script starts programs with env --default-signal.

umask 022
export LC_ALL=C
unset XIW_CONF LANG LANGUAGE TZ CDPATH ENV BASH_ENV POSIXLY_CORRECT
unset GREP_OPTIONS GREP_COLORS COLUMNS LINES

# The shell closes its own files in its children. Other open files are the caller's.
for _fd in /proc/self/fd/*; do
	_fd=${_fd##*/}
	_flags=$(sed -n 's/^flags:.*\([0-7]\)[0-7]\{6\}$/\1/p' "/proc/$$/fdinfo/$_fd" 2>/dev/null)
	((_fd > 2)) && [[ -e /proc/$$/fd/$_fd ]] && (((_flags & 2) == 0)) && exec {_fd}>&-
done
unset _fd _flags

# Open files, stack (KiB) and core files. Who may not raise a limit, keeps it.
{
	ulimit -Sn 4096 || ulimit -n 4096
	ulimit -Ss 8192
	ulimit -Sc 0
} 2>/dev/null
