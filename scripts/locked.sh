#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# locked.sh NAME COMMAND...: the command, when no other run in this build directory is at
# what NAME says. Two makes that write the same files would else mix them.

. "$(dirname "$0")/lib.sh"

name=$1
shift
PROG="make"
lock "$name"
"$@" 9>&-
