#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# deps.sh [source|kernel|test|bench|check|qemu]...: see that what these need is installed
# (everything, when none is named). Says nothing when it is.
#
# Root gets the packages installed; a person at a terminal with sudo too; anybody else
# gets the command.

. "$(dirname "$0")/lib.sh"

# missing GROUP...: the packages that are not there, each once.
missing()
{
	while read -r group arch probe package; do
		case $group in
		'#'* | '') continue ;;
		esac
		case " $* " in
		*" $group "*) ;;
		*) continue ;;
		esac
		# shellcheck disable=SC2153 # ARCH is what is asked for, arch the table's column
		[ "$arch" = all ] || [ "$arch" = "$ARCH" ] || continue
		case $probe in
		/*) [ -e "$probe" ] || echo "$package" ;;
		*) command -v "$probe" >/dev/null || echo "$package" ;;
		esac
	done <"$TOP/scripts/deps.list" | awk '!seen[$0]++'
}

apt_install()
{
	# Lists may be missing (a new container) or old (a version that the mirror no
	# longer has); without a network the install may still work from the cache.
	$1 apt-get update || :
	# shellcheck disable=SC2086 # one word a package
	$1 env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
		-o DPkg::Lock::Timeout=300 $packages
}

[ $# -gt 0 ] || set -- source kernel test bench check qemu
packages=$(missing "$@" | tr '\n' ' ')
packages=${packages% }
[ -n "$packages" ] || exit 0

by_hand="apt-get install --no-install-recommends $packages"
if ! command -v apt-get >/dev/null; then
	die "missing, by the names Debian gives them: $packages"
elif [ "$(id -u)" = 0 ]; then
	sudo=
elif [ -t 0 ] && command -v sudo >/dev/null; then
	sudo=sudo
else
	die "missing: $packages" "install with: sudo $by_hand"
fi

new_log deps
echo "  DEPS    installing $packages"
if [ -n "$sudo" ]; then
	sudo -v || die "sudo refused; install with: sudo $by_hand"
fi
step "installed" apt_install "$sudo" || fail "apt-get could not install $packages"
still=$(missing "$@" | tr '\n' ' ')
[ -z "$still" ] || die "still missing after the installation: $still"
