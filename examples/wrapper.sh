#!/bin/sh
# SPDX-License-Identifier: MIT
#
# wrapper.sh - a wrapper script around llama-server, as people keep them in ~/bin.
#
#   wrapper.sh -m model.gguf --port 8080
#
# 'exec metalrun --' stands in the last line, and metalrun is not put in front of the script:
#
#  - /bin/sh is a program of macOS, and those drop the variable that inserts a library: started
#    inside the script, metalrun sets it for llama-server alone.
#  - With exec the shell becomes metalrun, and that becomes llama-server: one process. What stops
#    the script (launchd, a terminal, kill) stops the server, and its exit status is the script's.
#
# On a machine that is no guest the same line starts llama-server as it is.
set -eu

# A choice of your own, before the start:
export LLAMA_ARG_THREADS="${LLAMA_ARG_THREADS:-4}"

exec metalrun -- llama-server "$@"
