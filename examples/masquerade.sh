#!/bin/sh
# SPDX-License-Identifier: MIT
#
# masquerade.sh - lets programs that start 'llama-server' by its name get it with the shim, without
# changing them: a link to metalrun that is named llama-server, in a folder in front of PATH.
#
#   masquerade.sh FOLDER [ARGUMENT...]      makes FOLDER/llama-server, then starts it once
#
# metalrun sees by which name it was called and starts the next llama-server in PATH that is not
# metalrun, with all arguments. To undo it, remove the link.
set -eu

[ $# -gt 0 ] || {
    echo "usage: masquerade.sh FOLDER [ARGUMENT...]" >&2
    exit 2
}
folder=$1
shift
link=$folder/llama-server

metalrun=$(command -v metalrun) || {
    echo "masquerade.sh: metalrun is not in PATH" >&2
    exit 1
}
if [ -e "$link" ] && [ ! -L "$link" ]; then
    echo "masquerade.sh: $link is a file of its own and stays as it is" >&2
    exit 1
fi
mkdir -p "$folder"
ln -sf "$metalrun" "$link"

# For this script only. For yourself: put the folder in front where your PATH is set.
PATH=$folder:$PATH
export PATH
echo "llama-server is now $(command -v llama-server)" >&2
exec llama-server "$@"
