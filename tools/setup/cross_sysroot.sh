#!/usr/bin/env bash
# Makes a sysroot for cmake/toolchains: the packages of another processor that Weft is built from, fetched with
# apt into folders of their own and unpacked there. Neither dpkg's database nor the packages of this machine change. Also
# installs the cross compiler and qemu if they are missing. With everything there it touches nothing.
#
#   cross_sysroot.sh aarch64|x86_64 FOLDER [PACKAGE…]     further packages: e.g. python3-numpy
#
# WEFT_CROSS_MIRROR: the archive, where this machine's own has no packages of that processor (Ubuntu's has not).
set -euo pipefail
usage="usage: cross_sysroot.sh aarch64|x86_64 FOLDER [PACKAGE…]"
processor=${1:?$usage}
sysroot=${2:?$usage}
shift 2
case $processor in
  aarch64) packages_of=arm64 compiler=g++-aarch64-linux-gnu ;;
  x86_64) packages_of=amd64 compiler=g++-x86-64-linux-gnu ;;
  *) echo "$usage" >&2; exit 1 ;;
esac
packages=(llvm-19-dev libtbb-dev libgtest-dev libbenchmark-dev libzstd-dev zlib1g-dev libc6-dev "$@")

have() { compgen -c | grep -qxE "$1"; }
host=()
have "$processor-linux-gnu-g\\+\\+(-1[2-9])?" || host+=("$compiler")
have "qemu-$processor(-static)?" || host+=(qemu-user-static)
if ((${#host[@]})); then
  if [[ -n ${NO_INSTALL:-} ]]; then echo "cross_sysroot: missing: ${host[*]}" >&2; exit 1; fi
  as_root=()
  ((EUID == 0)) || as_root=(sudo)
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${host[@]}"
fi

mkdir -p "$sysroot"
sysroot=$(realpath "$sysroot")
if [[ -f $sysroot/.packages && $(<"$sysroot/.packages") == "${packages[*]}" ]]; then exit 0; fi

. /etc/os-release
case $ID in
  debian) components=main ;;
  ubuntu) components="main universe" ;;
  *) echo "cross_sysroot: made for Debian and Ubuntu, not $ID" >&2; exit 1 ;;
esac
suites=("$VERSION_CODENAME" "$VERSION_CODENAME-updates")
# Where this machine's own packages come from; Debian's mirrors hold every architecture.
mirror=${WEFT_CROSS_MIRROR:-$(apt-get indextargets --format '$(RELEASE) $(SITE)' 'Created-By: Packages' |
  awk -v suite="$VERSION_CODENAME" '$1 == suite { print $2; exit }')}
if [[ -z $mirror || ($ID == ubuntu && $(dpkg --print-architecture) != "$packages_of" && -z ${WEFT_CROSS_MIRROR:-}) ]]; then
  echo "cross_sysroot: set WEFT_CROSS_MIRROR to the address of an archive of $ID that has $packages_of packages" >&2
  exit 1
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists,archives}/partial
: >"$work/status"
for suite in "${suites[@]}"; do
  echo "deb [signed-by=/usr/share/keyrings/$ID-archive-keyring.gpg] $mirror $suite $components"
done >"$work/sources.list"
# An apt that knows a machine of that processor on which nothing is installed yet.
apt_there() {
  apt-get -qq -o APT::Architecture="$packages_of" -o APT::Architectures::="$packages_of" -o Dir::State="$work" \
    -o Dir::State::status="$work/status" -o Dir::State::lists="$work/lists" -o Dir::Cache="$work" \
    -o Dir::Cache::archives="$work/archives" -o Dir::Etc::sourcelist="$work/sources.list" \
    -o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User="$(id -un)" -o Debug::NoLocking=1 "$@"
}
apt_there update
apt_there install -y --no-install-recommends --download-only "${packages[@]}"
for package in "$work"/archives/*.deb; do dpkg -x "$package" "$sysroot"; done

# The emulator looks for every absolute path here first: /tmp, /proc and the like must be the machine's own.
(cd "$sysroot" && rm -rf boot dev home media mnt opt proc root run srv sys tmp var)
# What names the root folder means this one.
while IFS= read -r -d '' link; do
  ln -sfn "$(realpath -m --relative-to="$(dirname "$link")" "$sysroot$(readlink "$link")")" "$link"
done < <(find "$sysroot" -type l -lname '/*' -print0)
# shellcheck disable=SC2016  # the variable is CMake's
sed -i -E 's#([";])(/usr/lib/'"$processor"'-linux-gnu/)#\1${CMAKE_SYSROOT}\2#g' \
  "$sysroot"/usr/lib/llvm-19/lib/cmake/llvm/LLVMExports.cmake
echo "${packages[*]}" >"$sysroot/.packages"
