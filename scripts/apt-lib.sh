# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2154 # LOG is lib.sh's
#
# Debian packages of a suite that the machine may not be set up for. apt fetches them with
# its signature checks, but with a state directory of its own, because the machine's lists
# are not ours to change. The mirror is whichever one the machine uses. Sourced after lib.sh.

# The mirror of the machine's own release, from its apt configuration.
mirror()
{
	if [ -n "${DEBIAN_MIRROR:-}" ]; then
		echo "$DEBIAN_MIRROR"
		return
	fi
	_codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	# shellcheck disable=SC2016 # $(RELEASE) is apt's, not the shell's
	apt-get indextargets --no-release-info --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		awk -v c="$_codename" '
			$1 == c && $2 ~ /debian/ { print $2; found = 1; exit }
			!first && $2 ~ /\/debian\/?$/ { first = $2 }
			END { if (!found && first) print first }'
}

# not_signed: apt failed because of what it got, and not because it got nothing.
not_signed()
{
	grep -q 'Hash Sum mismatch\|unexpected size\|BADSIG\|NO_PUBKEY\|EXPKEYSIG\|is not signed\|signatures were invalid' "$LOG"
}

# apt_private ARGUMENTS...: apt-get with the state that apt_lists made.
apt_private()
{
	apt-get -c "$apt_dir/apt.conf" "$@"
}

# apt_lists DIRECTORY TYPE SUITE OTHERWISE: an empty state in DIRECTORY and the SUITE's lists in
# it, of the TYPE deb or deb-src. OTHERWISE is what a person can do who has no network.
apt_lists()
{
	apt_dir=$1 apt_otherwise=$4
	command -v apt-get >/dev/null || die "no apt-get here: $4"
	_mirror=$(mirror)
	[ -n "$_mirror" ] || die "no Debian mirror in apt's configuration: say DEBIAN_MIRROR=<uri>, or $4"
	rm -rf "$apt_dir"
	mkdir -p "$apt_dir/state/lists/partial" "$apt_dir/cache/archives/partial" "$apt_dir/parts"
	: >"$apt_dir/status"
	_keyring=
	for _k in /usr/share/keyrings/debian-archive-keyring.gpg \
		/usr/share/keyrings/debian-archive-keyring.pgp; do
		[ ! -f "$_k" ] || { _keyring=" [signed-by=$_k]"; break; }
	done
	echo "$2$_keyring $_mirror $3 main" >"$apt_dir/sources.list"
	cat >"$apt_dir/apt.conf" <<-EOF
		#clear APT::Update::Post-Invoke;
		#clear APT::Update::Post-Invoke-Success;
		#clear DPkg::Post-Invoke;
		Dir::State "$apt_dir/state";
		Dir::State::status "$apt_dir/status";
		Dir::Cache "$apt_dir/cache";
		Dir::Etc::sourcelist "$apt_dir/sources.list";
		Dir::Etc::sourceparts "$apt_dir/parts";
		Acquire::Languages "none";
		Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
		Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
		Acquire::Retries "2";
		Acquire::http::Timeout "30";
		Acquire::https::Timeout "30";
		APT::Update::Error-Mode "any";
		APT::Sandbox::User "";
	EOF
	step "$3: package lists" apt_private update || fail_fetch "cannot read the package lists of $3"
}

# apt_fetch WHAT DIRECTORY COMMAND...: apt_private COMMAND leaves WHAT in DIRECTORY, which is
# emptied first.
apt_fetch()
{
	_what=$1 apt_target=$2
	shift 2
	rm -rf "$apt_target"
	mkdir -p "$apt_target"
	(step "fetch $_what" apt_in_target "$@") || fail_fetch "cannot fetch $_what"
}

apt_in_target()
{
	cd "$apt_target" && apt_private "$@"
}

fail_fetch()
{
	! not_signed ||
		die "$1: what the mirror sends is not what Debian has signed, and not used; DEBIAN_MIRROR=<uri> names another; see $(rel "$LOG")"
	fail "$1 (no network?): $apt_otherwise"
}
